//! Several managers of which one leads: whatever happens to them, there are never two that write.

use std::time::Duration;

use sanskube::election::{self, Standing};
use sanskube::manager::{Config, Manager};
use sanskube::rand::SplitMix64;
use sanskube::request::Method;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{ClientId, Clock, Network, World};
use serde_json::{Value, json};

const START: Now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/sanskube";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

struct Scene {
    world: World<Manager>,
    random: SplitMix64,
    started: u64,
    processes: Vec<ClientId>,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let config = sanskube_apiserver::Config { seed, ..Default::default() };
        let now = sanskube_apiserver::Now {
            monotonic: START.instant.since(Instant::ZERO),
            wall: jiff::Timestamp::from_second(START.wall.as_seconds()).unwrap(),
        };
        let network = Network::new(seed, Duration::from_millis(1), Duration::from_millis(300));
        let mut world = World::new(ApiServer::new(config, now), network, START);
        world.set_kubelet(Kubelet::new(KubeletConfig::default()));
        Self { world, random: SplitMix64::new(seed), started: 0, processes: Vec::new() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn start(&mut self) -> ClientId {
        self.started += 1;
        let identity = format!("process-{}", self.started);
        let election =
            election::Config { seed: self.started, ..election::Config::new("kube-system", "sanskube", identity) };
        let config = Config { election: Some(election), seed: self.started, ..Config::default() };
        let wall = i64::try_from(self.below(20_000)).unwrap() - 10_000;
        let clock = Clock { wall: wall * 1_000_000_000, lead: Duration::from_millis(self.below(100_000)) };
        let id = self.world.start_with_clock(Manager::new(&config), clock);
        self.processes.push(id);
        id
    }

    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let mut request = Request::new(method, path);
        if !body.is_null() {
            let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
            request = request.with_body(kind, body.to_string());
        }
        serde_json::from_slice(&self.world.request(&request).body).unwrap_or_default()
    }

    fn scale(&mut self, replicas: u64) {
        let labels = json!({"app": "web"});
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "registry.example/a:1"}]}}},
        });
        if self.ask("POST", SETS, &set)["code"] == 409 {
            self.ask("PATCH", &format!("{SETS}/web"), &json!({"spec": {"replicas": replicas}}));
        }
    }

    fn pods(&mut self) -> usize {
        self.ask("GET", PODS, &Value::Null)["items"].as_array().unwrap().len()
    }

    fn seconds(&mut self, seconds: u64) {
        self.world.run_for(Duration::from_secs(seconds));
    }

    /// Those that lead, by their own clocks, and are awake.
    fn leaders(&self) -> Vec<ClientId> {
        let leads = |id: &ClientId| {
            let standing = self.world.machine(*id)?.standing(self.world.clock(*id)?);
            matches!(standing, Some(Standing::Leading { .. })).then_some(*id)
        };
        self.processes.iter().filter_map(leads).collect()
    }

    /// Who has written to anything but the lease, each once for each time in a row.
    fn writers(&self) -> Vec<ClientId> {
        let writes = self.world.exchanges().iter();
        let writes = writes.filter(|e| e.request.method != Method::Get && !e.request.path.contains("/leases"));
        let mut writers: Vec<ClientId> = writes.map(|exchange| exchange.client).collect();
        writers.dedup();
        writers
    }

    fn assert_one_writer_at_a_time(&self) {
        let mut writers = self.writers();
        let turns = writers.len();
        writers.sort();
        writers.dedup();
        assert_eq!(writers.len(), turns, "somebody wrote again after another had written: {:?}", self.writers());
    }
}

#[test]
fn nobody_asks_for_anything_before_it_leads_and_the_next_one_takes_over_within_the_lease() {
    let mut scene = Scene::new(1);
    let first = scene.start();
    scene.seconds(3);
    let second = scene.start();
    scene.scale(20);
    scene.seconds(30);
    assert_eq!((scene.pods(), scene.leaders()), (20, vec![first]));
    let by_second = |scene: &Scene| {
        let mut requests = scene.world.exchanges().iter().filter(|e| e.client == second);
        requests.all(|e| e.request.method == Method::Get && e.request.path == LEASE)
    };
    assert!(by_second(&scene));
    scene.world.kill(first);
    scene.scale(30);
    // 15 s from the last change of the lease that it saw, and a try every 2 to 4.4 s.
    scene.seconds(21);
    assert_eq!(scene.leaders(), [second]);
    scene.seconds(5);
    assert_eq!(scene.pods(), 30);
    let lease = scene.ask("GET", LEASE, &Value::Null);
    assert_eq!(
        (&lease["spec"]["holderIdentity"], &lease["spec"]["leaseTransitions"]),
        (&json!("process-2"), &json!(1))
    );
    scene.assert_one_writer_at_a_time();
}

#[test]
fn a_leader_that_is_asked_to_stop_ends_its_work_and_gives_the_lease_back() {
    let mut scene = Scene::new(2);
    let first = scene.start();
    scene.seconds(3);
    let second = scene.start();
    scene.scale(5);
    scene.seconds(10);
    scene.world.stop(first);
    scene.seconds(1);
    assert!(scene.world.is_stopped(first));
    assert!(!scene.world.machine(first).unwrap().has_lost_lease());
    let lease = scene.ask("GET", LEASE, &Value::Null);
    assert_eq!(lease["spec"]["holderIdentity"], Value::Null);
    scene.seconds(6);
    assert_eq!(scene.leaders(), [second]);
}

#[test]
fn a_leader_that_is_cut_off_stops_by_itself_before_the_next_one_begins() {
    let mut scene = Scene::new(3);
    let first = scene.start();
    scene.seconds(3);
    let second = scene.start();
    scene.seconds(4);
    scene.world.set_cut_off(first, true);
    scene.scale(10);
    scene.seconds(11);
    let process = scene.world.machine(first).unwrap();
    assert!(process.has_lost_lease() && scene.world.is_stopped(first));
    assert!(scene.leaders().is_empty());
    scene.seconds(12);
    assert_eq!((scene.pods(), scene.leaders()), (10, vec![second]));
    scene.assert_one_writer_at_a_time();
}

#[test]
fn a_leader_that_wakes_up_late_writes_nothing() {
    let mut scene = Scene::new(4);
    let first = scene.start();
    scene.seconds(3);
    scene.start();
    scene.scale(100);
    // In the middle of its burst.
    while scene.pods() < 20 {
        scene.world.run_for(Duration::from_millis(20));
    }
    let until = scene.world.now().instant + Duration::from_secs(40);
    scene.world.suspend(first, until);
    // What it has sent already arrives.
    scene.seconds(1);
    let before = scene.world.exchanges().iter().filter(|e| e.client == first).count();
    scene.seconds(60);
    let after = scene.world.exchanges().iter().filter(|e| e.client == first).count();
    assert_eq!(before, after);
    assert!(scene.world.machine(first).unwrap().has_lost_lease());
    assert_eq!(scene.pods(), 100);
    scene.assert_one_writer_at_a_time();
}

#[test]
fn there_are_never_two_writers() {
    let mut turns = 0;
    for seed in 0..3 {
        let mut scene = Scene::new(100 + seed);
        for _ in 0..3 {
            scene.start();
        }
        let (mut wanted, mut cut_off) = (0, vec![false; 3]);
        for _ in 0..40 {
            let which = usize::try_from(scene.below(3)).unwrap();
            let id = scene.processes[which];
            match scene.below(8) {
                0 => {
                    let length = Duration::from_secs(scene.below(40));
                    let until = scene.world.now().instant + length;
                    scene.world.suspend(id, until);
                }
                1 => {
                    cut_off[which] = !cut_off[which];
                    scene.world.set_cut_off(id, cut_off[which]);
                }
                2 => scene.world.kill(id),
                3 => scene.world.stop(id),
                _ => {
                    wanted = scene.below(30);
                    scene.scale(wanted);
                }
            }
            if scene.world.is_stopped(id) {
                // Started anew, as a kubelet would.
                scene.world.kill(id);
                scene.processes.remove(which);
                cut_off.remove(which);
                scene.start();
                cut_off.push(false);
            }
            for _ in 0..scene.below(100) {
                scene.world.run_for(Duration::from_millis(100));
                assert!(scene.leaders().len() <= 1, "seed {seed}: two lead");
            }
        }
        for id in scene.processes.clone() {
            scene.world.set_cut_off(id, false);
            scene.world.suspend(id, Instant::ZERO);
        }
        scene.seconds(120);
        assert_eq!(scene.pods(), usize::try_from(wanted).unwrap(), "seed {seed}");
        scene.assert_one_writer_at_a_time();
        turns += scene.writers().len();
    }
    assert!(turns > 8, "only {turns} turns");
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut scene = Scene::new(5);
    scene.scale(10);
    let config = Config { dry_run: true, seed: 9, ..Config::default() };
    let id = scene.world.start(Manager::new(&config));
    scene.seconds(30);
    assert!(scene.world.machine(id).unwrap().has_synced());
    assert!(scene.writers().is_empty());
    assert_eq!(scene.pods(), 0);
}

#[test]
fn a_manager_counts_what_it_does() {
    let mut scene = Scene::new(6);
    let id = scene.start();
    scene.scale(7);
    scene.seconds(20);
    let process = scene.world.machine(id).unwrap();
    let families = process.metrics(scene.world.clock(id).unwrap());
    let text = sanskube::metrics::Text(&families).to_string();
    for line in [
        "workqueue_depth{name=\"replicaset\"} 0",
        "workqueue_retries_total{name=\"replicaset\"} 0",
        "reflector_items{resource=\"pods\"} 7",
        "reflector_items{resource=\"replicasets.apps\"} 1",
        "reflector_watches_total{resource=\"pods\"} 1",
        "leader_election_master_status{name=\"sanskube\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    let bytes = text.lines().find_map(|line| line.strip_prefix("reflector_bytes{resource=\"pods\"} "));
    assert!(bytes.is_some_and(|bytes| bytes.parse::<u64>().is_ok_and(|bytes| bytes > 7 * 100)), "{text}");
    let posts = scene.world.exchanges().iter().filter(|e| e.request.method == Method::Post).count();
    let counted = format!("rest_client_requests_total{{code=\"201\",method=\"POST\"}} {posts}");
    assert!(text.lines().any(|l| l == counted), "{counted} is not in\n{text}");
}
