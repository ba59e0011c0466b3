//! The state machine as its users see it: no thread, no port, time handed in.

use std::time::Duration;

use sanskube_apiserver::faults::{Failure, Faults, Rule};
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};
use sanskube_apiserver::{ApiServer, Config, Now, Reply, Request, Response, WatchId, WatchState};
use serde_json::{Value, json};

/// A server and its clock.
struct World {
    api: ApiServer,
    now: Now,
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

impl World {
    fn new(config: Config) -> Self {
        let now = Now { monotonic: Duration::ZERO, wall: "2026-01-01T00:00:00Z".parse().unwrap() };
        Self { api: ApiServer::new(config, now), now }
    }

    fn respond(&mut self, method: &str, target: &str, content: &str, body: &Value) -> Response {
        let request = Request::new(method, target).with_body(content, body.to_string());
        match self.api.handle_request(self.now, &request) {
            Reply::Response(response) => response,
            other => panic!("{method} {target}: {other:?}"),
        }
    }

    fn send(&mut self, method: &str, target: &str, body: &Value) -> (u16, Value) {
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let response = self.respond(method, target, content, body);
        (response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null))
    }

    fn get(&mut self, target: &str) -> (u16, Value) {
        match self.api.handle_request(self.now, &Request::get(target)) {
            Reply::Response(r) => (r.status, serde_json::from_slice(&r.body).unwrap_or(Value::Null)),
            other => panic!("GET {target}: {other:?}"),
        }
    }

    fn create(&mut self, target: &str, body: &Value) -> Value {
        let (status, made) = self.send("POST", target, body);
        assert_eq!(status, 201, "{made}");
        made
    }

    fn watch(&mut self, target: &str) -> WatchId {
        match self.api.handle_request(self.now, &Request::get(target)) {
            Reply::Watch { id, head } => {
                assert_eq!(head.status, 200);
                id
            }
            other => panic!("{other:?}"),
        }
    }

    /// The frames that a watch has now: type and name (or message), and how it goes on.
    fn frames(&mut self, id: WatchId) -> (Vec<String>, WatchState) {
        let mut bytes = Vec::new();
        let state = self.api.poll_watch(id, self.now, usize::MAX, &mut bytes);
        let lines = bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty());
        let shown = lines.map(|l| {
            let Ok(frame) = serde_json::from_slice::<Value>(l) else {
                return "BROKEN".to_owned();
            };
            let kind = frame["type"].as_str().unwrap_or_default();
            match kind {
                "ERROR" => format!("ERROR {}", frame["object"]["code"]),
                _ => format!("{kind} {}", frame["object"]["metadata"]["name"].as_str().unwrap_or("-")),
            }
        });
        (shown.collect(), state)
    }

    /// Moves the clock, doing what is due on the way.
    fn wait(&mut self, time: Duration) {
        let until = self.now.monotonic + time;
        while let Some(at) = self.api.poll_deadline().filter(|at| *at <= until) {
            self.now = self.now.later(at.saturating_sub(self.now.monotonic));
            self.api.handle_timeout(self.now);
            let mut polled = false;
            while let Some(id) = self.api.poll_ready() {
                // Watches without a reader keep their place in the queue of deadlines.
                polled |= self.api.poll_watch(id, self.now, 0, &mut Vec::new()) == WatchState::Open;
            }
            if !polled && self.api.poll_deadline() == Some(at) {
                break;
            }
        }
        self.now = self.now.later(until - self.now.monotonic);
        self.api.handle_timeout(self.now);
    }
}

fn map(name: &str) -> Value {
    json!({ "metadata": { "name": name } })
}

fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } })
}

fn set(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": {
        "selector": { "matchLabels": { "app": name } },
        "template": { "metadata": { "labels": { "app": name } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } },
    } })
}

fn owned(name: &str, owner: &Value, blocks: bool) -> Value {
    let mut pod = pod(name);
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": blocks,
    }]);
    pod
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let play = |seed| {
        let mut w = World::new(Config { seed, ..Config::default() });
        let mut generated = pod("x");
        generated["metadata"] = json!({ "generateName": "web-" });
        w.create(PODS, &generated).to_string()
    };
    assert_eq!(play(7), play(7));
    assert_ne!(play(7), play(8));
}

#[test]
fn a_create_between_list_and_watch_is_not_lost() {
    let mut w = World::new(Config::default());
    let (_, list) = w.get(MAPS);
    w.create(MAPS, &map("between"));
    let rv = list["metadata"]["resourceVersion"].as_str().unwrap();
    let id = w.watch(&format!("{MAPS}?watch=1&resourceVersion={rv}"));
    assert_eq!(w.frames(id), (vec!["ADDED between".to_owned()], WatchState::Open));
}

// CASES M-02.
#[test]
fn an_empty_list_has_a_version_and_a_watch_without_one_begins_with_what_is_there() {
    let mut w = World::new(Config::default());
    let (_, list) = w.get(MAPS);
    assert_eq!(
        (&list["items"], list["metadata"]["resourceVersion"].as_str().map(str::is_empty)),
        (&json!([]), Some(false))
    );
    w.create(MAPS, &map("before"));
    for version in ["", "&resourceVersion=", "&resourceVersion=0"] {
        let id = w.watch(&format!("{MAPS}?watch=1{version}"));
        assert_eq!(w.frames(id), (vec!["ADDED before".to_owned()], WatchState::Open), "{version}");
    }
}

// CASES M-03.
#[test]
fn a_streamed_list_ends_with_a_bookmark_that_says_so_or_is_refused() {
    let mut w = World::new(Config::default());
    w.create(MAPS, &map("a"));
    let streamed = format!("{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    let id = w.watch(&format!("{streamed}&allowWatchBookmarks=true"));
    let mut bytes = Vec::new();
    w.api.poll_watch(id, w.now, usize::MAX, &mut bytes);
    let last = bytes.split(|b| *b == b'\n').rfind(|line| !line.is_empty()).unwrap();
    let last: Value = serde_json::from_slice(last).unwrap();
    assert_eq!(last["type"], "BOOKMARK");
    assert_eq!(last["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let (status, refused) = w.get(&format!("{MAPS}?watch=1&sendInitialEvents=true"));
    assert_eq!((status, &refused["reason"]), (422, &json!("Invalid")));
}

// CASES M-04.
#[test]
fn an_object_goes_when_its_last_finalizer_is_removed() {
    let mut w = World::new(Config::default());
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["example.com/one", "example.com/two"]);
    held["metadata"]["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
    // A creator does not say that it is being deleted,
    assert_eq!(w.create(MAPS, &held)["metadata"]["deletionTimestamp"], Value::Null);
    let path = format!("{MAPS}/held");
    // and neither does an update.
    let marked = json!({ "metadata": { "deletionTimestamp": "2020-01-01T00:00:00Z" } });
    assert_eq!(w.send("PATCH", &path, &marked).0, 422);
    assert_eq!(w.send("DELETE", &path, &json!({})).0, 200);
    let (_, found) = w.get(&path);
    assert_eq!(found["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    let more = json!({ "metadata": { "finalizers": ["example.com/one", "example.com/two", "example.com/three"] } });
    assert_eq!(w.send("PATCH", &path, &more).0, 422);
    assert_eq!(w.send("PATCH", &path, &json!({ "metadata": { "finalizers": ["example.com/two"] } })).0, 200);
    assert_eq!(w.get(&path).0, 200);
    assert_eq!(w.send("PATCH", &path, &json!({ "metadata": { "finalizers": [] } })).0, 200);
    assert_eq!(w.get(&path).0, 404);
}

// CASES M-04.
#[test]
fn a_bound_pod_is_marked_for_its_grace_period_without_any_finalizer() {
    let mut w = World::new(Config::default());
    let mut bound = pod("bound");
    bound["spec"]["nodeName"] = json!("node");
    w.create(PODS, &bound);
    let path = format!("{PODS}/bound");
    w.send("DELETE", &path, &json!({ "gracePeriodSeconds": 10 }));
    let (_, found) = w.get(&path);
    assert_eq!(found["metadata"]["deletionTimestamp"], "2026-01-01T00:00:10Z");
    assert_eq!(found["metadata"]["finalizers"], Value::Null);
    w.send("DELETE", &path, &json!({ "gracePeriodSeconds": 0 }));
    assert_eq!(w.get(&path).0, 404);
}

// CASES M-06.
#[test]
fn a_deletion_whose_preconditions_do_not_hold_is_a_conflict() {
    let mut w = World::new(Config::default());
    let made = w.create(MAPS, &map("a"));
    let path = format!("{MAPS}/a");
    for (key, wrong) in [("uid", json!("another")), ("resourceVersion", json!("1"))] {
        let (status, refused) = w.send("DELETE", &path, &json!({ "preconditions": { key: wrong } }));
        assert_eq!((status, &refused["reason"]), (409, &json!("Conflict")));
    }
    let right = json!({ "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"] });
    assert_eq!(w.send("DELETE", &path, &json!({ "preconditions": right })).0, 200);
}

#[test]
fn a_server_that_restarts_keeps_its_objects_and_ends_its_watches() {
    let mut w = World::new(Config::default());
    let version = w.create(MAPS, &map("a"))["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    w.create(MAPS, &map("b"));
    let open = w.watch(&format!("{MAPS}?watch=1"));
    w.api.restart();
    assert_eq!(w.frames(open).1, WatchState::Ended);
    assert_eq!(w.get(MAPS).1["items"].as_array().map(Vec::len), Some(2));
    let resumed = w.watch(&format!("{MAPS}?watch=1&resourceVersion={version}"));
    assert_eq!(w.frames(resumed), (vec!["ERROR 410".to_owned()], WatchState::Ended));
}

#[test]
fn a_write_that_nobody_answers_is_lost_or_takes_effect_as_the_rule_says() {
    for (after_effect, status) in [(false, 404), (true, 200)] {
        let mut w = World::new(Config::default());
        w.api.faults_mut().add_rule(Rule {
            agent: String::new(),
            method: "POST".to_owned(),
            target: "configmaps".to_owned(),
            skip: 0,
            times: 1,
            after_effect,
            failure: Failure::Hangup,
        });
        let request = Request::new("POST", MAPS).with_body("application/json", map("a").to_string());
        assert_eq!(w.api.handle_request(w.now, &request), Reply::Hangup);
        w.api.restart();
        assert_eq!(w.get(&format!("{MAPS}/a")).0, status);
    }
}

#[test]
fn every_code_that_a_server_in_trouble_answers_can_be_had() {
    let mut w = World::new(Config::default());
    for (code, reason) in
        [(409, "Conflict"), (410, "Expired"), (429, "TooManyRequests"), (500, "InternalError"), (504, "Timeout")]
    {
        w.api.faults_mut().fail_next("", "", code);
        let (status, refused) = w.get(MAPS);
        assert_eq!((status, &refused["reason"]), (code, &json!(reason)));
    }
    assert_eq!(w.get(MAPS).0, 200);
}

#[test]
fn a_watcher_that_falls_behind_the_history_gets_a_410_and_no_other_notices() {
    let mut w = World::new(Config { history: 10, ..Config::default() });
    let (slow, fast) = (w.watch(&format!("{MAPS}?watch=1")), w.watch(&format!("{MAPS}?watch=1")));
    w.frames(slow);
    for i in 0..30 {
        w.create(MAPS, &map(&format!("m{i}")));
        let (frames, _) = w.frames(fast);
        assert_eq!(frames, [format!("ADDED m{i}")]);
    }
    assert_eq!(w.frames(slow), (vec!["ERROR 410".to_owned()], WatchState::Ended));
}

#[test]
fn a_watch_writes_no_more_than_it_is_allowed_to() {
    let mut w = World::new(Config::default());
    for i in 0..50 {
        w.create(MAPS, &map(&format!("m{i}")));
    }
    let id = w.watch(&format!("{MAPS}?watch=1"));
    let mut out = Vec::new();
    assert_eq!(w.api.poll_watch(id, w.now, 1000, &mut out), WatchState::More);
    assert!(out.len() < 2000, "{}", out.len());
}

#[test]
fn pages_of_a_version_that_is_forgotten_are_expired() {
    let mut w = World::new(Config { history: 5, ..Config::default() });
    for i in 0..4 {
        w.create(MAPS, &map(&format!("m{i}")));
    }
    let (_, page) = w.get(&format!("{MAPS}?limit=2"));
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    for i in 0..10 {
        w.create(MAPS, &map(&format!("n{i}")));
    }
    let (status, expired) = w.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!(status, 410);
    let fresh = expired["metadata"]["continue"].as_str().unwrap();
    let (status, rest) = w.get(&format!("{MAPS}?limit=2&continue={fresh}"));
    assert_eq!(status, 200);
    assert_eq!(rest["items"][0]["metadata"]["name"], "m2");
}

#[test]
fn dependents_go_with_their_owner() {
    let mut w = World::new(Config::default());
    let owner = w.create(SETS, &set("web"));
    w.create(PODS, &owned("a", &owner, true));
    let (status, _) = w.send("DELETE", &format!("{SETS}/web"), &json!({ "propagationPolicy": "Background" }));
    assert_eq!(status, 200);
    w.wait(Duration::from_millis(1));
    assert_eq!(w.api.count("pods"), 0);
}

#[test]
fn orphans_stay_without_their_owner_reference() {
    let mut w = World::new(Config::default());
    let owner = w.create(SETS, &set("web"));
    w.create(PODS, &owned("a", &owner, true));
    w.send("DELETE", &format!("{SETS}/web"), &json!({ "propagationPolicy": "Orphan" }));
    w.wait(Duration::from_millis(1));
    assert_eq!(w.api.count("replicasets"), 0);
    let (status, pod) = w.get(&format!("{PODS}/a"));
    assert_eq!(status, 200);
    assert_eq!(pod["metadata"]["ownerReferences"], Value::Null);
}

#[test]
fn a_foreground_deletion_waits_for_the_dependents() {
    let mut w = World::new(Config::default());
    let owner = w.create(SETS, &set("web"));
    let mut bound = owned("a", &owner, true);
    bound["spec"]["nodeName"] = "n1".into();
    w.create(PODS, &bound);
    w.send("DELETE", &format!("{SETS}/web"), &json!({ "propagationPolicy": "Foreground" }));
    w.wait(Duration::from_millis(1));
    let (status, waiting) = w.get(&format!("{SETS}/web"));
    assert_eq!(status, 200);
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let (_, pod) = w.get(&format!("{PODS}/a"));
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 30);
    w.send("DELETE", &format!("{PODS}/a?gracePeriodSeconds=0"), &json!({ "gracePeriodSeconds": 0 }));
    w.wait(Duration::from_millis(1));
    assert_eq!(w.api.count("replicasets"), 0);
}

#[test]
fn a_foreground_deletion_goes_on_when_a_dependent_is_let_go() {
    let mut w = World::new(Config::default());
    let owner = w.create(SETS, &set("web"));
    let mut held = owned("a", &owner, true);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    w.create(PODS, &held);
    w.send("DELETE", &format!("{SETS}/web"), &json!({ "propagationPolicy": "Foreground" }));
    w.wait(Duration::from_millis(1));
    assert_eq!(w.api.count("replicasets"), 1);
    let (_, mut pod) = w.get(&format!("{PODS}/a"));
    pod["metadata"]["ownerReferences"] = json!([]);
    w.send("PUT", &format!("{PODS}/a"), &pod);
    w.wait(Duration::from_millis(1));
    assert_eq!(w.api.count("replicasets"), 0);
    assert_eq!(w.api.count("pods"), 1);
}

#[test]
fn a_dependent_of_two_owners_stays_until_both_are_gone() {
    let mut w = World::new(Config::default());
    let (one, two) = (w.create(SETS, &set("one")), w.create(SETS, &set("two")));
    let mut pod = owned("a", &one, true);
    let second = owned("a", &two, false)["metadata"]["ownerReferences"][0].clone();
    pod["metadata"]["ownerReferences"].as_array_mut().unwrap().push(second);
    pod["metadata"]["ownerReferences"][1]["controller"] = false.into();
    w.create(PODS, &pod);
    w.send("DELETE", &format!("{SETS}/one"), &json!({ "propagationPolicy": "Foreground" }));
    w.wait(Duration::from_millis(1));
    assert_eq!(w.api.count("replicasets"), 1);
    let (_, left) = w.get(&format!("{PODS}/a"));
    assert_eq!(left["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    w.send("DELETE", &format!("{SETS}/two"), &Value::Null);
    w.wait(Duration::from_millis(1));
    assert_eq!(w.api.count("pods"), 0);
}

#[test]
fn an_object_whose_owner_never_was_is_collected() {
    let mut w = World::new(Config::default());
    let ghost = json!({ "metadata": { "name": "ghost", "uid": "11111111-1111-4111-8111-111111111111" } });
    w.create(PODS, &owned("a", &ghost, false));
    w.wait(Duration::from_millis(1));
    assert_eq!(w.api.count("pods"), 0);
}

#[test]
fn a_namespace_ends_when_all_in_it_has_ended() {
    let mut w = World::new(Config::default());
    w.create("/api/v1/namespaces", &map("work"));
    let path = "/api/v1/namespaces/work";
    w.create(&format!("{path}/configmaps"), &map("m"));
    let mut bound = pod("p");
    bound["spec"]["nodeName"] = "n1".into();
    w.create(&format!("{path}/pods"), &bound);
    w.send("DELETE", path, &Value::Null);
    w.wait(Duration::from_millis(1));
    let (status, namespace) = w.get(path);
    assert_eq!((status, &namespace["status"]["phase"]), (200, &json!("Terminating")));
    assert_eq!(w.api.count("configmaps"), 0);
    let (status, refused) = w.send("POST", &format!("{path}/configmaps"), &map("late"));
    assert_eq!(status, 403);
    assert_eq!(refused["details"]["causes"][0]["reason"], "NamespaceTerminating");
    w.send("DELETE", &format!("{path}/pods/p"), &json!({ "gracePeriodSeconds": 0 }));
    w.wait(Duration::from_millis(1));
    assert_eq!(w.get(path).0, 404);
}

#[test]
fn a_rule_refuses_the_request_it_counts_to() {
    let mut w = World::new(Config::default());
    w.api.faults_mut().add_rule(Rule {
        agent: String::new(),
        method: "POST".to_owned(),
        target: "configmaps".to_owned(),
        skip: 1,
        times: 1,
        after_effect: true,
        failure: Failure::Status { code: 504, retry_after: Some(2) },
    });
    w.create(MAPS, &map("a"));
    let response = w.respond("POST", MAPS, "application/json", &map("b"));
    assert_eq!((response.status, response.header("retry-after")), (504, Some("2")));
    assert_eq!(w.get(&format!("{MAPS}/b")).0, 200, "it took effect before it was refused");
    w.create(MAPS, &map("c"));
    w.api.faults_mut().fail_next("GET", MAPS, 429);
    assert_eq!(w.get(MAPS).0, 429);
    assert_eq!(w.get(MAPS).0, 200);
}

#[test]
fn a_frozen_watch_goes_on_where_it_stood() {
    let mut w = World::new(Config::default());
    let id = w.watch(&format!("{MAPS}?watch=1"));
    w.api.faults_mut().freeze("configmaps", true);
    w.create(MAPS, &map("a"));
    assert_eq!(w.frames(id).0, [""; 0]);
    w.api.faults_mut().freeze("configmaps", false);
    assert_eq!(w.frames(id).0, ["ADDED a"]);
}

#[test]
fn a_frozen_watch_has_no_deadline_in_the_past() {
    let mut w = World::new(Config::default());
    let id = w.watch(&format!("{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=600"));
    w.frames(id);
    w.create(MAPS, &map("a"));
    w.frames(id);
    w.api.faults_mut().freeze("configmaps", true);
    w.now = w.now.later(Duration::from_secs(60));
    w.api.handle_timeout(w.now);
    assert_eq!(w.frames(id).0, [""; 0]);
    assert_eq!(w.api.poll_deadline(), Some(Duration::from_secs(120)));
}

#[test]
fn a_lagging_watch_is_named_when_its_event_is_due() {
    let mut w = World::new(Config::default());
    let id = w.watch(&format!("{MAPS}?watch=1"));
    w.frames(id);
    while w.api.poll_ready().is_some() {}
    w.api.faults_mut().set_lag("configmaps", Duration::from_secs(5));
    w.create(MAPS, &map("a"));
    assert_eq!(w.api.poll_ready(), Some(id));
    assert_eq!(w.frames(id).0, [""; 0]);
    assert_eq!(w.api.poll_deadline(), Some(w.now.monotonic + Duration::from_secs(5)));
    w.now = w.now.later(Duration::from_secs(5));
    w.api.handle_timeout(w.now);
    assert_eq!(w.api.poll_ready(), Some(id));
    assert_eq!(w.frames(id).0, ["ADDED a"]);
}

#[test]
fn one_watch_in_three_breaks_within_a_frame() {
    let mut w = World::new(Config::default());
    w.api.faults_mut().cut_watches(3, 2);
    w.create(MAPS, &map("a"));
    w.create(MAPS, &map("b"));
    let ends: Vec<WatchState> = (0..6)
        .map(|_| {
            let id = w.watch(&format!("{MAPS}?watch=1"));
            let (frames, state) = w.frames(id);
            assert_eq!(frames.last().is_some_and(|f| f == "BROKEN"), state == WatchState::Cut);
            state
        })
        .collect();
    assert_eq!(ends.iter().filter(|s| **s == WatchState::Cut).count(), 2);
}

#[test]
fn every_watch_can_be_made_short() {
    let mut w = World::new(Config::default());
    w.api.faults_mut().close_watches_after(Some(Duration::from_secs(1)));
    let id = w.watch(&format!("{MAPS}?watch=1&timeoutSeconds=600"));
    assert_eq!(w.frames(id).1, WatchState::Open);
    w.now = w.now.later(Duration::from_secs(1));
    w.api.handle_timeout(w.now);
    assert_eq!(w.frames(id).1, WatchState::Ended);
}

#[test]
fn an_expired_history_ends_watches_that_are_behind() {
    let mut w = World::new(Config::default());
    let id = w.watch(&format!("{MAPS}?watch=1"));
    w.frames(id);
    w.create(MAPS, &map("a"));
    w.api.expire_history("configmaps");
    assert_eq!(w.frames(id), (vec!["ERROR 410".to_owned()], WatchState::Ended));
}

#[test]
fn names_can_be_made_to_collide() {
    let mut w = World::new(Config::default());
    w.api.faults_mut().set_name_collisions(true);
    let body = json!({ "metadata": { "generateName": "a-" } });
    w.create(MAPS, &body);
    let (status, refused) = w.send("POST", MAPS, &body);
    assert_eq!((status, &refused["reason"]), (409, &json!("AlreadyExists")));
}

#[test]
fn another_name_is_made_when_the_first_is_taken() {
    // The same seed makes the same names, so the first run tells which one the second will make.
    let name_given = |taken: &str| {
        let mut w = World::new(Config::default());
        w.create(MAPS, &map(taken));
        let (status, made) = w.send("POST", MAPS, &json!({ "metadata": { "generateName": "a-" } }));
        assert_eq!(status, 201);
        made["metadata"]["name"].as_str().unwrap().to_owned()
    };
    let first = name_given("other");
    assert_eq!(name_given("another"), first);
    assert_ne!(name_given(&first), first);
}

#[test]
fn the_kubelet_runs_readies_and_ends_pods() {
    let mut w = World::new(Config::default());
    let mut kubelet = Kubelet::new(KubeletConfig { nodes: 2, ..KubeletConfig::default() });
    kubelet.handle_timeout(w.now, &mut w.api);
    assert_eq!(w.api.count("nodes"), 2);
    w.create(PODS, &pod("a"));
    let phases: Vec<String> = (0..20)
        .map(|_| {
            kubelet.handle_timeout(w.now, &mut w.api);
            if let Some(at) = kubelet.poll_deadline() {
                w.now = w.now.later(at.saturating_sub(w.now.monotonic));
            }
            let (_, pod) = w.get(&format!("{PODS}/a"));
            let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True");
            format!("{} {ready}", pod["status"]["phase"].as_str().unwrap_or_default())
        })
        .collect();
    let mut seen = phases.clone();
    seen.dedup();
    assert_eq!(seen, ["Pending false", "Running false", "Running true"]);
    w.send("DELETE", &format!("{PODS}/a"), &Value::Null);
    for _ in 0..5 {
        kubelet.handle_timeout(w.now, &mut w.api);
        if let Some(at) = kubelet.poll_deadline() {
            w.now = w.now.later(at.saturating_sub(w.now.monotonic));
        }
    }
    assert_eq!(w.api.count("pods"), 0);
}

#[test]
fn a_paused_kubelet_does_nothing_until_it_is_resumed() {
    let mut w = World::new(Config::default());
    let mut kubelet = Kubelet::new(KubeletConfig::default());
    kubelet.handle_timeout(w.now, &mut w.api);
    kubelet.set_paused(true);
    w.create(PODS, &pod("a"));
    w.now = w.now.later(Duration::from_secs(10));
    kubelet.handle_timeout(w.now, &mut w.api);
    assert_eq!(w.get(&format!("{PODS}/a")).1["spec"]["nodeName"], Value::Null);
    kubelet.set_paused(false);
    w.now = w.now.later(Duration::from_secs(10));
    kubelet.handle_timeout(w.now, &mut w.api);
    assert_ne!(w.get(&format!("{PODS}/a")).1["spec"]["nodeName"], Value::Null);
    assert!(kubelet.fail_pod(w.now, &mut w.api, "default", "a", "Evicted"));
    assert_eq!(w.get(&format!("{PODS}/a")).1["status"]["phase"], "Failed");
}

/// As kube-controller-manager asks for deletions.
#[test]
fn the_options_of_a_deletion_may_be_written_in_protobuf_and_yaml() {
    let mut w = World::new(Config::default());
    let protobuf = |options: Value| {
        let Value::Object(options) = options else { panic!("options are an object") };
        let raw = sanskube_apiserver::encode_protobuf("meta.DeleteOptions", &options);
        let short = |bytes: &[u8]| [&[u8::try_from(bytes.len()).unwrap()], bytes].concat();
        let type_meta = [b"\x0a".to_vec(), short(b"v1"), b"\x12".to_vec(), short(b"DeleteOptions")].concat();
        [b"k8s\0\x0a".to_vec(), short(&type_meta), b"\x12".to_vec(), short(&raw)].concat()
    };
    let foreign = json!({"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}});
    for (content, body, of_another) in [
        (
            "application/vnd.kubernetes.protobuf",
            protobuf(json!({"propagationPolicy": "Background"})),
            protobuf(foreign),
        ),
        (
            "application/yaml",
            b"propagationPolicy: Background".to_vec(),
            b"preconditions: {uid: 00000000-0000-4000-8000-000000000000}".to_vec(),
        ),
    ] {
        w.create(MAPS, &map("a"));
        let mut delete = |body: Vec<u8>| {
            let request = Request::new("DELETE", &format!("{MAPS}/a")).with_body(content, body);
            w.api.handle_request(w.now, &request).response().unwrap().status
        };
        assert_eq!(delete(of_another), 409, "{content}");
        assert_eq!(delete(body), 200, "{content}");
        assert_eq!(w.get(&format!("{MAPS}/a")).0, 404);
    }
}

/// Runs a kubelet for so long.
fn run_for(w: &mut World, kubelet: &mut Kubelet, time: Duration) {
    let end = w.now.monotonic + time;
    loop {
        kubelet.handle_timeout(w.now, &mut w.api);
        let Some(at) = kubelet.poll_deadline().filter(|at| *at <= end) else { break };
        w.now = w.now.later(at.saturating_sub(w.now.monotonic));
    }
}

#[test]
fn a_pod_that_fails_while_it_ends_still_ends() {
    let mut w = World::new(Config::default());
    let mut kubelet = Kubelet::new(KubeletConfig::default());
    w.create(PODS, &pod("a"));
    run_for(&mut w, &mut kubelet, Duration::from_secs(1));
    w.send("DELETE", &format!("{PODS}/a"), &Value::Null);
    // The second time changes nothing, so no event tells the kubelet of it.
    for _ in 0..2 {
        kubelet.handle_timeout(w.now, &mut w.api);
        assert!(kubelet.fail_pod(w.now, &mut w.api, "default", "a", "Evicted"));
    }
    run_for(&mut w, &mut kubelet, Duration::from_secs(1));
    assert_eq!(w.api.count("pods"), 0);
}

#[test]
fn a_kubelet_whose_requests_fail_tries_again() {
    let mut w = World::new(Config::default());
    let mut kubelet = Kubelet::new(KubeletConfig::default());
    w.create(PODS, &pod("a"));
    w.api.faults_mut().fail_next("POST", "/binding", 503);
    w.api.faults_mut().fail_next("PATCH", "/pods/a/status", 503);
    run_for(&mut w, &mut kubelet, Duration::from_secs(1));
    assert_eq!(w.get(&format!("{PODS}/a")).1["status"]["phase"], "Running");
    assert_eq!(w.send("DELETE", &format!("{PODS}/a"), &Value::Null).0, 200);
    w.api.faults_mut().fail_next("DELETE", "/pods/a", 503);
    run_for(&mut w, &mut kubelet, Duration::from_secs(1));
    assert_eq!(w.api.count("pods"), 0);
}

#[test]
fn a_kubelet_whose_watches_end_at_once_goes_on_with_its_pods() {
    type Fault = fn(&mut Faults);
    let faults: [Fault; 2] = [|f| f.close_watches_after(Some(Duration::ZERO)), |f| f.cut_watches(1, 2)];
    for fault in faults {
        let mut w = World::new(Config::default());
        fault(w.api.faults_mut());
        w.create(PODS, &pod("a"));
        w.create(PODS, &pod("b"));
        let mut kubelet =
            Kubelet::new(KubeletConfig { bind_after: Duration::from_secs(1), ..KubeletConfig::default() });
        let first = w.now.monotonic;
        while w.now.monotonic < first + Duration::from_secs(5) {
            kubelet.handle_timeout(w.now, &mut w.api);
            let at = kubelet.poll_deadline().expect("there is a watch to be opened, or a pod to be bound");
            assert!(at > w.now.monotonic, "it never is due again at once");
            w.now = w.now.later(at - w.now.monotonic);
        }
        assert_eq!(w.get(&format!("{PODS}/a")).1["status"]["phase"], "Running");
    }
}

#[test]
fn a_time_before_1970_is_the_same_in_protobuf() {
    let mut w = World::new(Config::default());
    let (leases, protobuf) =
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "application/vnd.kubernetes.protobuf");
    // With the field of the nanoseconds, which go forward from the second as in Go.
    let nanos = *b"\x10\x80\x94\xef\x3a";
    for time in ["1013-01-01T00:00:00.123456Z", "1969-12-31T23:59:59.123456Z", "2027-01-15T08:00:00.123456Z"] {
        let path = format!("{leases}/a");
        w.create(leases, &json!({"metadata": {"name": "a"}, "spec": {"renewTime": time}}));
        let get = Request::get(&path).with_header("accept", protobuf);
        let body = w.api.handle_request(w.now, &get).response().unwrap().body;
        assert!(body.windows(nanos.len()).any(|part| part == nanos), "{time}");
        let put = Request::new("PUT", &path).with_body(protobuf, body);
        assert_eq!(w.api.handle_request(w.now, &put).response().unwrap().status, 200);
        assert_eq!(w.get(&path).1["spec"]["renewTime"], time);
        w.send("DELETE", &path, &Value::Null);
    }
}

#[test]
fn odd_bytes_are_answered_and_never_panic() {
    let mut w = World::new(Config::default());
    w.create(MAPS, &map("a"));
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"null",
        b"[[[[[[[[",
        b"\xff\xfe",
        b"{\"metadata\":{\"name\":{}}}",
        b"{\"metadata\":[]}",
        b"k8s\0\x0a\xff\xff\xff\xff\xff\xff",
        b"{\"spec\":null,\"metadata\":{\"name\":\"a\",\"labels\":7}}",
    ];
    let contents = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "text/html",
    ];
    let targets = [
        MAPS,
        PODS,
        SETS,
        "/api/v1/namespaces/default/pods/x/binding",
        "/apis/apps/v1/namespaces/default/replicasets/x/scale",
    ];
    for body in bodies {
        for content in contents {
            for target in targets {
                for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                    for target in
                        [target.to_owned(), format!("{target}/a"), format!("{target}?%%%&watch&limit=-1&continue=%00")]
                    {
                        let request = Request::new(method, &target).with_body(content, body);
                        if let Reply::Watch { id, .. } = w.api.handle_request(w.now, &request) {
                            w.api.drop_watch(id);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    let mut w = World::new(Config::default());
    let lists = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
    let maps = "{a: ".repeat(50_000);
    let blocks = "- ".repeat(50_000);
    for body in [format!("{{\"data\":{lists}}}"), format!("data: {lists}"), maps, blocks] {
        for content in ["application/json", "application/yaml"] {
            let request = Request::new("POST", MAPS).with_body(content, body.clone());
            let reply = w.api.handle_request(w.now, &request);
            assert!(matches!(&reply, Reply::Response(r) if r.status == 400), "{reply:?}");
        }
    }
    // A few bytes that stand for many.
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (c, d) in ('a'..'j').zip('b'..'k') {
        bomb.push_str(&format!("{d}: &{d} [{}]\n", vec![format!("*{c}"); 9].join(",")));
    }
    let request = Request::new("POST", MAPS).with_body("application/yaml", bomb);
    assert!(matches!(w.api.handle_request(w.now, &request), Reply::Response(r) if r.status == 400));
}

/// The status of the quota `q`, and how the creation of a pod is answered.
fn quota_and_pod(world: &mut World, pod: &str) -> (Value, u16) {
    let body = json!({ "metadata": { "name": pod }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    world.api.handle_timeout(world.now);
    let (made, _) = world.send("POST", PODS, &body);
    (world.get(&format!("{QUOTAS}/q")).1["status"].clone(), made)
}

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

#[test]
fn a_quota_of_which_only_the_spec_was_written_is_enforced() {
    let mut world = World::new(Config::default());
    assert_eq!(quota_and_pod(&mut world, "before").1, 201);
    let hard = json!({ "pods": "2", "count/pods": "4", "count/replicasets.apps": "1", "services": "3" });
    world.create(QUOTAS, &json!({ "metadata": { "name": "q" }, "spec": { "hard": hard } }));
    let used = |pods: &str, all: &str| json!({ "hard": hard, "used": { "count/pods": all, "count/replicasets.apps": "0", "pods": pods } });
    assert_eq!(quota_and_pod(&mut world, "a"), (used("2", "2"), 201));
    assert_eq!(quota_and_pod(&mut world, "b"), (used("2", "2"), 403));
    // What has gone makes room, and so does a pod that has ended, but in the storage.
    assert_eq!(world.send("DELETE", &format!("{PODS}/before"), &json!({})).0, 200);
    assert_eq!(quota_and_pod(&mut world, "c"), (used("2", "2"), 201));
    let failed = json!({ "status": { "phase": "Failed" } });
    assert_eq!(world.send("PATCH", &format!("{PODS}/c/status"), &failed).0, 200);
    assert_eq!(quota_and_pod(&mut world, "d"), (used("2", "3"), 201));
    // Another limit counts from when it is written.
    assert_eq!(world.send("PATCH", &format!("{QUOTAS}/q"), &json!({ "spec": { "hard": { "pods": "3" } } })).0, 200);
    assert_eq!(quota_and_pod(&mut world, "e").1, 201);
    assert_eq!(quota_and_pod(&mut world, "f").1, 403);
}

#[test]
fn a_pod_has_the_address_of_its_node() {
    let mut world = World::new(Config::default());
    let mut kubelet = Kubelet::new(KubeletConfig::default());
    for name in ["a", "b", "c"] {
        let body = json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
        world.create(PODS, &body);
    }
    kubelet.handle_timeout(world.now, &mut world.api);
    while let Some(due) = kubelet.poll_deadline() {
        world.now = world.now.later(due.saturating_sub(world.now.monotonic));
        kubelet.handle_timeout(world.now, &mut world.api);
    }
    let (mut seen, nodes) = (Vec::new(), world.get("/api/v1/nodes").1);
    for pod in world.get(PODS).1["items"].as_array().unwrap() {
        let node = nodes["items"].as_array().unwrap().iter().find(|n| n["metadata"]["name"] == pod["spec"]["nodeName"]);
        let address = &node.expect("pods are bound to nodes")["status"]["addresses"][0]["address"];
        assert_eq!((&pod["status"]["hostIP"], &pod["status"]["hostIPs"][0]["ip"]), (address, address));
        seen.push(address.clone());
    }
    seen.dedup();
    assert_eq!(seen.len(), 3, "{seen:?}");
}

#[test]
fn the_root_lists_the_paths() {
    let mut world = World::new(Config::default());
    let (status, root) = world.get("/");
    assert_eq!(status, 200);
    let paths: Vec<&str> = root["paths"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(paths.is_sorted() && ["/api/v1", "/apis/apps/v1", "/version"].iter().all(|p| paths.contains(p)), "{root}");
    assert!(paths.iter().all(|path| world.get(path).0 == 200), "{root}");
}

#[test]
fn a_body_that_is_nested_too_deeply_is_called_that() {
    let mut world = World::new(Config::default());
    for open in ["[", "{\"a\":"] {
        let body = format!("{{\"data\":{}", open.repeat(200));
        let request = Request::new("POST", MAPS).with_body("application/json", body);
        let Reply::Response(response) = world.api.handle_request(world.now, &request) else {
            panic!("it has an answer")
        };
        let message = serde_json::from_slice::<Value>(&response.body).unwrap()["message"].to_string();
        assert!(response.status == 400 && message.contains("exceeded max depth"), "{message}");
    }
}
