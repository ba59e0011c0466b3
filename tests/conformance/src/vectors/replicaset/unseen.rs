//! The rules for pods that end or change after something happened to them unseen: sets are told that upstream does not tell.

use std::collections::BTreeSet;

use sanskube::key::Key;
use sanskube::object::{Object, Pod, ReplicaSet};
use sanskube::store::Store;
use serde_json::{Value, json};

use super::super::Check;
use super::pod;
use super::world::list;

/// A pod without controller wakes, when it ends, the sets that select it; upstream wakes none.
const SELECTED: &str = "an-orphan-that-ends-wakes-who-selects-it";
/// A pod that was taken from a set and ended in one step wakes that set; upstream does so only where the labels changed, too.
const TAKEN: &str = "a-pod-that-ends-wakes-whom-it-was-taken-from";
/// A pod without controller wakes, when it changes, the sets that selected it and have written to a pod since; upstream wakes none of them.
const LOST: &str = "an-orphan-that-changes-wakes-who-has-written-since";

/// Follows which deletions upstream goes on to expect that are known here to have happened.
#[derive(Default)]
pub(super) struct Unseen {
    /// The set, the pod, and the rule by which its end was noticed.
    noticed: BTreeSet<(Key, Key, &'static str)>,
}

impl Unseen {
    /// Changes what upstream does when it is told of an event to what is wanted instead.
    pub(super) fn apply(
        &mut self,
        event: &str,
        args: &Value,
        sets: &Store<ReplicaSet>,
        want: &mut Value,
        check: &mut Check,
    ) {
        let mut applied = BTreeSet::new();
        if event.starts_with("pod_") {
            let new = pod(&args["pod"]);
            let old = (event == "pod_updated").then(|| pod(&args["oldPod"]));
            let ends = event == "pod_deleted" || new.deletion().is_some();
            // A resync tells nothing.
            let changed = old.as_ref().is_none_or(|old| old.resource_version() != new.resource_version());
            if changed && ends {
                for (rule, set) in told(old.as_ref(), &new, sets) {
                    if wake(want, set.as_str()) {
                        applied.insert(rule);
                    }
                    self.noticed.insert((set, new.key().clone(), rule));
                }
            } else if changed && let Some(old) = &old {
                for set in lost(old, sets, &want["guard"]) {
                    if wake(want, set.as_str()) {
                        applied.insert(LOST);
                    }
                }
            }
        }
        self.noticed.retain(|(set, pod, rule)| {
            let expected = unexpect(&mut want["expectations"][set.as_str()], pod.as_str());
            if expected {
                applied.insert(*rule);
            }
            expected
        });
        applied.into_iter().for_each(|rule| check.apply_rule(rule));
    }

    /// The rule by which deletions of a set are known to have happened that upstream goes on to expect.
    pub(super) fn noticed_by(&self, key: &str) -> Option<&'static str> {
        self.noticed.iter().find(|(set, ..)| set.as_str() == key).map(|(.., rule)| *rule)
    }
}

/// The sets that are told that a pod has ended, and by which rule.
fn told(old: Option<&Pod>, new: &Pod, sets: &Store<ReplicaSet>) -> BTreeSet<(&'static str, Key)> {
    let mut told = BTreeSet::new();
    let mut tell = |rule, set: Key| told.insert((rule, set));
    if new.controller().is_none() {
        selecting(new, sets).for_each(|set| _ = tell(SELECTED, set));
    }
    if let Some(old) = old.filter(|old| old.labels() != new.labels() || old.controller() != new.controller()) {
        match old.controller() {
            None => selecting(old, sets).for_each(|set| _ = tell(SELECTED, set)),
            Some(owner) => {
                let set = sets.get(Key::new(old.namespace(), &owner.name).as_str());
                if let Some(set) = set.filter(|set| set.uid() == owner.uid && *owner.kind == *"ReplicaSet") {
                    tell(TAKEN, set.key());
                }
            }
        }
    }
    told
}

/// The sets that may have adopted a pod and lost it again, as the guard of upstream knows what they have written.
fn lost(old: &Pod, sets: &Store<ReplicaSet>, guard: &Value) -> Vec<Key> {
    if old.controller().is_some() {
        return Vec::new();
    }
    let shown = old.resource_version().to_string().parse::<u64>().ok();
    let wrote = |set: &Key| {
        let written = &guard[set.as_str()]["versions"]["pods"];
        written.as_str().and_then(|version| version.parse().ok()) > shown
    };
    selecting(old, sets).filter(wrote).collect()
}

/// The sets that select a pod: by labels, and not by a selector that says nothing.
fn selecting<'a>(pod: &'a Pod, sets: &'a Store<ReplicaSet>) -> impl Iterator<Item = Key> + 'a {
    sets.iter()
        .filter(|set| {
            let selector = set.selector();
            set.namespace() == pod.namespace()
                && !pod.labels().is_empty()
                && selector.is_ok_and(|selector| !selector.matches_everything() && selector.matches(pod.labels()))
        })
        .map(|set| set.key())
}

/// Adds a key to those that are woken, unless it is there.
fn wake(want: &mut Value, key: &str) -> bool {
    let mut keys: BTreeSet<String> = list(&want["enqueue"]).filter_map(|key| key.as_str().map(str::to_owned)).collect();
    let is_new = keys.insert(key.to_owned());
    want["enqueue"] = json!(keys);
    is_new
}

/// Takes the deletion of a pod from what a set expects, if it is there.
fn unexpect(record: &mut Value, pod: &str) -> bool {
    let Some(pods) = record["podKeys"].as_array_mut() else { return false };
    let before = pods.len();
    pods.retain(|key| key != pod);
    let expected = pods.len() < before;
    if let (true, Some(deletions)) = (expected, record["dels"].as_i64()) {
        record["dels"] = json!(deletions - 1);
    }
    expected
}
