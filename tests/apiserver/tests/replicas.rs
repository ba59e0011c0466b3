//! Replicas whose caches lag: what is read from them, and what is not.

use std::time::Duration;

use sanskube_apiserver::{ApiServer, Config, Now, Reply, Request, WatchId, WatchState};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const AGENT: &str = "controller/1";

struct Scene {
    api: ApiServer,
    now: Now,
}

impl Scene {
    fn new() -> Self {
        let now = Now { monotonic: Duration::ZERO, wall: "2026-01-01T00:00:00Z".parse().unwrap() };
        Self { api: ApiServer::new(Config::default(), now), now }
    }

    /// Writes as somebody else, and says at which version.
    fn write(&mut self, name: &str, value: &str) -> u64 {
        let map = json!({ "metadata": { "name": name }, "data": { "value": value } }).to_string();
        let request = Request::new("POST", MAPS).with_body("application/json", map.clone());
        if self.ask(&request).0 == 409 {
            let request = Request::new("PUT", &format!("{MAPS}/{name}")).with_body("application/json", map);
            assert_eq!(self.ask(&request).0, 200);
        }
        self.api.resource_version()
    }

    fn delete(&mut self, name: &str) -> u64 {
        assert_eq!(self.ask(&Request::new("DELETE", &format!("{MAPS}/{name}"))).0, 200);
        self.api.resource_version()
    }

    fn ask(&mut self, request: &Request) -> (u16, Value) {
        match self.api.handle_request(self.now, request) {
            Reply::Response(response) => (response.status, response.json().unwrap()),
            Reply::Delayed { at, response } => {
                assert_eq!(at, self.now.monotonic + Config::default().future_version_wait);
                (response.status, response.json().unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    fn get(&mut self, target: &str) -> (u16, Value) {
        self.ask(&Request::get(target).with_header("user-agent", AGENT))
    }

    /// The names of a list, and its version.
    fn list(&mut self, query: &str) -> (Vec<String>, u64) {
        let (status, list) = self.get(&format!("{MAPS}{query}"));
        assert_eq!(status, 200, "{list}");
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        let version = list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        (list["items"].as_array().unwrap().iter().map(name).collect(), version)
    }

    fn watch(&mut self, query: &str) -> WatchId {
        let request = Request::get(&format!("{MAPS}?watch=1&{query}")).with_header("user-agent", AGENT);
        match self.api.handle_request(self.now, &request) {
            Reply::Watch { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    /// What a watch has to say now: type, and name or code or version.
    fn frames(&mut self, id: WatchId) -> Vec<String> {
        let mut bytes = Vec::new();
        assert_ne!(self.api.poll_watch(id, self.now, usize::MAX, &mut bytes), WatchState::Cut);
        let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let text = |line: &[u8]| {
            let frame: Value = serde_json::from_slice(line).unwrap();
            let (kind, object) = (frame["type"].as_str().unwrap(), &frame["object"]);
            let what = [&object["metadata"]["name"], &object["code"], &object["metadata"]["resourceVersion"]];
            format!("{kind} {}", what.into_iter().find(|v| !v.is_null()).unwrap())
        };
        lines.map(text).collect()
    }

    fn lag(&mut self, version: Option<u64>) {
        self.api.faults_mut().set_replica("old", version);
        self.api.faults_mut().route(AGENT, "old");
    }
}

#[test]
fn what_may_come_from_a_cache_is_as_old_as_the_replica() {
    let mut scene = Scene::new();
    let old = scene.write("a", "1");
    scene.write("a", "2");
    let new = scene.write("b", "1");
    scene.lag(Some(old));
    assert_eq!(scene.list("?resourceVersion=0"), (vec!["a".to_owned()], old));
    assert_eq!(scene.list(&format!("?resourceVersion={old}")), (vec!["a".to_owned()], old));
    assert_eq!(scene.get(&format!("{MAPS}/a?resourceVersion=0")).1["data"]["value"], "1");
    assert_eq!(scene.get(&format!("{MAPS}/b?resourceVersion=0")).0, 404);
    // A version that it has not come to is one from the future.
    let (status, refused) = scene.get(&format!("{MAPS}?resourceVersion={new}"));
    assert_eq!((status, &refused["details"]["causes"][0]["reason"]), (504, &json!("ResourceVersionTooLarge")));
    assert_eq!(scene.get(&format!("{MAPS}/a?resourceVersion={new}")).0, 504);

    scene.delete("a");
    assert_eq!(scene.list("?resourceVersion=0").0, ["a"]);
    scene.lag(None);
    assert_eq!(scene.list("?resourceVersion=0").0, ["b"]);
}

#[test]
fn a_read_that_asks_for_no_version_and_what_others_read_is_as_of_now() {
    let mut scene = Scene::new();
    let old = scene.write("a", "1");
    let new = scene.write("b", "1");
    scene.lag(Some(old));
    let both = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(scene.list(""), (both.clone(), new));
    assert_eq!(scene.get(&format!("{MAPS}/b")).0, 200);
    let (_, list) = scene.ask(&Request::get(&format!("{MAPS}?resourceVersion=0")));
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    // Pages go on at the version of the first.
    let (_, page) = scene.get(&format!("{MAPS}?limit=1"));
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_eq!(scene.list(&format!("?limit=1&continue={token}")), (vec!["b".to_owned()], new));
}

#[test]
fn a_watch_stays_with_its_replica_and_goes_on_as_the_replica_does() {
    let mut scene = Scene::new();
    let first = scene.write("a", "1");
    scene.lag(Some(first));
    let second = scene.write("b", "1");
    let third = scene.write("c", "1");
    let watch = scene.watch("resourceVersion=0");
    assert_eq!(scene.frames(watch), ["ADDED \"a\""]);
    scene.api.faults_mut().route(AGENT, "");
    scene.api.faults_mut().set_replica("old", Some(second));
    assert_eq!(scene.frames(watch), ["ADDED \"b\""]);
    let fresh = scene.watch(&format!("resourceVersion={second}"));
    assert_eq!(scene.frames(fresh), ["ADDED \"c\""]);
    assert!(scene.frames(watch).is_empty());
    scene.api.faults_mut().set_replica("old", None);
    assert_eq!(scene.frames(watch), ["ADDED \"c\""]);
    assert_eq!(scene.api.resource_version(), third);
}

#[test]
fn a_client_that_comes_back_to_an_older_replica_hears_nothing_until_that_has_come_as_far() {
    let mut scene = Scene::new();
    let old = scene.write("a", "1");
    let seen = scene.write("b", "1");
    scene.lag(Some(old));
    let watch = scene.watch(&format!("resourceVersion={seen}"));
    let newest = scene.write("c", "1");
    assert!(scene.frames(watch).is_empty());
    scene.lag(Some(seen));
    assert!(scene.frames(watch).is_empty());
    scene.lag(Some(newest));
    assert_eq!(scene.frames(watch), ["ADDED \"c\""]);
}

#[test]
fn bookmarks_are_those_of_the_replica() {
    let mut scene = Scene::new();
    let old = scene.write("a", "1");
    let watch = scene.watch(&format!("resourceVersion={old}&allowWatchBookmarks=1&timeoutSeconds=600"));
    let lagging = {
        scene.lag(Some(old));
        scene.watch(&format!("resourceVersion={old}&allowWatchBookmarks=1&timeoutSeconds=600"))
    };
    let new = scene.write("b", "1");
    scene.now.monotonic += Duration::from_secs(61);
    scene.api.handle_timeout(scene.now);
    assert_eq!(scene.frames(watch), ["ADDED \"b\"".to_owned(), format!("BOOKMARK \"{new}\"")]);
    assert!(scene.frames(lagging).is_empty());
}

#[test]
fn a_streaming_list_as_of_now_is_refused_by_a_replica_that_lags() {
    let mut scene = Scene::new();
    let old = scene.write("a", "1");
    scene.write("b", "1");
    scene.lag(Some(old));
    let stream = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
    let watch = scene.watch(stream);
    assert!(scene.frames(watch).is_empty());
    scene.now.monotonic += Config::default().future_version_wait;
    assert_eq!(scene.frames(watch), ["ERROR 504"]);
    // As of any version it begins with what the replica has.
    let watch = scene.watch(&format!("{stream}&resourceVersion=0"));
    assert_eq!(scene.frames(watch), ["ADDED \"a\"".to_owned(), format!("BOOKMARK \"{old}\"")]);
}

#[test]
fn a_replica_older_than_the_history_has_the_oldest_that_is_known() {
    let mut scene = Scene::new();
    let old = scene.write("a", "1");
    let floor = scene.write("b", "1");
    scene.api.expire_history("configmaps");
    scene.write("c", "1");
    scene.lag(Some(old));
    assert_eq!(scene.list("?resourceVersion=0"), (vec!["a".to_owned(), "b".to_owned()], floor));
}

#[test]
fn a_replica_that_was_restarted_has_nothing_older_than_its_beginning() {
    let mut scene = Scene::new();
    let old = scene.write("a", "1");
    let newer = scene.write("b", "1");
    scene.lag(Some(old));
    scene.api.restart();
    scene.delete("a");
    assert_eq!(scene.list("?resourceVersion=0"), (vec!["a".to_owned(), "b".to_owned()], newer));
    let watch =
        scene.watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1&resourceVersion=0");
    let begun = scene.frames(watch);
    assert_eq!(begun, ["ADDED \"a\"".to_owned(), "ADDED \"b\"".to_owned(), format!("BOOKMARK \"{newer}\"")]);
    // Nothing that has happened since it began is lost.
    scene.lag(None);
    assert_eq!(scene.frames(watch), ["DELETED \"a\""]);
}

#[test]
fn a_replica_sends_no_bookmark_that_is_older_than_the_watch() {
    let mut scene = Scene::new();
    let old = scene.write("a", "1");
    let newer = scene.write("b", "1");
    scene.lag(Some(old));
    // A client that another replica has served before.
    let watch = scene.watch(&format!("resourceVersion={newer}&allowWatchBookmarks=1&timeoutSeconds=600"));
    scene.now.monotonic += Duration::from_secs(61);
    scene.api.handle_timeout(scene.now);
    assert!(scene.frames(watch).is_empty());
    scene.lag(None);
    scene.write("c", "1");
    assert_eq!(scene.frames(watch), ["ADDED \"c\""]);
}

#[test]
fn what_has_changed_is_told_in_order_whoever_lags() {
    let mut scene = Scene::new();
    let first = scene.write("a", "1");
    scene.lag(Some(first));
    let second = scene.write("a", "2");
    let third = scene.delete("a");
    let changes = scene.api.changes_after("configmaps", first);
    let told: Vec<_> = changes.map(|change| (change.version, change.name.to_owned(), change.deleted)).collect();
    assert_eq!(told, [(second, "a".to_owned(), false), (third, "a".to_owned(), true)]);
    let last = scene.api.changes_after("configmaps", second).last().unwrap();
    assert!(String::from_utf8_lossy(last.json).contains(r#""value":"2""#));
    assert_eq!(scene.api.changes_after("nothing", 0).count(), 0);
}
