//! Controllers of the user's own, run by both adapters against the in-memory API server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use sanskube::client::{Api, Patch};
use sanskube::controller::{Controller, When};
use sanskube::informer::Change;
use sanskube_apiserver::faults::{Failure, Rule};
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::embedded::{Adapter, Running};
use sanskube_e2e::process::wait_until;
use sanskube_e2e::with_both_adapters;
use serde_json::json;

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": "v"}})).unwrap()
}

fn maps() -> Api<ConfigMap> {
    Api::in_namespace("default")
}

/// How many config maps have the label that [`label`] gives them.
fn labelled(cluster: &Cluster) -> usize {
    let list = cluster.get("/api/v1/namespaces/default/configmaps?labelSelector=seen");
    list["items"].as_array().expect("a list has items").len()
}

/// A controller that labels what it sees.
fn label<A: Adapter>(runner: &A::Runner) -> sanskube::controller::ControllerId {
    let cache = A::watch::<ConfigMap>(runner, maps());
    A::add(runner, Controller::new("labels", cache.watch()).concurrency(4), |key, cache, client| {
        let Some(map) = cache.get(&key) else { return Ok(When::Changed) };
        if !map.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key("seen")) {
            let patch = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
            A::send(&client, maps().patch(key.name(), &patch))?;
        }
        Ok(When::Changed)
    })
}

fn create<A: Adapter>(client: &A::Client, names: impl IntoIterator<Item = usize>) {
    for n in names {
        A::send(client, maps().create(&map(&format!("m{n}")))).unwrap();
    }
}

fn every_object_is_reconciled_what_there_was_and_what_comes<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    create::<A>(&client, 0..20);
    let runner = A::runner(&client);
    label::<A>(&runner);
    let running = Running::<A>::start(&runner);
    assert!(A::wait_for_sync(&runner));
    create::<A>(&client, 20..30);
    wait_until("all are labelled", || (labelled(&cluster) == 30).then_some(()));
    running.stop();
    let writes = cluster.version();
    assert_eq!(cluster.get("/api/v1/namespaces/default/configmaps")["items"].as_array().unwrap().len(), 30);
    assert_eq!(cluster.version(), writes, "nothing is written any more");
}

fn a_failure_is_tried_again_and_a_reminder_comes<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    create::<A>(&client, 0..1);
    let runner = A::runner(&client);
    let cache = A::watch::<ConfigMap>(&runner, maps());
    let (calls, called) = channel();
    let tries = Arc::new(AtomicUsize::new(0));
    A::add(&runner, Controller::new("test", cache.watch()), move |_, _, _| {
        let nth = tries.fetch_add(1, Ordering::SeqCst);
        calls.send(nth)?;
        match nth {
            0 => Err("not yet".into()),
            1 => panic!("this is a test of what comes of a panic"),
            2 => Ok(When::After(Duration::from_millis(1))),
            _ => Ok(When::Changed),
        }
    });
    let running = Running::<A>::start(&runner);
    let seen: Vec<usize> = called.iter().take(4).collect();
    assert_eq!(seen, [0, 1, 2, 3]);
    running.stop();
    assert!(called.try_recv().is_err());
}

fn a_key_is_never_reconciled_twice_at_once_and_never_more_than_allowed<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    create::<A>(&client, 0..12);
    let runner = A::runner(&client);
    let cache = A::watch::<ConfigMap>(&runner, maps());
    let under_way = Arc::new(Mutex::new(Vec::new()));
    let (done, finished) = channel();
    A::add(&runner, Controller::new("test", cache.watch()).concurrency(3), move |key, _, client| {
        {
            let mut keys = under_way.lock().unwrap();
            assert!(!keys.contains(&key) && keys.len() < 3, "{key} beside {keys:?}");
            keys.push(key.clone());
        }
        // Something that takes a moment.
        A::send(&client, maps().get(key.name()))?;
        under_way.lock().unwrap().retain(|other| *other != key);
        done.send(key)?;
        Ok(When::Changed)
    });
    let running = Running::<A>::start(&runner);
    let mut keys: Vec<_> = finished.iter().take(12).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 12);
    running.stop();
}

fn controllers_share_a_watch_and_join_and_leave<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    create::<A>(&client, 0..1);
    let runner = A::runner(&client);
    let cache = A::watch::<ConfigMap>(&runner, maps());
    let (told, tells) = channel();
    let add = |name: &'static str| {
        let told = told.clone();
        A::add(&runner, Controller::new(name, cache.watch()), move |key, _, _| {
            told.send(format!("{name} {key}"))?;
            Ok(When::Changed)
        })
    };
    let next = |count: usize| {
        let mut texts: Vec<String> = tells.iter().take(count).collect();
        texts.sort();
        texts
    };
    let first = add("first");
    let running = Running::<A>::start(&runner);
    assert_eq!(next(1), ["first default/m0"]);
    let second = add("second");
    assert_eq!(next(1), ["second default/m0"]);
    create::<A>(&client, 1..2);
    assert_eq!(next(2), ["first default/m1", "second default/m1"]);
    assert!(A::remove(&runner, first));
    create::<A>(&client, 2..3);
    assert_eq!(next(1), ["second default/m2"]);
    assert!(A::remove(&runner, second) && !A::remove(&runner, second));
    running.stop();
    assert!(tells.try_recv().is_err());
}

fn changes_and_caches_are_read_beside_the_runner<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    create::<A>(&client, 0..2);
    let runner = A::runner(&client);
    let cache = A::watch::<ConfigMap>(&runner, maps());
    let changes = A::changes(&runner, &cache);
    assert!(!cache.has_synced() && cache.is_empty());
    let running = Running::<A>::start(&runner);
    let mut changes = changes.map(|(key, change)| {
        let what = match change {
            Change::Add { .. } => "added",
            Change::Update { .. } => "updated",
            Change::Delete(_) => "deleted",
        };
        format!("{what} {key}")
    });
    let mut initial: Vec<String> = changes.by_ref().take(2).collect();
    initial.sort();
    assert_eq!(initial, ["added default/m0", "added default/m1"]);
    assert!(A::wait_for_sync(&runner) && cache.has_synced());
    assert_eq!((cache.len(), cache.find("default/m1").is_some()), (2, true));
    A::send(&client, maps().patch("m0", &Patch::Merge(json!({"data": {"k": "w"}})))).unwrap();
    A::send(&client, maps().delete("m1", &Default::default())).unwrap();
    assert_eq!(changes.by_ref().take(2).collect::<Vec<_>>(), ["updated default/m0", "deleted default/m1"]);
    assert_eq!(cache.list()[0].data.as_ref().unwrap()["k"], "w");
    running.stop();
    assert_eq!(changes.next(), None, "they end with the runner");
}

fn what_an_object_owns_wakes_it<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    cluster.create_set("web", 1);
    let uid = cluster.get("/apis/apps/v1/namespaces/default/replicasets/web")["metadata"]["uid"].clone();
    let runner = A::runner(&client);
    let sets = A::watch::<ReplicaSet>(&runner, Api::<ReplicaSet>::all());
    let pods = A::watch::<Pod>(&runner, Api::<Pod>::all());
    let (told, tells) = channel();
    let of_pods = pods.clone();
    A::add(&runner, Controller::new("test", sets.watch()).owns(pods.watch()), move |key, _, _| {
        told.send(format!("{key} {}", of_pods.len()))?;
        Ok(When::Changed)
    });
    let running = Running::<A>::start(&runner);
    assert_eq!(tells.recv().unwrap(), "default/web 0");
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": true});
    let pod = json!({"metadata": {"name": "p", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "c", "image": "registry.example/c:1"}]}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    A::send(&client, Api::in_namespace("default").create(&pod)).unwrap();
    assert_eq!(tells.recv().unwrap(), "default/web 1");
    running.stop();
}

fn a_stop_waits_for_what_is_under_way<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    create::<A>(&client, 0..3);
    let runner = A::runner(&client);
    let cache = A::watch::<ConfigMap>(&runner, maps());
    let (begun, begins) = channel();
    let (go, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let ended = Arc::new(AtomicUsize::new(0));
    let ends = ended.clone();
    A::add(&runner, Controller::new("test", cache.watch()), move |_, _, _| {
        begun.send(())?;
        gate.lock().unwrap().recv()?;
        ends.fetch_add(1, Ordering::SeqCst);
        Ok(When::Changed)
    });
    let running = Running::<A>::start(&runner);
    begins.recv().unwrap();
    A::stop(&runner);
    // Before the runner has heard of the stop, it may begin one more.
    for _ in 0..2 {
        go.send(()).unwrap();
    }
    running.stop();
    let begun = 1 + begins.try_iter().count();
    assert_eq!(ended.load(Ordering::SeqCst), begun, "what was begun has ended");
    assert!(begun < 3);
}

fn it_converges_whatever_the_server_does<A: Adapter>() {
    let cluster = Cluster::start();
    let client = A::client(&cluster.server.url());
    let with_api = |change: &dyn Fn(&mut sanskube_apiserver::ApiServer)| cluster.server.with_api(|api, _| change(api));
    // Watches are cut in their second frame; one request in a while is refused, or its connection lost before or after its effect.
    with_api(&|api| api.faults_mut().cut_watches(2, 2));
    for (method, skip, after_effect, failure) in [
        ("PATCH", 1, false, Failure::Status { code: 429, retry_after: Some(1) }),
        ("PATCH", 3, false, Failure::Status { code: 500, retry_after: None }),
        ("PATCH", 5, false, Failure::Hangup),
        ("PATCH", 7, true, Failure::Hangup),
        ("PATCH", 9, true, Failure::Status { code: 504, retry_after: None }),
        ("GET", 0, false, Failure::Status { code: 429, retry_after: Some(1) }),
        ("GET", 1, false, Failure::Hangup),
    ] {
        // Requests of this test itself ask for no version.
        let target = if method == "GET" { "resourceVersion" } else { "configmaps" };
        let rule = Rule {
            agent: String::new(),
            method: method.into(),
            target: target.into(),
            skip,
            times: 1,
            after_effect,
            failure,
        };
        with_api(&|api| api.faults_mut().add_rule(rule.clone()));
    }
    let runner = A::runner(&client);
    label::<A>(&runner);
    let running = Running::<A>::start(&runner);
    create::<A>(&client, 0..20);
    with_api(&|api| api.expire_history("configmaps"));
    create::<A>(&client, 20..25);
    with_api(&sanskube_apiserver::ApiServer::restart);
    create::<A>(&client, 25..30);
    // One who is cut off each time it has seen one event waits longer each time.
    with_api(&|api| api.faults_mut().cut_watches(0, 0));
    wait_until("all are labelled", || (labelled(&cluster) == 30).then_some(()));
    running.stop();
}

fn a_server_that_is_down_at_first_is_waited_for<A: Adapter>() {
    let cluster = Cluster::start();
    let port = cluster.server.addr().port();
    drop(cluster);
    let client = A::client(&format!("http://127.0.0.1:{port}"));
    let runner = A::runner(&client);
    label::<A>(&runner);
    let running = Running::<A>::start(&runner);
    let cluster = Cluster::start_on(port);
    create::<A>(&client, 0..3);
    wait_until("all are labelled", || (labelled(&cluster) == 3).then_some(()));
    running.stop();
}

with_both_adapters! {
    every_object_is_reconciled_what_there_was_and_what_comes,
    a_failure_is_tried_again_and_a_reminder_comes,
    a_key_is_never_reconciled_twice_at_once_and_never_more_than_allowed,
    controllers_share_a_watch_and_join_and_leave,
    changes_and_caches_are_read_beside_the_runner,
    what_an_object_owns_wakes_it,
    a_stop_waits_for_what_is_under_way,
    it_converges_whatever_the_server_does,
    a_server_that_is_down_at_first_is_waited_for,
}
