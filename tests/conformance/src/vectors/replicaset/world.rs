//! The world of the vectors: two caches, an API server, a clock, and the controller.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sanskube::key::Key;
use sanskube::object::{Object, Pod, ReplicaSet, ReplicaSetKind};
use sanskube::replicaset::expectations::Expectation;
use sanskube::replicaset::guard::Cache;
use sanskube::replicaset::{Caches, ReplicaSetController, ReplicaSetOptions, Wakeups, index_pods, index_sets};
use sanskube::resource_version::ResourceVersion;
use sanskube::store::Store;
use sanskube::time::{Instant, Now};
use sanskube::uid::Uid;
use serde_json::{Map, Value, json};

use super::super::{Check, same};
use super::api::Api;
use super::manage_sync::{BY_UID, MET_BY_VERSION};
use super::unseen::Unseen;
use super::{expectations, number, pod, set, stale_guard, time};

pub(super) struct World {
    pub(super) controller: ReplicaSetController,
    pub(super) pods: Store<Pod>,
    pub(super) sets: Store<ReplicaSet>,
    pub(super) api: Api,
    pub(super) now: Now,
    /// The uid under which the expectations of a key are kept: that of its set.
    uids: BTreeMap<String, Uid>,
    /// Keys that expect something though they have no set: here expectations belong to a uid, so they expect nothing.
    without_set: BTreeSet<String>,
    pub(super) unseen: Unseen,
}

impl World {
    pub(super) fn new(input: &Value) -> Self {
        let mut options = ReplicaSetOptions::new(ReplicaSetKind::ReplicaSet);
        options.burst = number(&input["burstReplicas"]);
        let start = Now { instant: Instant::from_millis(1_000_000_000), wall: time(&input["now"]) };
        let mut world = Self {
            controller: ReplicaSetController::new(options),
            pods: Store::new(),
            sets: Store::new(),
            api: Api::new(&input["api"], &input["pods"]),
            now: start,
            uids: BTreeMap::new(),
            without_set: BTreeSet::new(),
            unseen: Unseen::default(),
        };
        index_pods(&mut world.pods);
        index_sets(&mut world.sets);
        for json in list(&input["replicaSets"]) {
            world.put_set(set(json));
        }
        for json in list(&input["pods"]) {
            let _ = world.pods.add(pod(json));
        }
        let version = |resource: &str| ResourceVersion::new(text(&input["storeResourceVersions"][resource]));
        world.pods.set_resource_version(version("pods"));
        world.sets.set_resource_version(version("replicasets.apps"));
        for record in list(&input["expectations"]) {
            world.expect(record);
        }
        for record in list(&input["guard"]) {
            let cache = if record["resource"] == "pods" { Cache::Pods } else { Cache::Sets };
            let version = ResourceVersion::new(text(&record["resourceVersion"]));
            let owner = Key::explicit(text(&record["owner"]));
            world.controller.guard_mut().wrote_at(&owner, &Uid::new(text(&record["uid"])), cache, version);
        }
        world
    }

    fn expect(&mut self, record: &Value) {
        let key = text(&record["key"]);
        let Some(uid) = self.uids.get(key) else {
            self.without_set.insert(key.to_owned());
            return;
        };
        let age = Duration::from_secs(record["ageSeconds"].as_u64().unwrap_or(0));
        let set_at = Instant::from_nanos(self.now.instant.as_nanos() - u64::try_from(age.as_nanos()).unwrap_or(0));
        let expectations = self.controller.expectations_mut();
        match record["podKeys"].as_array() {
            Some(pods) => {
                expectations.expect_deletions(uid, pods.iter().map(|pod| Key::explicit(text(pod))), set_at);
            }
            None => expectations.expect_creations(uid, number(&record["adds"]), set_at),
        }
    }

    fn put_set(&mut self, set: ReplicaSet) {
        self.uids.insert(set.meta().key.to_string(), set.uid());
        let _ = self.sets.add(set);
    }

    /// Carries out an event, unless the operation is none, and compares.
    pub(super) fn handle_event(&mut self, i: usize, op: &Value, check: &mut Check) -> bool {
        let (name, args) = (text(&op["op"]), &op["args"]);
        let wakeups = match name {
            "pod_added" | "pod_updated" | "pod_deleted" => self.handle_pod(name, args),
            // What is neither a set nor the wrapper of one cannot be given to a handler here: the types rule it out.
            "rs_deleted" if !args["junk"].is_null() => {
                check.apply_rule("no-junk-events");
                Wakeups::default()
            }
            "rs_added" | "rs_updated" | "rs_deleted" => self.handle_set(name, args),
            _ => return false,
        };
        let got = describe_wakeups(&wakeups);
        let place = format!("op {i} {name}");
        let mut want = op["want"].clone();
        self.unseen.apply(name, args, &self.sets, &mut want, check);
        for field in ["enqueue", "enqueueAfter"] {
            check.same(&format!("{place}: {field}"), &want[field], &got[field]);
        }
        let mut expectations = want["expectations"].take();
        for key in &self.without_set {
            check.apply_rule(BY_UID);
            if let Some(expectations) = expectations.as_object_mut() {
                expectations.remove(key);
            }
        }
        check.same(&format!("{place}: expectations"), &expectations, &self.all_expectations());
        check.same(&format!("{place}: guard"), &want["guard"], &self.all_guard());
        true
    }

    fn handle_pod(&mut self, name: &str, args: &Value) -> Wakeups {
        let new = Arc::new(pod(&args["pod"]));
        let _ = match name {
            "pod_deleted" => self.pods.delete(&new).map(|_| ()),
            _ => self.pods.add_shared(Arc::clone(&new)).map(|_| ()),
        };
        let caches = Caches { pods: &self.pods, sets: &self.sets };
        match name {
            "pod_added" => self.controller.handle_pod_added(&new, caches, self.now),
            "pod_deleted" => self.controller.handle_pod_deleted(&new, caches),
            _ => self.controller.handle_pod_updated(&pod(&args["oldPod"]), &new, caches, self.now),
        }
    }

    fn handle_set(&mut self, name: &str, args: &Value) -> Wakeups {
        let new = set(&args["replicaSet"]);
        let ended = match name {
            "rs_added" => None,
            "rs_deleted" => Some(new.uid()),
            _ => Some(set(&args["oldReplicaSet"]).uid()),
        };
        // Upstream drops what is expected by the key of a set that ends, here it goes by the uid; and what comes after belongs to the new one.
        let key = new.meta().key.to_string();
        if let Some(uid) = self.uids.get(&key)
            && *uid != ended.unwrap_or_else(|| new.uid())
            && self.controller.expectations().get(uid).is_some()
        {
            self.without_set.insert(key.clone());
        }
        match name {
            "rs_deleted" => {
                let _ = self.sets.delete(&new);
                self.uids.remove(&key);
                self.controller.handle_set_deleted(&new)
            }
            "rs_added" => {
                let wakeups = self.controller.handle_set_added(&new);
                self.put_set(new);
                wakeups
            }
            _ => {
                let old = set(&args["oldReplicaSet"]);
                let wakeups = self.controller.handle_set_updated(&old, &new);
                self.put_set(new);
                wakeups
            }
        }
    }

    /// The rule by which a set is free to create and delete pods though upstream may still expect something: the cache has come as far as its writes; what
    /// is expected was of its namesake; or the end of a pod was noticed that upstream did not notice.
    pub(super) fn freed_by(&self, key: &str) -> Option<&'static str> {
        let expectations = self.controller.expectations();
        let is_met = self.uids.get(key).is_some_and(|uid| {
            expectations.are_satisfied(uid, self.pods.resource_version(), self.now.instant)
                && !expectations.are_satisfied(uid, &ResourceVersion::NONE, self.now.instant)
        });
        if is_met {
            return Some(MET_BY_VERSION);
        }
        self.without_set.contains(key).then_some(BY_UID).or_else(|| self.unseen.noticed_by(key))
    }

    /// Puts the record of upstream in the place of that of a key. Where nothing has changed it is as old as it was `before`.
    pub(super) fn put_expectation(&mut self, key: &str, record: &Value, before: Option<Expectation>, now: Now) {
        let Some(uid) = self.uids.get(key) else { return };
        let expectations = self.controller.expectations_mut();
        expectations.delete(uid);
        if record.is_null() || self.without_set.contains(key) {
            return;
        }
        let before = before.filter(|before| same(record, &expectations::describe(before)));
        let since = before.map_or(now.instant, |before| before.since);
        let count = |field: &str| record[field].as_i64().unwrap_or(0);
        let pods = record["podKeys"].as_array().map(|pods| pods.iter().map(|pod| Key::explicit(text(pod))).collect());
        expectations.set(uid, count("adds"), count("dels"), since).pods = pods;
    }

    /// Puts the record of upstream in the place of that of a key.
    pub(super) fn put_guard(&mut self, key: &str, record: &Value) {
        let (owner, guard) = (Key::explicit(key), self.controller.guard_mut());
        guard.clear(&owner);
        for (resource, version) in record["versions"].as_object().into_iter().flatten() {
            let cache = if resource == "pods" { Cache::Pods } else { Cache::Sets };
            guard.wrote_at(&owner, &Uid::new(text(&record["uid"])), cache, ResourceVersion::new(text(version)));
        }
    }

    /// The record of a key, as the vectors describe it.
    pub(super) fn expectations_of(&self, key: &str) -> Value {
        let uid = self.uids.get(key);
        uid.and_then(|uid| self.controller.expectations().get(uid)).map_or(Value::Null, expectations::describe)
    }

    pub(super) fn guard_of(&self, key: &str) -> Value {
        self.controller.guard().get(&Key::explicit(key)).map_or(Value::Null, stale_guard::describe)
    }

    fn all_expectations(&self) -> Value {
        self.by_key(Self::expectations_of)
    }

    fn all_guard(&self) -> Value {
        self.by_key(Self::guard_of)
    }

    fn by_key(&self, record: fn(&Self, &str) -> Value) -> Value {
        let records = self.uids.keys().map(|key| (key.clone(), record(self, key)));
        Value::Object(records.filter(|(_, record)| !record.is_null()).collect::<Map<_, _>>())
    }
}

fn describe_wakeups(wakeups: &Wakeups) -> Value {
    let mut now: Vec<&str> = wakeups.now.iter().map(Key::as_str).collect();
    now.sort_unstable();
    now.dedup();
    let later: Vec<Value> = wakeups
        .later
        .iter()
        .map(
            |(key, after)| json!({"key": key.as_str(), "afterNs": u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)}),
        )
        .collect();
    json!({"enqueue": now, "enqueueAfter": later})
}

pub(super) fn list(json: &Value) -> impl Iterator<Item = &Value> {
    json.as_array().into_iter().flatten()
}

pub(super) fn text(json: &Value) -> &str {
    json.as_str().unwrap_or_default()
}
