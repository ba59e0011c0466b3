//! Operations on objects, by both adapters, against the in-memory API server.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::ConfigMap;
use sanskube::client::{Api, DeleteOptions, Deleted, Error, Event, ListOptions, Patch};
use sanskube::object::{Decode, MetadataOnly, Object, Resource};
use sanskube::request::Failure;
use sanskube_apiserver::faults::{Failure as Fault, Rule};
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::embedded::Adapter;
use sanskube_e2e::script::Step::{Answer, AnswerAndClose};
use sanskube_e2e::script::{Script, Sight, Step};
use sanskube_e2e::with_both_adapters;
use serde_json::json;

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": value}})).unwrap()
}

fn data(map: &ConfigMap) -> Option<&str> {
    map.data.as_ref()?.get("k").map(String::as_str)
}

fn objects_are_created_read_replaced_and_deleted<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let maps = Api::<ConfigMap>::in_namespace("default").with_field_manager("me");

    let first = A::send(&client, maps.create(&map("a", "1"))).unwrap();
    assert_eq!((first.key().as_str(), data(&first)), ("default/a", Some("1")));
    assert!(A::send(&client, maps.create(&map("a", "1"))).unwrap_err().is_already_exists());

    let mut second = first.clone();
    second.data.as_mut().unwrap().insert("k".into(), "2".into());
    let second = A::send(&client, maps.replace(&second)).unwrap();
    assert_eq!(data(&second), Some("2"));
    assert!(A::send(&client, maps.replace(&first)).unwrap_err().is_conflict(), "it has changed since");
    assert_eq!(A::send(&client, maps.get("a")).unwrap(), second);

    let wrong = DeleteOptions::of_uid("another".into());
    assert!(A::send(&client, maps.delete("a", &wrong)).unwrap_err().is_conflict());
    let deleted = A::send(&client, maps.delete("a", &DeleteOptions::of_uid(Object::uid(&second)))).unwrap();
    assert!(matches!(deleted, Deleted::Done));
    assert!(A::send(&client, maps.get("a")).unwrap_err().is_not_found());
}

fn objects_are_patched_in_four_ways<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let maps = Api::<ConfigMap>::in_namespace("default").with_field_manager("me");
    let dry = A::send(&client, maps.apply(&map("a", "0"), false).dry_run()).unwrap();
    assert_eq!(data(&dry), Some("0"));
    assert!(A::send(&client, maps.get("a")).unwrap_err().is_not_found());

    let applied = A::send(&client, maps.apply(&map("a", "1"), false)).unwrap();
    assert_eq!(applied.metadata.managed_fields.unwrap()[0].manager.as_deref(), Some("me"));
    for (value, patch) in [
        ("2", Patch::Merge(json!({"data": {"k": "2"}}))),
        ("3", Patch::Strategic(json!({"data": {"k": "3"}}))),
        ("4", Patch::Json(json!([{"op": "replace", "path": "/data/k", "value": "4"}]))),
    ] {
        assert_eq!(data(&A::send(&client, maps.patch("a", &patch)).unwrap()), Some(value));
    }
    let others = maps.clone().with_field_manager("another");
    assert!(A::send(&client, others.apply(&map("a", "5"), false)).unwrap_err().is_conflict());
    assert_eq!(data(&A::send(&client, others.apply(&map("a", "5"), true)).unwrap()), Some("5"));
}

fn a_list_comes_in_pages_and_by_labels<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let maps = Api::<ConfigMap>::in_namespace("default");
    for n in 0..5 {
        let mut map = map(&format!("m{n}"), "x");
        map.metadata.labels = Some([("parity".to_owned(), (n % 2).to_string())].into());
        A::send(&client, maps.create(&map)).unwrap();
    }
    let mut options = ListOptions { limit: 2, label_selector: "parity=0".into(), ..ListOptions::default() };
    let mut names = Vec::new();
    loop {
        let page = A::send(&client, maps.list(&options)).unwrap();
        names.extend(page.items.iter().map(|map| Object::name(map).to_owned()));
        options.continue_token = page.continue_token;
        if options.continue_token.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["m0", "m2", "m4"]);
    // The same with a view that keeps the metadata only.
    let views = Api::<MetadataOnly>::new(Resource::of::<ConfigMap>());
    assert_eq!(A::send(&client, views.list(&ListOptions::default())).unwrap().items.len(), 5);
}

fn subresources_are_written_apart<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let sets = Api::<ReplicaSet>::in_namespace("default");
    cluster.create_set("web", 1);
    assert_eq!(A::send(&client, sets.set_scale("web", 3)).unwrap().wanted, 3);
    let scale = A::send(&client, sets.get_scale("web")).unwrap();
    assert_eq!((scale.wanted, scale.actual, &*scale.selector), (3, 0, "app=web"));

    let mut set = A::send(&client, sets.get("web")).unwrap();
    set.spec.replicas = Some(9);
    set.status.as_mut().unwrap().replicas = 2;
    let set = A::send(&client, sets.replace_status(&set)).unwrap();
    assert_eq!((set.spec.replicas, set.status.unwrap().replicas), (Some(3), 2));
    let patch = Patch::Merge(json!({"status": {"replicas": 1}}));
    assert_eq!(A::send(&client, sets.patch_status("web", &patch)).unwrap().status.unwrap().replicas, 1);
    let status: serde_json::Value = A::send(&client, sets.get_subresource("web", "status")).unwrap();
    assert_eq!(status["status"]["replicas"], 1);
}

fn a_watch_tells_what_happens_after_a_version<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let maps = Api::<ConfigMap>::in_namespace("default");
    let list = A::send(&client, maps.list(&ListOptions::default())).unwrap();
    A::send(&client, maps.create(&map("a", "1"))).unwrap();
    A::send(&client, maps.patch("a", &Patch::Merge(json!({"data": {"k": "2"}})))).unwrap();
    A::send(&client, maps.delete("a", &DeleteOptions::default())).unwrap();
    let options = ListOptions { resource_version: list.resource_version, ..ListOptions::default() };
    let events = A::events(&client, maps.watch(&options)).map(Result::unwrap);
    let told: Vec<String> =
        events.filter(|event| !matches!(event, Event::Bookmark(_))).take(3).map(|e| format!("{e:?}")).collect();
    assert_eq!(told, ["Added", "Modified", "Deleted"]);

    cluster.server.with_api(|api, _| api.expire_history("configmaps"));
    let mut late = A::events(&client, maps.watch(&options));
    assert!(late.next().unwrap().unwrap_err().is_expired());
    assert!(late.next().is_none());
}

fn errors_are_told_by_blame<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let maps = Api::<ConfigMap>::in_namespace("default");
    let nobody = A::client("http://127.0.0.1:1");
    assert_eq!(A::send(&nobody, maps.get("a")).unwrap_err(), Error::Failed(Failure::Refused));
    let invalid = A::send(&client, maps.create(&map("Not A Name", "1"))).unwrap_err();
    assert!(invalid.is_invalid(), "{invalid}");
    assert!(matches!(A::send(&client, maps.get("")), Err(Error::Unwritable(_))));
    let elsewhere = Api::<ConfigMap>::new(Resource { plural: "nothings".into(), ..Resource::of::<ConfigMap>() });
    assert!(A::send(&client, elsewhere.list(&ListOptions::default())).unwrap_err().is_not_found());
}

fn a_busy_server_is_asked_again_and_a_write_is_never_repeated<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let maps = Api::<ConfigMap>::in_namespace("default");
    cluster.server.with_api(|api, _| api.faults_mut().fail_next("POST", "configmaps", 429));
    A::send(&client, maps.create(&map("a", "1"))).unwrap();
    // The server acts, and its answer is lost.
    let lost = Rule {
        agent: String::new(),
        method: "POST".into(),
        target: "configmaps".into(),
        skip: 0,
        times: 1,
        after_effect: true,
        failure: Fault::Hangup,
    };
    cluster.server.with_api(|api, _| api.faults_mut().add_rule(lost.clone()));
    assert_eq!(A::send(&client, maps.create(&map("b", "1"))).unwrap_err(), Error::Failed(Failure::Cut));
    assert!(A::send(&client, maps.create(&map("b", "1"))).unwrap_err().is_already_exists());
    // What only reads is read again.
    let lost = Rule { method: "GET".into(), ..lost };
    cluster.server.with_api(|api, _| api.faults_mut().add_rule(lost));
    assert_eq!(Object::name(&A::send(&client, maps.get("b")).unwrap()), "b");
}

// CASES C-08.
fn a_write_that_was_refused_for_want_of_time_is_sent_again_as_it_was_and_no_other<A: Adapter>() {
    let answer = |status: &str, head: &str, body: &str| {
        let length = body.len();
        Answer(format!("HTTP/1.1 {status}\r\n{head}content-length: {length}\r\n\r\n{body}").into_bytes())
    };
    let made = answer("201 Created", "", &serde_json::to_string(&map("a", "1")).unwrap());
    let hints = ["1", "0", "soon", "Fri, 31 Dec 1999 23:59:59 GMT"].map(|hint| format!("retry-after: {hint}\r\n"));
    let busy = |hint: &str| answer("429 Too Many Requests", hint, "{}");
    let mut steps: Vec<Step> = hints.iter().map(|hint| busy(hint)).collect();
    steps.extend([busy(""), made.clone(), busy("retry-after: 1\r\n"), made]);
    // Who knows what these have done.
    steps.extend([answer("500 Internal Server Error", "", "{}"), AnswerAndClose(Vec::new())]);
    let script = Script::start(steps);
    let client = A::client(&script.url);
    let maps = Api::<ConfigMap>::in_namespace("default");
    A::send(&client, maps.create(&map("a", "1"))).unwrap();
    A::send(&client, maps.replace(&map("a", "2"))).unwrap();
    assert!(matches!(A::send(&client, maps.create(&map("a", "3"))), Err(Error::Status(_))));
    assert_eq!(A::send(&client, maps.create(&map("a", "4"))).unwrap_err(), Error::Failed(Failure::Cut));
    let sent: Vec<(String, String)> = script
        .finish()
        .into_iter()
        .filter_map(|sight| match sight {
            Sight::Request(head, body) => {
                let method = head[0].split(' ').next()?.to_owned();
                let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
                Some((method, body["data"]["k"].as_str()?.to_owned()))
            }
            _ => None,
        })
        .collect();
    let times = |method: &str, value: &str, times: usize| vec![(method.to_owned(), value.to_owned()); times];
    let expected = [times("POST", "1", 6), times("PUT", "2", 2), times("POST", "3", 1), times("POST", "4", 1)];
    assert_eq!(sent, expected.concat());
}

/// A kind of one's own: two fields, and no code generated from a schema.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
struct Prices {
    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    data: std::collections::BTreeMap<String, u32>,
}

impl Object for Prices {
    fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }
    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }
    fn uid(&self) -> sanskube::uid::Uid {
        self.metadata.uid.as_deref().unwrap_or_default().into()
    }
    fn resource_version(&self) -> sanskube::resource_version::ResourceVersion {
        self.metadata.resource_version.as_deref().unwrap_or_default().into()
    }
}

fn a_type_of_ones_own_is_read_and_refusals_of_it_are_told<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let prices = Api::<Prices>::new(Resource::of::<ConfigMap>()).within("default");
    let json = br#"{"metadata":{"name":"apples"},"data":{"red":3}}"#;
    let apples = Prices::decode(json, prices.resource()).unwrap();
    let refused = A::send(&client, prices.create(&apples)).unwrap_err();
    assert_eq!(refused.status().unwrap().code, 400, "a config map holds text: {refused}");
    let maps = Api::<ConfigMap>::in_namespace("default");
    A::send(&client, maps.create(&map("pears", "text"))).unwrap();
    assert!(matches!(A::send(&client, prices.get("pears")), Err(Error::Malformed(_))));
}

with_both_adapters! {
    objects_are_created_read_replaced_and_deleted,
    objects_are_patched_in_four_ways,
    a_list_comes_in_pages_and_by_labels,
    subresources_are_written_apart,
    a_watch_tells_what_happens_after_a_version,
    errors_are_told_by_blame,
    a_busy_server_is_asked_again_and_a_write_is_never_repeated,
    a_write_that_was_refused_for_want_of_time_is_sent_again_as_it_was_and_no_other,
    a_type_of_ones_own_is_read_and_refusals_of_it_are_told,
}
