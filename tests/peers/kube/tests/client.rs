//! What a controller written with kube-rs does, against the in-memory API server.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Config, ResourceExt as _};
use sanskube_apiserver::kubelet::KubeletConfig;
use sanskube_apiserver::{Server, ServerConfig};
use serde_json::json;

fn start() -> (Server, Client) {
    let config = ServerConfig { kubelet: Some(KubeletConfig::default()), ..ServerConfig::default() };
    let server = Server::start(config).expect("a loopback port is free");
    let client = Client::try_from(Config::new(server.url().parse().expect("it is a URL"))).expect("it needs no TLS");
    (server, client)
}

fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap { data: Some(BTreeMap::from([("key".into(), value.into())])), ..ConfigMap::default() };
    map.metadata.name = Some(name.into());
    map.metadata.labels = Some(BTreeMap::from([("app".into(), "web".into())]));
    map
}

/// The next item of a stream, which is waited for, but not for ever.
async fn next<T>(stream: &mut (impl futures::Stream<Item = T> + Unpin)) -> T {
    let next = tokio::time::timeout(Duration::from_secs(60), stream.next()).await;
    next.expect("it comes in time").expect("the stream goes on")
}

#[tokio::test]
async fn objects_are_created_listed_replaced_and_deleted() {
    let (_server, client) = start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for i in 0..7 {
        maps.create(&PostParams::default(), &map(&format!("map-{i}"), "one")).await.expect("it is new");
    }
    let labelled = ListParams::default().labels("app=web");
    let page = maps.list(&labelled.clone().limit(3)).await.expect("pages are served");
    assert_eq!((page.items.len(), page.metadata.continue_.is_some()), (3, true));
    let rest = maps.list(&labelled.clone().continue_token(&page.metadata.continue_.unwrap())).await.expect("and go on");
    assert_eq!(rest.items.len(), 4);
    let mut first = maps.get("map-0").await.expect("it is there");
    first.data.get_or_insert_default().insert("more".into(), "two".into());
    let replaced = maps.replace("map-0", &PostParams::default(), &first).await.expect("its version is current");
    assert_eq!(replaced.data.map(|d| d.len()), Some(2));
    let stale = maps.replace("map-0", &PostParams::default(), &first).await.expect_err("its version is old");
    assert!(matches!(stale, kube::Error::Api(ref status) if status.code == 409), "{stale}");
    assert!(maps.get_opt("nobody").await.expect("absence is no error").is_none());
    maps.delete("map-0", &DeleteParams::default()).await.expect("it is there");
    maps.delete_collection(&DeleteParams::default(), &labelled).await.expect("so are the others");
    assert_eq!(maps.list(&ListParams::default()).await.expect("a list").items.len(), 0);
    let partial = maps.list_metadata(&ListParams::default()).await.expect("metadata alone");
    assert!(partial.items.is_empty());
}

#[tokio::test]
async fn a_watch_tells_what_happens() {
    let (_server, client) = start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let events = maps.watch(&WatchParams::default(), "0").await.expect("a watch");
    // The end of what was there before is a bookmark.
    let mut events = events.filter(|e| std::future::ready(!matches!(e, Ok(WatchEvent::Bookmark(_))))).boxed();
    maps.create(&PostParams::default(), &map("a", "one")).await.expect("it is new");
    assert!(matches!(next(&mut events).await, Ok(WatchEvent::Added(m)) if m.name_any() == "a"));
    maps.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "data": { "key": "two" } })))
        .await
        .expect("a patch");
    assert!(matches!(next(&mut events).await, Ok(WatchEvent::Modified(m)) if m.data.as_ref().unwrap()["key"] == "two"));
    maps.delete("a", &DeleteParams::default()).await.expect("it is there");
    assert!(matches!(next(&mut events).await, Ok(WatchEvent::Deleted(_))));
}

#[tokio::test]
async fn a_watcher_begins_with_a_list_or_with_a_streamed_one() {
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let (server, client) = start();
        let maps: Api<ConfigMap> = Api::all(client.clone());
        let own: Api<ConfigMap> = Api::default_namespaced(client);
        own.create(&PostParams::default(), &map("a", "one")).await.expect("it is new");
        let mut events = watcher(maps, config).boxed();
        assert!(matches!(next(&mut events).await, Ok(Event::Init)));
        assert!(matches!(next(&mut events).await, Ok(Event::InitApply(m)) if m.name_any() == "a"));
        assert!(matches!(next(&mut events).await, Ok(Event::InitDone)));
        own.create(&PostParams::default(), &map("b", "one")).await.expect("it is new");
        assert!(matches!(next(&mut events).await, Ok(Event::Apply(m)) if m.name_any() == "b"));
        // Its history is forgotten: the watcher lists again.
        server.with_api(|api, _| api.expire_history("configmaps"));
        loop {
            match next(&mut events).await {
                Err(_) => {}
                Ok(Event::Init) => break,
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_server_side_apply_owns_fields() {
    let (_server, client) = start();
    let sets: Api<ReplicaSet> = Api::default_namespaced(client);
    let set = |replicas: u32| {
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "web" },
            "spec": {
                "replicas": replicas, "selector": { "matchLabels": { "app": "web" } },
                "template": {
                    "metadata": { "labels": { "app": "web" } },
                    "spec": { "containers": [{ "name": "main", "image": "registry.example/main:1" }] },
                },
            },
        })
    };
    let one = sets.patch("web", &PatchParams::apply("one"), &Patch::Apply(set(1))).await.expect("it is made");
    assert_eq!(one.spec.and_then(|s| s.replicas), Some(1));
    let refused = sets.patch("web", &PatchParams::apply("two"), &Patch::Apply(set(2))).await.expect_err("it is owned");
    assert!(matches!(refused, kube::Error::Api(ref status) if status.code == 409), "{refused}");
    let forced = sets.patch("web", &PatchParams::apply("two").force(), &Patch::Apply(set(2))).await.expect("by force");
    assert_eq!(forced.spec.and_then(|s| s.replicas), Some(2));
    let scale =
        sets.patch_scale("web", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "replicas": 5 } }))).await;
    assert_eq!(scale.expect("it has a scale").spec.and_then(|s| s.replicas), Some(5));
    let status = json!({ "status": { "replicas": 5 } });
    let patched = sets.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.expect("and a status");
    assert_eq!(patched.status.map(|s| s.replicas), Some(5));
}

#[tokio::test]
async fn a_pod_is_waited_for_and_ended() {
    let (_server, client) = start();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let pod = json!({
        "metadata": { "name": "one" }, "spec": { "containers": [{ "name": "main", "image": "registry.example/main:1" }] },
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).expect("it is a pod")).await.expect("it is new");
    let minute = Duration::from_secs(60);
    let running = await_condition(pods.clone(), "one", conditions::is_pod_running());
    let running = tokio::time::timeout(minute, running).await.expect("it runs in time").expect("it can be watched");
    let uid = running.expect("it is there").uid().expect("objects have uids");
    pods.delete("one", &DeleteParams::default()).await.expect("it is there");
    let gone = await_condition(pods.clone(), "one", conditions::is_deleted(&uid));
    tokio::time::timeout(minute, gone).await.expect("it goes in time").expect("it can be watched");
}

#[tokio::test]
async fn a_custom_kind_is_defined_and_used() {
    let (_server, client) = start();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "crontabs.stable.example.com" },
        "spec": {
            "group": "stable.example.com", "scope": "Namespaced", "names": { "plural": "crontabs", "kind": "CronTab" },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } },
            ],
        },
    });
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let apply = PatchParams::apply("test");
    definitions.patch("crontabs.stable.example.com", &apply, &Patch::Apply(definition)).await.expect("it makes sense");
    let established = await_condition(definitions, "crontabs.stable.example.com", conditions::is_crd_established());
    tokio::time::timeout(Duration::from_secs(60), established).await.expect("in time").expect("it can be watched");
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("stable.example.com", "v1", "CronTab"));
    let tabs: Api<DynamicObject> = Api::default_namespaced_with(client, &kind);
    let tab = json!({ "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": { "name": "a" }, "spec": { "x": [1] } });
    let made = tabs.patch("a", &apply, &Patch::Apply(&tab)).await.expect("it is made");
    assert_eq!(made.data["spec"], json!({ "x": [1] }));
    assert_eq!(tabs.list(&ListParams::default()).await.expect("a list").items.len(), 1);
}
