//! What the controllers of others were reported to get wrong, by the names of the reports.

use std::time::Duration;

use sanskube::delta::{InOrderFifo, Queue};
use sanskube::informer::Informer;
use sanskube::manager::{Config, Manager};
use sanskube::object::{ReplicaSetKind, Resource};
use sanskube::reflector::{self, Recovery};
use sanskube::request::Method;
use sanskube::store::Store;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube::uid::Uid;
use sanskube_apiserver::faults::{Failure, Rule};
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{ClientId, Line, Member, Network, Observer, World};
use serde_json::{Value, json};

const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SECOND: Duration = Duration::from_secs(1);
/// Longer than an expectation lasts.
const LONG: Duration = Duration::from_secs(600);

struct Scene(World<Member>);

impl Scene {
    fn new() -> Self {
        let now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
        let server_now =
            sanskube_apiserver::Now { monotonic: SECOND, wall: jiff::Timestamp::from_second(1_800_000_000).unwrap() };
        let api = ApiServer::new(sanskube_apiserver::Config::default(), server_now);
        let network = Network::new(7, Duration::from_millis(1), Duration::from_millis(3));
        let mut world = World::new(api, network, now);
        world.set_kubelet(Kubelet::new(KubeletConfig::default()));
        Self(world)
    }

    /// A scene with a manager that has the first lists.
    fn managed() -> (Self, ClientId) {
        let mut scene = Self::new();
        let id = scene.0.start(Member::Manager(Box::new(Manager::new(&Config::default()))));
        scene.0.run_for(SECOND);
        (scene, id)
    }

    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let response = self.0.request(&Request::new(method, path).with_body(content_type, body.to_string()));
        let json: Value = serde_json::from_slice(&response.body).unwrap();
        assert!(response.status < 300, "{method} {path}: {json}");
        json
    }

    fn create(&mut self, replicas: u32) {
        let labels = json!({"app": "web"});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let spec = json!({"replicas": replicas, "selector": {"matchLabels": labels}, "template": template});
        self.ask("POST", SETS, &json!({"metadata": {"name": "web"}, "spec": spec}));
    }

    fn scale(&mut self, replicas: u32) {
        self.ask("PATCH", &format!("{SETS}/web/scale"), &json!({"spec": {"replicas": replicas}}));
    }

    fn freeze(&mut self, resource: &str, frozen: bool) {
        self.0.api_mut().faults_mut().freeze(resource, frozen);
    }

    /// The lists, streaming or not, of each of these resources that a controller asks for in that time.
    fn lists_begun(&mut self, id: ClientId, time: Duration, resources: [&str; 2]) -> [Vec<String>; 2] {
        let limit = self.0.now().instant + time;
        let mut lists = [Vec::new(), Vec::new()];
        self.0.take_begun();
        while self.0.step(limit) {
            for (_, call) in self.0.take_begun() {
                let Some((_, Line { request, .. })) = self.0.lines(id).find(|(of, _)| *of == call) else { continue };
                let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
                let lists_all = !query.contains("watch=true") || query.contains("sendInitialEvents=true");
                if let Some(at) = resources.iter().position(|resource| path.ends_with(resource))
                    && request.method == Method::Get
                    && lists_all
                {
                    lists[at].push(request.path.clone());
                }
            }
        }
        lists
    }

    /// The pods that there are.
    fn pods(&mut self) -> Vec<Value> {
        self.ask("GET", PODS, &Value::Null)["items"].as_array().unwrap().clone()
    }

    /// How many pods there are that are not being deleted.
    fn live(&mut self) -> usize {
        self.pods().iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).count()
    }

    /// The uid of a set.
    fn uid(&mut self, name: &str) -> Uid {
        Uid::new(self.ask("GET", &format!("{SETS}/{name}"), &Value::Null)["metadata"]["uid"].as_str().unwrap())
    }

    /// How many pods controllers have made.
    fn created(&self) -> usize {
        let of = |e: &&sanskube_world::Exchange| e.request.method == Method::Post && e.request.path == PODS;
        self.0.exchanges().iter().filter(of).filter(|e| e.status == 201).count()
    }

    /// Runs until so many pods have been made.
    fn run_until_created(&mut self, count: usize) {
        let limit = self.0.now().instant + 10 * SECOND;
        while self.created() < count {
            assert!(self.0.step(limit), "{} pods were made in ten seconds", self.created());
        }
    }
}

#[test]
fn s_01_a_cache_of_pods_that_stands_still_for_longer_than_expectations_last_makes_no_third_pod() {
    let (mut scene, id) = Scene::managed();
    scene.create(2);
    scene.freeze("pods", true);
    scene.0.run_for(SECOND);
    assert_eq!((scene.created(), scene.pods().len()), (2, 2));
    let began = scene.0.now().instant;
    while scene.0.now().instant.since(began) < LONG {
        scene.ask(
            "PATCH",
            &format!("{SETS}/web"),
            &json!({"metadata": {"annotations": {"at": format!("{:?}", scene.0.now().instant)}}}),
        );
        scene.0.run_for(20 * SECOND);
    }
    assert_eq!(scene.0.machine(id).unwrap().manager().unwrap().pods().len(), 0, "it sees none of them");
    assert_eq!(scene.created(), 2);
    scene.freeze("pods", false);
    scene.0.run_for(10 * SECOND);
    assert_eq!((scene.created(), scene.pods().len()), (2, 2));
}

#[test]
fn s_02_pods_that_came_and_went_unseen_are_made_again_at_once() {
    let (mut scene, _) = Scene::managed();
    scene.create(2);
    scene.freeze("pods", true);
    scene.0.run_for(SECOND);
    for pod in scene.pods() {
        let path = format!("{PODS}/{}", pod["metadata"]["name"].as_str().unwrap());
        scene.ask("DELETE", &path, &json!({"gracePeriodSeconds": 0}));
    }
    scene.0.api_mut().expire_history("pods");
    scene.freeze("pods", false);
    scene.0.run_for(5 * SECOND);
    assert_eq!((scene.created(), scene.pods().len()), (4, 2));
}

#[test]
fn s_03_a_set_made_anew_under_an_old_name_does_not_wait_for_what_its_namesake_expects() {
    let (mut scene, id) = Scene::managed();
    scene.create(3);
    scene.freeze("pods", true);
    scene.run_until_created(3);
    scene.ask("DELETE", &format!("{SETS}/web"), &json!({"propagationPolicy": "Orphan"}));
    // The garbage collector lets go of the pods, and the next one has the name.
    while scene.0.api().count("replicasets") > 0 {
        assert!(scene.0.step(scene.0.now().instant + SECOND));
    }
    scene.create(2);
    let uid = scene.uid("web").to_string();
    scene.0.run_for(2 * SECOND);
    let of_new = scene.pods().iter().filter(|pod| pod["metadata"]["ownerReferences"][0]["uid"] == uid).count();
    assert_eq!(scene.0.machine(id).unwrap().manager().unwrap().pods().len(), 0, "no event has met the expectations");
    assert_eq!(of_new, 2);
}

#[test]
fn s_06_a_creation_without_a_clear_answer_is_neither_lost_nor_doubled() {
    let timeout = Failure::Status { code: 504, retry_after: None };
    for failure in [timeout, Failure::Hangup] {
        // Where one is wanted, no other pod wakes the set.
        for (after_effect, wanted) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
            // The event of the pod comes before the next try, or long after it.
            for lag in [Duration::ZERO, 2 * SECOND] {
                let case =
                    format!("{failure:?} after its effect: {after_effect}, events {lag:?} later, {wanted} wanted");
                let (mut scene, id) = Scene::managed();
                let rule = Rule {
                    agent: "sanskube/".into(),
                    method: "POST".into(),
                    target: PODS.into(),
                    skip: wanted.min(2) - 1,
                    times: 1,
                    after_effect,
                    failure: failure.clone(),
                };
                scene.0.api_mut().faults_mut().add_rule(rule);
                scene.0.api_mut().faults_mut().set_lag("pods", lag);
                scene.create(wanted);
                scene.0.run_for(6 * SECOND);
                assert_eq!(scene.live(), wanted as usize, "{case}");
                let uid = scene.uid("web");
                let manager = scene.0.machine(id).unwrap().manager().unwrap();
                let controller = manager.controller(ReplicaSetKind::ReplicaSet).unwrap();
                let open = controller.expectations().get(&uid);
                assert!(open.is_none_or(|open| open.creations <= 0 && open.deletions <= 0), "{case}: {open:?}");
                scene.0.run_for(LONG);
                assert_eq!((scene.live(), scene.pods().len()), (wanted as usize, wanted as usize), "{case}");
                assert!(scene.created() <= wanted as usize, "{case}: no more was made than was known to be missing");
            }
        }
    }
}

#[test]
fn s_13_a_pod_that_the_set_has_lost_is_not_deleted_from_an_old_cache() {
    let (mut scene, _) = Scene::managed();
    scene.create(1);
    scene.0.run_for(2 * SECOND);
    scene.freeze("pods", true);
    let name = scene.pods()[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let change = json!({"metadata": {"ownerReferences": null, "labels": {"app": "mine"}}});
    scene.ask("PATCH", &format!("{PODS}/{name}"), &change);
    scene.scale(0);
    scene.0.run_for(60 * SECOND);
    let deletes = scene.0.exchanges().iter().filter(|e| e.request.method == Method::Delete);
    let statuses: Vec<u16> = deletes.map(|e| e.status).collect();
    assert!(!statuses.is_empty() && statuses.iter().all(|status| *status == 409), "{statuses:?}");
    scene.freeze("pods", false);
    scene.0.run_for(60 * SECOND);
    assert_eq!(scene.pods().len(), 1);
    assert!(scene.pods()[0]["metadata"]["deletionTimestamp"].is_null());
}

#[test]
fn s_24_a_status_worked_out_for_one_generation_never_claims_another() {
    let (mut scene, _) = Scene::managed();
    scene.0.pause_kubelet(true);
    scene.create(3);
    scene.0.run_for(2 * SECOND);
    scene.freeze("replicasets", true);
    let before = scene.0.api().resource_version();
    scene.scale(1);
    // The pods become ready, so the status of generation 1 changes and meets generation 2.
    scene.0.pause_kubelet(false);
    scene.0.run_for(10 * SECOND);
    let conflicts = scene.0.exchanges().iter().filter(|e| e.request.method == Method::Put && e.status == 409).count();
    assert!(conflicts > 0, "the status was written onto another generation");
    for change in scene.0.api().changes_after("replicasets", before) {
        let set: Value = serde_json::from_slice(change.json).unwrap();
        assert!(set["status"]["observedGeneration"].as_i64().unwrap_or(0) < 2, "{set}");
    }
    scene.freeze("replicasets", false);
    scene.0.run_for(10 * SECOND);
    let set = scene.ask("GET", &format!("{SETS}/web"), &Value::Null);
    assert_eq!((&set["status"]["observedGeneration"], &set["status"]["replicas"]), (&json!(2), &json!(1)));
}

#[test]
fn r_01_a_version_that_a_lagging_replica_has_not_is_asked_for_once() {
    for watch_list in [false, true] {
        let mut scene = Scene::new();
        let config = Config { watch_list, ..Config::default() };
        let id = scene.0.start(Member::Manager(Box::new(Manager::new(&config))));
        scene.create(2);
        scene.0.run_for(5 * SECOND);
        let manager = scene.0.machine(id).unwrap().manager().unwrap();
        let sets = manager.sets(ReplicaSetKind::ReplicaSet).unwrap();
        let known = [manager.pods().resource_version(), sets.resource_version()];
        let old = known.iter().map(|version| version.to_string().parse::<u64>().unwrap()).min().unwrap() - 1;
        scene.0.api_mut().faults_mut().set_replica("old", Some(old));
        scene.0.api_mut().faults_mut().route(&id.agent(), "old");
        // Both watches break and cannot be opened again, so it lists anew, from the version that it has come to.
        let no_watch = Rule {
            agent: id.agent(),
            method: "GET".into(),
            target: "watch=true".into(),
            skip: 0,
            times: 2,
            after_effect: false,
            failure: Failure::Status { code: 500, retry_after: None },
        };
        scene.0.api_mut().faults_mut().add_rule(no_watch);
        scene.0.cut_all(id);
        scene.scale(3);
        for lists in scene.lists_begun(id, 20 * SECOND, ["/api/v1/pods", "/apis/apps/v1/replicasets"]) {
            let pinned = lists.iter().filter(|path| path.contains("resourceVersion=")).count();
            assert!(pinned == 1 && lists[0].contains("resourceVersion="), "only the first asks for it: {lists:?}");
            // A streaming list needs a replica that has caught up; a list does not.
            assert!(if watch_list { lists.len() <= 8 } else { lists.len() == 2 }, "{lists:?}");
        }
        assert!(watch_list || scene.pods().len() == 3, "it has listed, and goes on");
        scene.0.api_mut().faults_mut().set_replica("old", None);
        scene.0.run_for(10 * SECOND);
        assert_eq!(scene.pods().len(), 3, "streaming: {watch_list}");
    }
}

/// How many requests an observer makes in two minutes after the watches of all versions so far have expired, while lists of them are still answered, and
/// whether it then knows all pods.
fn after_watches_expired(recovery: Recovery) -> (usize, bool) {
    let mut scene = Scene::new();
    let config = reflector::Config { recovery, page_size: Some(500), ..reflector::Config::new(Resource::PODS) };
    let queue = Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks());
    let observer = Observer::new(Informer::with_queue(config, queue, Store::new()));
    let id = scene.0.start(Member::Observer(Box::new(observer)));
    let make = |scene: &mut Scene, name: &str| {
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        scene.ask("POST", PODS, &json!({"metadata": {"name": name}, "spec": spec}));
    };
    make(&mut scene, "first");
    scene.0.run_for(5 * SECOND);
    scene.0.set_cut_off(id, true);
    make(&mut scene, "second");
    scene.0.run_for(5 * SECOND);
    scene.0.api_mut().restart();
    scene.0.set_cut_off(id, false);
    scene.0.cut_all(id);
    scene.0.take_begun();
    scene.0.run_for(120 * SECOND);
    let known = scene.0.machine(id).unwrap().observer().unwrap().informer().store().len();
    (scene.0.take_begun().len(), known == 2)
}

#[test]
fn r_02_an_expired_watch_does_not_lead_to_the_list_it_began_with() {
    let (requests, knows_all) = after_watches_expired(Recovery::Prudent);
    assert!(knows_all && requests <= 4, "{requests} requests");
    let (requests, knows_all) = after_watches_expired(Recovery::ClientGo);
    assert!(!knows_all && requests > 8, "client-go goes in a circle: {requests} requests");
}
