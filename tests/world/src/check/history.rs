//! The truth: what each object was at each version, as the server's own history tells.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use sanskube_apiserver::ApiServer;
use serde::de::DeserializeOwned;

/// The states of one object, each with the version since which it is so.
type States<T> = Vec<(u64, Option<Rc<T>>)>;

/// All states that the objects of one resource have had.
#[derive(Debug)]
pub struct History<T> {
    resource: &'static str,
    /// By `namespace/name`: each version and the state from then on; none where the object is no more.
    states: BTreeMap<String, States<T>>,
    newest: u64,
}

/// A change of an object.
#[derive(Debug)]
pub struct Changed<T> {
    /// Its key, `namespace/name`.
    pub key: String,
    /// The version from which on it is so.
    pub version: u64,
    /// What it was.
    pub before: Option<Rc<T>>,
    /// What it is.
    pub after: Option<Rc<T>>,
}

impl<T: DeserializeOwned> History<T> {
    /// A history that has not been read yet.
    pub fn new(resource: &'static str) -> Self {
        Self { resource, states: BTreeMap::new(), newest: 0 }
    }

    /// Reads what has happened since this was last done. To be called before the server forgets it.
    ///
    /// # Panics
    /// The server holds an object that cannot be read.
    pub fn read(&mut self, api: &ApiServer) -> Vec<Changed<T>> {
        let mut changed = Vec::new();
        for change in api.changes_after(self.resource, self.newest) {
            self.newest = change.version;
            let key = format!("{}/{}", change.namespace, change.name);
            let after = (!change.deleted).then(|| {
                let object = serde_json::from_slice(change.json);
                Rc::new(object.expect("the server holds objects that can be read"))
            });
            let states = self.states.entry(key.clone()).or_default();
            let before = states.last().and_then(|(_, state)| state.clone());
            states.push((change.version, after.clone()));
            changed.push(Changed { key, version: change.version, before, after });
        }
        changed
    }
}

impl<T> History<T> {
    /// What an object is now.
    pub fn now(&self, key: &str) -> Option<&Rc<T>> {
        self.states.get(key)?.last()?.1.as_ref()
    }

    /// What an object was at a version.
    pub fn at(&self, key: &str, version: u64) -> Option<&Rc<T>> {
        let states = self.states.get(key)?;
        let next = states.partition_point(|(since, _)| *since <= version);
        states[..next].last()?.1.as_ref()
    }

    /// What changed at a version: the key of the object, and what it was from then on.
    pub fn changed_at(&self, version: u64) -> Option<(&str, Option<&Rc<T>>)> {
        let at = |states: &States<T>| states.binary_search_by_key(&version, |(since, _)| *since).ok();
        self.states.iter().find_map(|(key, states)| Some((key.as_str(), states[at(states)?].1.as_ref())))
    }

    /// Something of all states that there have been.
    pub fn known<R: Ord>(&self, what: impl Fn(&T) -> R) -> BTreeSet<R> {
        self.states.values().flatten().filter_map(|(_, state)| state.as_deref()).map(what).collect()
    }

    /// What has changed after a version, in order: the version, the key, and whether there is an object from then on.
    pub fn changes_after(&self, version: u64) -> Vec<(u64, &str, bool)> {
        let mut changes: Vec<(u64, &str, bool)> = Vec::new();
        for (key, states) in &self.states {
            let next = states.partition_point(|(since, _)| *since <= version);
            changes.extend(states[next..].iter().map(|(since, state)| (*since, key.as_str(), state.is_some())));
        }
        changes.sort_unstable();
        changes
    }

    /// The keys of all objects that there have been.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.states.keys().map(String::as_str)
    }

    /// Whether something has ever held of an object.
    pub fn was(&self, key: &str, held: impl Fn(&T) -> bool) -> bool {
        let mut states = self.states.get(key).into_iter().flatten();
        states.any(|(_, state)| state.as_deref().is_some_and(&held))
    }

    /// The objects that there are.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Rc<T>)> {
        self.states.keys().filter_map(|key| Some((key.as_str(), self.now(key)?)))
    }

    /// The objects that there were at a version.
    pub fn all_at(&self, version: u64) -> impl Iterator<Item = (&str, &Rc<T>)> {
        self.states.keys().filter_map(move |key| Some((key.as_str(), self.at(key, version)?)))
    }

    /// Since which version something has held of an object without a break.
    pub fn holds_since(&self, key: &str, holds: impl Fn(&T) -> bool) -> Option<u64> {
        let states = self.states.get(key)?.iter().rev();
        let held = states.take_while(|(_, state)| state.as_ref().is_some_and(|state| holds(state)));
        held.last().map(|(version, _)| *version)
    }

    /// The version of the last change.
    pub fn newest(&self) -> u64 {
        self.newest
    }
}
