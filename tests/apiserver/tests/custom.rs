//! Custom kinds: what a CustomResourceDefinition brings, and what it takes with it.

use std::time::Duration;

use sanskube_apiserver::{ApiServer, Config, Now, Reply, Request, Response, WatchId, WatchState};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NAME: &str = "crontabs.stable.example.com";
const TABS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";

struct World {
    api: ApiServer,
    now: Now,
}

impl World {
    fn new() -> Self {
        let now = Now { monotonic: Duration::ZERO, wall: "2026-01-01T00:00:00Z".parse().unwrap() };
        Self { api: ApiServer::new(Config::default(), now), now }
    }

    fn ask(&mut self, request: &Request) -> Response {
        match self.api.handle_request(self.now, request) {
            Reply::Response(response) => response,
            other => panic!("{request:?}: {other:?}"),
        }
    }

    fn send(&mut self, method: &str, target: &str, body: &Value) -> (u16, Value) {
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let response = self.ask(&Request::new(method, target).with_body(content, body.to_string()));
        (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
    }

    fn create(&mut self, target: &str, body: &Value) -> Value {
        let (status, made) = self.send("POST", target, body);
        assert_eq!(status, 201, "{made}");
        made
    }

    fn get(&mut self, target: &str) -> (u16, Value) {
        let response = self.ask(&Request::get(target));
        (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
    }

    fn delete(&mut self, target: &str) -> u16 {
        let status = self.ask(&Request::new("DELETE", target)).status;
        self.api.handle_timeout(self.now);
        status
    }

    fn watch(&mut self, target: &str) -> WatchId {
        match self.api.handle_request(self.now, &Request::get(target)) {
            Reply::Watch { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    /// Types and names of the frames that a watch has now, and how it goes on.
    fn frames(&mut self, id: WatchId) -> (Vec<String>, WatchState) {
        let mut bytes = Vec::new();
        let state = self.api.poll_watch(id, self.now, usize::MAX, &mut bytes);
        let lines = bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty());
        let frames = lines.map(|line| serde_json::from_slice::<Value>(line).expect("frames are JSON"));
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let shown = frames.map(|f| format!("{} {}", text(&f["type"]), text(&f["object"]["metadata"]["name"])));
        (shown.collect(), state)
    }
}

/// A definition with two versions, the second of them with subresources.
fn definition() -> Value {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": { "type": "object" } } } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": NAME },
        "spec": {
            "group": "stable.example.com", "scope": "Namespaced",
            "names": { "plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"] },
            "versions": [
                { "name": "v1beta1", "served": true, "storage": false, "schema": schema },
                {
                    "name": "v1", "served": true, "storage": true, "schema": schema,
                    "selectableFields": [{ "jsonPath": ".spec.color" }],
                    "additionalPrinterColumns": [{ "name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec" }],
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size",
                            "labelSelectorPath": ".status.labelSelector",
                        },
                    },
                },
            ],
        },
    })
}

fn tab(name: &str) -> Value {
    json!({
        "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": { "name": name, "labels": { "app": name } },
        "spec": { "cronSpec": "* * * * */5", "size": 2, "color": "red" }, "extra": [1, { "b": null }],
    })
}

fn defined() -> World {
    let mut world = World::new();
    world.create(DEFINITIONS, &definition());
    world
}

#[test]
fn a_definition_is_established_and_its_kind_discovered() {
    let mut world = World::new();
    assert_eq!(world.get(TABS).0, 404);
    let watch = world.watch(&format!("{DEFINITIONS}?watch=1"));
    world.create(DEFINITIONS, &definition());
    assert_eq!(world.frames(watch).0, [format!("ADDED {NAME}"), format!("MODIFIED {NAME}")]);
    let (_, made) = world.get(&format!("{DEFINITIONS}/{NAME}"));
    let condition = |name: &str| {
        made["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == name).unwrap().clone()
    };
    assert_eq!(condition("NamesAccepted")["status"], "True");
    assert_eq!(condition("Established")["status"], "True");
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(made["status"]["acceptedNames"]["listKind"], "CronTabList");
    let (_, group) = world.get("/apis/stable.example.com");
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let (_, list) = world.get("/apis/stable.example.com/v1");
    let names: Vec<&str> = list["resources"].as_array().unwrap().iter().filter_map(|r| r["name"].as_str()).collect();
    assert_eq!(names, ["crontabs", "crontabs/scale", "crontabs/status"]);
    let (_, list) = world.get("/apis/stable.example.com/v1beta1");
    assert_eq!(list["resources"][0]["shortNames"], json!(["ct"]));
    let (_, document) = world.get("/openapi/v3/apis/stable.example.com/v1");
    assert!(document["components"]["schemas"]["com.example.stable.v1.CronTab"]["properties"]["spec"].is_object());
}

#[test]
fn objects_keep_whatever_fields_they_have_in_every_version() {
    let mut world = defined();
    let made = world.create(TABS, &tab("a"));
    assert_eq!(made["extra"], json!([1, { "b": null }]));
    assert_eq!(made["metadata"]["generation"], 1);
    let (status, list) = world.get("/apis/stable.example.com/v1beta1/crontabs");
    assert_eq!(
        (status, &list["kind"], &list["apiVersion"]),
        (200, &json!("CronTabList"), &json!("stable.example.com/v1beta1"))
    );
    assert_eq!(list["items"][0]["spec"], made["spec"]);
    let (status, refused) = world.send("POST", TABS, &tab("a"));
    assert_eq!((status, &refused["reason"]), (409, &json!("AlreadyExists")));
    let (_, found) = world.get(&format!("{TABS}?fieldSelector=spec.color%3Dblue"));
    assert_eq!(found["items"], json!([]));
    let (_, found) = world.get(&format!("{TABS}?fieldSelector=spec.color%3Dred&labelSelector=app%3Da"));
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn status_and_scale_are_resources_of_their_own_where_the_version_says_so() {
    let mut world = defined();
    let mut body = tab("a");
    body["status"] = json!({ "size": 9 });
    assert_eq!(world.create(TABS, &body)["status"], Value::Null);
    let path = format!("{TABS}/a");
    let change = json!({ "status": { "size": 1, "labelSelector": "app=a" }, "spec": { "size": 7 } });
    let (_, changed) = world.send("PATCH", &format!("{path}/status"), &change);
    assert_eq!((&changed["status"]["size"], &changed["spec"]["size"]), (&json!(1), &json!(2)));
    assert_eq!(changed["metadata"]["generation"], 1);
    let (_, scale) = world.get(&format!("{path}/scale"));
    assert_eq!(scale["spec"]["replicas"], 2);
    assert_eq!(scale["status"], json!({ "replicas": 1, "selector": "app=a" }));
    let (status, scaled) = world.send("PATCH", &format!("{path}/scale"), &json!({ "spec": { "replicas": 5 } }));
    assert_eq!((status, &scaled["spec"]["replicas"]), (200, &json!(5)));
    let (_, found) = world.get(&path);
    assert_eq!((&found["spec"]["size"], &found["metadata"]["generation"]), (&json!(5), &json!(2)));
    // The other version has neither.
    assert_eq!(world.get("/apis/stable.example.com/v1beta1/namespaces/default/crontabs/a/scale").0, 404);
}

#[test]
fn a_merge_patch_and_an_apply_change_custom_objects_and_a_strategic_one_is_refused() {
    let mut world = defined();
    world.create(TABS, &tab("a"));
    let path = format!("{TABS}/a");
    let (_, patched) = world.send("PATCH", &path, &json!({ "spec": { "color": null, "size": 3 } }));
    assert_eq!(patched["spec"], json!({ "cronSpec": "* * * * */5", "size": 3 }));
    let strategic = Request::new("PATCH", &path).with_body("application/strategic-merge-patch+json", "{}");
    assert_eq!(world.ask(&strategic).status, 415);
    let apply = |size: u32, color: &str| {
        let config = json!({
            "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": { "name": "b" },
            "spec": { "size": size, "deep": { color: true } },
        });
        Request::new("PATCH", &format!("{TABS}/b?fieldManager=me"))
            .with_body("application/apply-patch+yaml", config.to_string())
    };
    assert_eq!(world.ask(&apply(1, "red")).status, 201);
    assert_eq!(world.ask(&apply(2, "blue")).status, 200);
    let (_, applied) = world.get(&format!("{TABS}/b"));
    // What was applied before and is not any more goes, key by key.
    assert_eq!(applied["spec"], json!({ "size": 2, "deep": { "blue": true } }));
    world.send("PATCH", &format!("{TABS}/b"), &json!({ "spec": { "size": 8 } }));
    assert_eq!(world.ask(&apply(2, "blue")).status, 409);
}

#[test]
fn custom_objects_are_watched_and_printed_as_tables() {
    let mut world = defined();
    let watch = world.watch(&format!("{TABS}?watch=1"));
    world.create(TABS, &tab("a"));
    world.delete(&format!("{TABS}/a"));
    assert_eq!(world.frames(watch), (vec!["ADDED a".to_owned(), "DELETED a".to_owned()], WatchState::Open));
    world.create(TABS, &tab("b"));
    let table = world.ask(&Request::get(TABS).with_header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"));
    let table: Value = serde_json::from_slice(&table.body).unwrap();
    assert_eq!(table["columnDefinitions"][1]["name"], "Spec");
    assert_eq!(table["rows"][0]["cells"], json!(["b", "* * * * */5"]));
    let protobuf = world.ask(&Request::get(TABS).with_header("accept", "application/vnd.kubernetes.protobuf"));
    assert_eq!(protobuf.status, 406);
}

#[test]
fn a_definition_that_is_deleted_takes_its_objects_with_it() {
    let mut world = defined();
    let mut held = tab("held");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    world.create(TABS, &tab("a"));
    world.create(TABS, &held);
    let watch = world.watch(&format!("{TABS}?watch=1"));
    assert_eq!(world.delete(&format!("{DEFINITIONS}/{NAME}")), 200);
    // It waits for the object that something holds, and lets nothing new in.
    let (_, list) = world.get(TABS);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(world.send("POST", TABS, &tab("b")).0, 405);
    world.send("PATCH", &format!("{TABS}/held"), &json!({ "metadata": { "finalizers": null } }));
    world.api.handle_timeout(world.now);
    assert_eq!(world.get(&format!("{DEFINITIONS}/{NAME}")).0, 404);
    assert_eq!(world.get(TABS).0, 404);
    assert_eq!(world.get("/apis/stable.example.com").0, 404);
    assert_eq!(world.frames(watch).1, WatchState::Ended);
    // Defined again it begins anew: watches of what was before are too old.
    world.create(DEFINITIONS, &definition());
    let (_, list) = world.get(TABS);
    assert_eq!(list["items"], json!([]));
    let late = world.watch(&format!("{TABS}?watch=1&resourceVersion=1002"));
    assert_eq!(world.frames(late).1, WatchState::Ended);
}

#[test]
fn a_definition_without_its_finalizer_takes_its_objects_with_it_at_once() {
    let mut world = defined();
    let mut owned = tab("owned");
    let owner = world.create(TABS, &tab("owner"));
    owned["metadata"]["finalizers"] = json!(["example.com/held"]);
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "stable.example.com/v1", "kind": "CronTab", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    world.create(TABS, &owned);
    let path = format!("{DEFINITIONS}/{NAME}");
    assert_eq!(world.send("PATCH", &path, &json!({ "metadata": { "finalizers": null } })).0, 200);
    assert_eq!(world.delete(&path), 200);
    assert_eq!(world.get(TABS).0, 404);
    // Another kind may get their place.
    let mut other = definition();
    other["metadata"]["name"] = json!("others.stable.example.com");
    other["spec"]["names"] = json!({ "plural": "others", "kind": "Other" });
    world.create(DEFINITIONS, &other);
    world.api.handle_timeout(world.now);
    assert_eq!(world.get("/apis/stable.example.com/v1/others").1["items"], json!([]));
}

#[test]
fn a_namespace_that_ends_takes_custom_objects_with_it() {
    let mut world = defined();
    world.create("/api/v1/namespaces", &json!({ "metadata": { "name": "short" } }));
    world.create("/apis/stable.example.com/v1/namespaces/short/crontabs", &tab("a"));
    world.delete("/api/v1/namespaces/short");
    assert_eq!(world.get("/api/v1/namespaces/short").0, 404);
    assert_eq!(world.get("/apis/stable.example.com/v1/crontabs").1["items"], json!([]));
}

#[test]
fn a_kind_that_is_taken_is_not_established() {
    let mut world = defined();
    let mut second = definition();
    second["metadata"]["name"] = json!("tabs.stable.example.com");
    second["spec"]["names"]["plural"] = json!("tabs");
    world.create(DEFINITIONS, &second);
    let (_, made) = world.get(&format!("{DEFINITIONS}/tabs.stable.example.com"));
    assert_eq!(made["status"]["conditions"][0]["reason"], "KindConflict");
    assert_eq!(world.get("/apis/stable.example.com/v1/tabs").0, 404);
    assert_eq!(world.delete(&format!("{DEFINITIONS}/tabs.stable.example.com")), 200);
    assert_eq!(world.get(&format!("{DEFINITIONS}/tabs.stable.example.com")).0, 404);
    assert_eq!(world.get(TABS).0, 200);
}

#[test]
fn a_definition_that_makes_no_sense_is_refused_field_by_field() {
    let mut world = World::new();
    let mut wrong = definition();
    wrong["spec"]["names"]["plural"] = json!("Cron Tabs");
    wrong["spec"]["scope"] = json!("Galaxy");
    wrong["spec"]["versions"][0]["storage"] = json!(true);
    wrong["spec"]["versions"][1]["schema"] = Value::Null;
    let (status, refused) = world.send("POST", DEFINITIONS, &wrong);
    assert_eq!(status, 422);
    let causes = refused["details"]["causes"].as_array().unwrap();
    let fields: Vec<&str> = causes.iter().filter_map(|c| c["field"].as_str()).collect();
    let wanted = [
        "metadata.name",
        "spec.scope",
        "spec.names.plural",
        "spec.versions",
        "spec.versions[1].schema.openAPIV3Schema",
    ];
    assert_eq!(fields, wanted);
}

#[test]
fn a_version_that_is_added_later_serves_the_same_objects() {
    let mut world = defined();
    world.create(TABS, &tab("a"));
    let (_, mut current) = world.get(&format!("{DEFINITIONS}/{NAME}"));
    let mut third = current["spec"]["versions"][0].clone();
    third["name"] = json!("v2");
    current["spec"]["versions"].as_array_mut().unwrap().push(third);
    assert_eq!(world.send("PUT", &format!("{DEFINITIONS}/{NAME}"), &current).0, 200);
    let (_, list) = world.get("/apis/stable.example.com/v2/crontabs");
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
}
