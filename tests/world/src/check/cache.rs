//! The cache is a state that the server once had, and never goes back to an older one.

use std::collections::BTreeMap;
use std::fmt;

use sanskube::object::{self, Labels, Object, ReplicaSet};
use sanskube::store::Store;

use super::history::History;
use super::objects::{Pod, Set};
use super::{Metadata, Violation};
use crate::client::ClientId;

const RULE: &str = "the cache is a state that the server once had, and goes only forward";

/// An object as it truly is, beside what a cache holds.
pub(crate) trait Truth<T> {
    fn metadata(&self) -> &Metadata;

    /// What is read wrongly, beside uid and version.
    fn misread(&self, held: &T) -> Option<&'static str>;
}

impl Truth<object::Pod> for Pod {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn misread(&self, held: &object::Pod) -> Option<&'static str> {
        let cost = self.metadata.annotations.get("controller.kubernetes.io/pod-deletion-cost");
        let cost = cost.and_then(|cost| cost.parse().ok()).unwrap_or(0);
        let controller = held.controller().map(|owner| owner.uid.to_string());
        let facts = [
            ("controller", controller.as_deref() == self.metadata.controller()),
            ("deletion", held.deletion().is_some() == self.metadata.is_deleting()),
            ("deletion cost", held.deletion_cost() == cost),
            ("labels", has_labels(held.labels(), &self.metadata.labels)),
            ("phase", format!("{:?}", held.phase()) == self.phase()),
            ("readiness", held.is_ready() == self.is_ready()),
        ];
        wrong(&facts)
    }
}

impl Truth<ReplicaSet> for Set {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn misread(&self, held: &ReplicaSet) -> Option<&'static str> {
        let facts = [
            ("deletion", held.meta().deletion.is_some() == self.metadata.is_deleting()),
            ("generation", held.meta().generation == self.metadata.generation),
            ("labels", has_labels(&held.meta().labels, &self.metadata.labels)),
            ("replicas", held.replicas() == self.spec.replicas),
        ];
        wrong(&facts)
    }
}

fn has_labels(held: &Labels, truth: &BTreeMap<String, String>) -> bool {
    held.iter().eq(truth.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

fn wrong(facts: &[(&'static str, bool)]) -> Option<&'static str> {
    facts.iter().find(|(_, right)| !right).map(|(what, _)| *what)
}

/// The version of a store; zero if it has none yet.
pub(crate) fn version_of<T>(store: &Store<T>) -> u64 {
    let version = store.resource_version();
    if version.is_none() { 0 } else { version.to_string().parse().unwrap_or(0) }
}

/// Compares a cache with what the server had at the version that the cache has come to. `seen` is the version it had come to before.
pub(crate) fn check<T: Object + fmt::Debug, U: Truth<T>>(
    client: ClientId,
    store: &Store<T>,
    truth: &History<U>,
    seen: &mut u64,
) -> Result<(), Violation> {
    let version = version_of(store);
    if version < *seen {
        return Err(Violation::new(RULE, format_args!("{client:?} went back from version {seen} to {version}")));
    }
    let before = std::mem::replace(seen, version);
    let mut count = 0;
    for (key, state) in truth.all_at(version) {
        count += 1;
        let metadata = state.metadata();
        let held = store.get(key);
        let fits = held.is_some_and(|held| {
            held.uid().to_string() == metadata.uid && held.resource_version().to_string() == metadata.resource_version
        });
        // What was there before has been compared.
        let is_new = || metadata.resource_version.parse::<u64>().is_ok_and(|version| version > before);
        if let Some(what) = held.filter(|_| fits && is_new()).and_then(|held| state.misread(held)) {
            let what = format_args!("{client:?} takes {key} at version {version} for {held:?}: its {what} is wrong");
            return Err(Violation::new("an object is read as it is", what));
        }
        if !fits {
            let held = held.map(|held| (held.uid().to_string(), held.resource_version()));
            let what = format_args!(
                "{client:?} at version {version} has {held:?} for {key}, which was {} at {}",
                metadata.uid, metadata.resource_version
            );
            return Err(Violation::new(RULE, what));
        }
    }
    if count != store.len() {
        let keys: Vec<&str> = store.keys().map(|key| key.as_str()).collect();
        return Err(Violation::new(
            RULE,
            format_args!("{client:?} at version {version} has {keys:?}, where {count} were"),
        ));
    }
    Ok(())
}
