//! The same cluster read in JSON and in protobuf.

use std::time::Duration;

use sanskube::informer::{Change, Informer};
use sanskube::key::Key;
use sanskube::machine::Watcher;
use sanskube::manager::{self, Manager};
use sanskube::object::{Pod, Resource};
use sanskube::rand::SplitMix64;
use sanskube::reflector;
use sanskube::request::Encoding;
use sanskube::store::Store;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{Network, World};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";

type Reader = Watcher<Pod, fn(&Store<Pod>, Key, Change<Pod>)>;

fn world<M: sanskube::machine::Machine>(seed: u64) -> World<M> {
    let now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
    let server_now = sanskube_apiserver::Now {
        monotonic: Duration::from_secs(1),
        wall: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
    };
    let api = ApiServer::new(sanskube_apiserver::Config { seed, ..Default::default() }, server_now);
    let network = Network::new(seed, Duration::from_millis(1), Duration::from_millis(5));
    let mut world = World::new(api, network, now);
    world.set_kubelet(Kubelet::new(KubeletConfig::default()));
    world
}

fn reader(encoding: Encoding, watch_list: bool) -> Reader {
    let config = reflector::Config { encoding, watch_list, ..reflector::Config::new(Resource::PODS) };
    Watcher::new(Informer::new(config), |_, _, _| {})
}

/// What a seed chooses.
struct Chooser(SplitMix64);

impl Chooser {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn labels(&mut self) -> Value {
        let count = self.below(4);
        (0..count).map(|_| (self.pick(&["app", "tier", "zone/x"]), self.pick(&["", "web", "front-1"]))).collect()
    }

    fn pod(&mut self, name: &str) -> Value {
        let owners: Vec<Value> = (0..self.below(3))
            .map(|n| {
                json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": format!("uid-{n}"),
                    "controller": n == 0 && self.below(2) == 0, "blockOwnerDeletion": self.below(2) == 0})
            })
            .collect();
        let mut metadata = json!({"name": name, "labels": self.labels(), "ownerReferences": owners});
        if self.below(3) == 0 {
            let cost = self.pick(&["5", "-7", "+1", "much", "2147483647"]);
            metadata["annotations"] =
                json!({"controller.kubernetes.io/pod-deletion-cost": cost, "größe": "ü\u{1f600}"});
        }
        let mut spec = json!({"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]});
        if self.below(2) == 0 {
            spec["initContainers"] =
                json!([{"name": "once", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}]);
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    }

    fn status(&mut self) -> Value {
        let times = ["2026-03-14T09:26:53Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"];
        let restarts = |name: &str, chooser: &mut Self| json!({"name": name, "image": "i", "imageID": "", "ready": true, "restartCount": chooser.below(9)});
        json!({"status": {
            "phase": self.pick(&["Pending", "Running", "Succeeded", "Failed"]),
            "conditions": [{"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": self.pick(&["True", "False", "Unknown"]), "lastTransitionTime": self.pick(&times)}],
            "containerStatuses": [restarts("c", self), restarts("d", self)],
            "initContainerStatuses": [restarts("once", self), restarts("side", self)],
        }})
    }

    /// Changes something of some pod; what the server refuses changes nothing.
    fn write(&mut self, world: &mut World<Reader>) {
        let name = format!("p{}", self.below(12));
        let path = format!("{PODS}/{name}");
        let merge = |path: &str, body: &Value| {
            Request::new("PATCH", path).with_body("application/merge-patch+json", body.to_string())
        };
        let request = match self.below(6) {
            0 | 1 => Request::new("POST", PODS).with_body("application/json", self.pod(&name).to_string()),
            2 => merge(&path, &json!({"metadata": {"labels": self.labels()}})),
            3 => Request::new("DELETE", &format!("{path}?gracePeriodSeconds={}", self.below(2) * 30)),
            _ => merge(&format!("{path}/status"), &self.status()),
        };
        world.request(&request);
    }
}

#[test]
fn both_encodings_give_the_same_store() {
    let mut compared = 0;
    for seed in 0..25 {
        let mut world = world(seed);
        let mut chooser = Chooser(SplitMix64::new(seed));
        for _ in 0..10 {
            chooser.write(&mut world);
        }
        let readers = [Encoding::Json, Encoding::Protobuf]
            .map(|encoding| [false, true].map(|watch_list| world.start(reader(encoding, watch_list))));
        for _ in 0..60 {
            chooser.write(&mut world);
            world.run_for(Duration::from_millis(chooser.below(2000)));
            if chooser.below(20) == 0 {
                world.take_server_down();
                world.run_for(Duration::from_secs(5));
                world.bring_server_up();
            }
        }
        // The longest back-off passes.
        world.run_for(Duration::from_secs(90));
        let stores: Vec<&Store<Pod>> =
            readers.as_flattened().iter().map(|id| world.machine(*id).expect("it runs").informer().store()).collect();
        assert_eq!(stores[0].len(), world.api().count("pods"), "seed {seed}");
        for store in &stores[1..] {
            assert_eq!(store.len(), stores[0].len(), "seed {seed}");
            for pod in stores[0].iter() {
                let other = store.get(pod.key().as_str()).expect("both know it");
                assert!(pod == other, "seed {seed}: {pod:?} and {other:?} differ");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn a_manager_that_reads_protobuf_writes_what_one_that_reads_json_does() {
    let run = |encoding| {
        let mut world = world(9);
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": {
            "replicas": 20, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        let sets = "/apis/apps/v1/namespaces/default/replicasets";
        let request = Request::new("POST", sets).with_body("application/json", set.to_string());
        assert_eq!(world.request(&request).status, 201);
        world.start(Manager::new(&manager::Config { encoding, ..manager::Config::default() }));
        world.run_for(Duration::from_secs(10));
        let scale = Request::new("PATCH", &format!("{sets}/web/scale"))
            .with_body("application/merge-patch+json", r#"{"spec":{"replicas":7}}"#);
        assert_eq!(world.request(&scale).status, 200);
        world.run_for(Duration::from_secs(60));
        assert_eq!(world.api().count("pods"), 7);
        let writes: Vec<String> = world
            .exchanges()
            .iter()
            .filter(|exchange| exchange.request.method != sanskube::request::Method::Get)
            .map(|exchange| format!("{:?} {}", exchange.request, String::from_utf8_lossy(&exchange.request.body)))
            .collect();
        assert!(writes.len() > 33, "{}", writes.len());
        writes
    };
    assert_eq!(run(Encoding::Json), run(Encoding::Protobuf));
}
