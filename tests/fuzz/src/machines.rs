//! Whole machines against servers of every kind.

use std::collections::BTreeMap;
use std::time::Duration;

use sanskube::election::{self, Timing};
use sanskube::informer::{Change, Informer};
use sanskube::key::Key;
use sanskube::limits::Limits;
use sanskube::machine::{Input, Machine, Output, Watcher};
use sanskube::manager::{ClientLimits, Config, Manager};
use sanskube::object::{MetadataOnly, Object, ReplicaSetKind, Resource};
use sanskube::reflector::{self, Recovery};
use sanskube::request::Encoding;
use sanskube::store::Store;
use sanskube::time::Instant;
use serde_json::Value;

use crate::choices::Choices;
use crate::script::Script;

/// More pods than these are not held.
pub(crate) const PODS: usize = 40;

/// Bounds that a script can reach.
pub(crate) fn limits() -> Limits {
    Limits {
        object_bytes: 4 << 10,
        answer_bytes: 16 << 10,
        list_objects: PODS,
        calls_in_flight: 4,
        ..Limits::default()
    }
}

/// Whatever a server does, a watcher is never stuck, and once the server is sane it has what the server has.
pub fn reflectors(input: &[u8]) {
    let outputs = [(); 2].map(|()| watch(input));
    assert!(outputs[0] == outputs[1], "the same script gives the same run");
}

fn watch(input: &[u8]) -> impl PartialEq + use<> {
    let mut choices = Choices::new(input);
    let config = reflector::Config {
        watch_list: choices.percent(50),
        recovery: *choices.pick(&[Recovery::Prudent, Recovery::ClientGo]),
        page_size: *choices.pick(&[None, Some(1), Some(2)]),
        resync_period: Duration::from_secs(*choices.pick(&[0, 0, 7])),
        internal_error_retry: Duration::from_secs(*choices.pick(&[0, 30])),
        limits: limits(),
        ..reflector::Config::new(Resource::PODS)
    };
    let prudent = config.recovery == Recovery::Prudent;
    let mut view = BTreeMap::new();
    let on_change = |store: &Store<MetadataOnly>, key: Key, change: Change<MetadataOnly>| {
        // What a handler was told is what is stored, whether it was told of each change or of some at once.
        match change.object().filter(|object| store.get(key.as_str()).is_some_and(|stored| stored.is_same(object))) {
            Some(object) => drop(view.insert(key, object.resource_version())),
            None if store.get(key.as_str()).is_none() => drop(view.remove(key.as_str())),
            None => {}
        }
    };
    let mut script = Script::new(Watcher::new(Informer::new(config), on_change), 1);
    while !choices.is_empty() && !script.stopped {
        script.step(&mut choices);
    }
    // A server may have asked for patience, and a back-off may be a minute long. A lie is found out when the watch ends.
    script.be_sane(Duration::from_secs(20 * 60));
    let there = pods(&mut script);
    if there.len() > PODS {
        return script.outputs;
    }
    assert!(script.machine.informer().has_synced(), "it is in sync once the server is sane");
    let store = script.machine.informer().store();
    let stored: BTreeMap<String, String> =
        store.iter().map(|object| (object.name().to_owned(), object.resource_version().to_string())).collect();
    let (lied, outputs) = (script.lied, core::mem::take(&mut script.outputs));
    if !lied && prudent {
        let there: BTreeMap<_, _> = there.iter().map(|pod| (name(pod), version(pod))).collect();
        assert_eq!(stored, there);
    }
    drop(script);
    if !lied && prudent {
        assert!(view.iter().map(|(key, version)| (key.name().to_owned(), version.to_string())).eq(stored));
    }
    outputs
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

fn items<M: Machine>(script: &mut Script<M>, path: &str) -> Vec<Value> {
    let list = script.request("GET", path, "", "").json().unwrap_or_default();
    list["items"].as_array().cloned().unwrap_or_default()
}

pub(crate) fn pods<M: Machine>(script: &mut Script<M>) -> Vec<Value> {
    items(script, "/api/v1/pods")
}

/// Whatever a server does, a manager keeps its bounds and deadlines, and once the server is sane the sets have their pods.
pub fn managers(input: &[u8]) {
    same_twice(input, Encoding::Json);
}

/// The same of a manager that asks for protobuf.
pub fn protobuf_managers(input: &[u8]) {
    same_twice(input, Encoding::Protobuf);
}

fn same_twice(input: &[u8], encoding: Encoding) {
    let outputs = [(); 2].map(|()| manage(input, encoding, Manager::new, |manager| manager));
    assert!(outputs[0] == outputs[1], "the same script gives the same run");
}

/// A candidate that renews its lease seldom, so that a long time does not mean much work.
fn candidate() -> election::Config {
    let timing = [60, 40, 10].map(Duration::from_secs);
    let timing = Timing::new(timing[0], timing[1], timing[2]).expect("the periods allow an election");
    election::Config { timing, ..election::Config::new("default", "lease", "me") }
}

/// Runs a script for a manager, or a machine that is one within; what it has wanted, and whether it has stopped.
pub(crate) fn manage<M: Machine>(
    input: &[u8],
    encoding: Encoding,
    begin: impl FnOnce(&Config) -> M,
    manager: impl Fn(&M) -> &Manager,
) -> (Vec<(Instant, Output)>, bool) {
    let mut choices = Choices::new(input);
    let elected = choices.percent(20);
    let config = Config {
        kinds: choices
            .pick(&[
                &[ReplicaSetKind::ReplicaSet][..],
                &[ReplicaSetKind::ReplicaSet, ReplicaSetKind::ReplicationController],
            ])
            .to_vec(),
        client_limits: *choices.pick(&[None, None, Some(ClientLimits { qps: 5.0, burst: 2 })]),
        election: elected.then(candidate),
        resync_period: Duration::from_secs(*choices.pick(&[0, 0, 30])),
        watch_list: choices.percent(50),
        dry_run: choices.percent(5),
        encoding,
        limits: limits(),
        ..Config::default()
    };
    let dry_run = config.dry_run;
    // A renewal of the lease is in flight beside the calls that are counted.
    let mut script = Script::new(begin(&config), limits().calls_in_flight + 1);
    while !choices.is_empty() && !script.stopped {
        if choices.percent(1) {
            script.give(Input::Stop);
        }
        script.step(&mut choices);
    }
    if !script.stopped {
        // Expectations that were not met are given up after five minutes, and so long may a server have asked for patience.
        script.be_sane(Duration::from_secs(15 * 60));
    }
    let pods = pods(&mut script);
    if !script.stopped && pods.len() <= PODS {
        assert!(manager(&script.machine).has_synced(), "it is in sync once the server is sane");
        let sets = items(&mut script, "/apis/apps/v1/replicasets");
        for set in sets.iter().filter(|_| !script.lied && !dry_run) {
            let wanted = set["spec"]["replicas"].as_u64().unwrap_or_default() as usize;
            let is_active = |pod: &&Value| {
                let phase = pod["status"]["phase"].as_str().unwrap_or_default();
                pod["metadata"]["ownerReferences"][0]["uid"] == set["metadata"]["uid"]
                    && pod["metadata"]["deletionTimestamp"].is_null()
                    && !["Failed", "Succeeded"].contains(&phase)
            };
            assert_eq!(pods.iter().filter(is_active).count(), wanted, "{}", name(set));
            assert_eq!(set["status"]["replicas"], wanted, "{}", name(set));
        }
    }
    (script.outputs, script.stopped)
}
