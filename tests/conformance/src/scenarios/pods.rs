//! Which pod is which: names that the server made up are arbitrary, so a pod is known by what was done to it.
//!
//! A recording calls such a pod `web-<sfx:1>`. Which pod of the play that is, is fixed only by what was done to it: pods with the same
//! history are equals, and one may stand for the other. Who made it when is no part of the history: the controller may choose among
//! pods that differ by that alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::scenario::UserRequest;
use super::write::pod_of;

/// What was done to each pod, and when, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Histories(BTreeMap<String, Vec<(Duration, String)>>);

impl Histories {
    pub(super) fn add(&mut self, pod: &str, at: Duration, what: String) {
        let history = self.0.entry(pod.to_owned()).or_default();
        let place = history.partition_point(|(before, _)| *before <= at);
        history.insert(place, (at, what));
    }

    /// What was done to a pod before some time.
    pub(super) fn before(&self, pod: &str, end: Duration) -> Vec<&str> {
        let history = self.0.get(pod).map_or(&[][..], Vec::as_slice);
        history.iter().take_while(|(at, _)| *at < end).map(|(_, what)| what.as_str()).collect()
    }
}

/// The pods of a play under the names that the recording has for them.
#[derive(Debug, Default)]
pub(super) struct Pods {
    /// The name here of each name there.
    bound: BTreeMap<String, String>,
    known: BTreeSet<String>,
    pub(super) recorded: Histories,
    pub(super) played: Histories,
}

impl Pods {
    /// Takes note of a pod.
    pub(super) fn know(&mut self, name: &str) {
        self.known.insert(name.to_owned());
    }

    /// Binds the names of a list of the recording, in order, to those of a list of the play.
    ///
    /// # Errors
    /// They cannot be the same pods.
    pub(super) fn observe(&mut self, recorded: &[String], played: &[String]) -> Result<(), String> {
        for name in played {
            self.know(name);
        }
        let literal: BTreeSet<&String> = recorded.iter().filter(|name| !is_made_up(name)).collect();
        let made_up: Vec<String> = recorded.iter().filter(|name| is_made_up(name)).cloned().collect();
        let candidates: Vec<String> = played.iter().filter(|name| !literal.contains(name)).cloned().collect();
        if literal.iter().any(|name| !played.contains(name)) || made_up.len() != candidates.len() {
            return Err(format!("wanted the pods {recorded:?}, got {played:?}"));
        }
        let unknown = self.bind(&made_up, &candidates);
        match unknown.first() {
            None => Ok(()),
            Some(name) => Err(format!(
                "{name} of {recorded:?} ({}) is none of {played:?}",
                self.recorded.before(name, Duration::MAX).join(", ")
            )),
        }
    }

    /// Binds anew what is bound to a pod that something else was done to.
    pub(super) fn settle(&mut self) {
        let names: Vec<String> = self.bound.keys().cloned().collect();
        let candidates: Vec<String> = self.known.iter().cloned().collect();
        self.bind(&names, &candidates);
    }

    /// Binds names to candidates with the same history; as before, where possible. Returns those for which there is none.
    fn bind(&mut self, names: &[String], candidates: &[String]) -> Vec<String> {
        let fits = |pods: &Self, name: &str, candidate: &str| {
            prefix(name).is_some_and(|prefix| candidate.len() == prefix.len() + 5 && candidate.starts_with(prefix))
                && pods.recorded.before(name, Duration::MAX) == pods.played.before(candidate, Duration::MAX)
        };
        let mut taken = BTreeSet::new();
        let mut open = Vec::new();
        for name in names {
            match self.bound.get(name).filter(|bound| candidates.contains(bound) && fits(self, name, bound)) {
                Some(bound) => drop(taken.insert(bound.clone())),
                None => open.push(name),
            }
        }
        let mut unknown = Vec::new();
        for name in open {
            let found = candidates.iter().find(|candidate| !taken.contains(*candidate) && fits(self, name, candidate));
            match found {
                Some(candidate) => {
                    taken.insert(candidate.clone());
                    self.bound.insert(name.clone(), candidate.clone());
                }
                None => unknown.push(name.clone()),
            }
        }
        unknown
    }

    /// A request of the recording as it is to be made in the play.
    pub(super) fn translate(&self, request: &UserRequest, now: &str) -> UserRequest {
        let text = |text: &str| {
            let bound = self.bound.iter().fold(text.to_owned(), |text, (name, here)| text.replace(name, here));
            bound.replace("<now>", now)
        };
        let body = map_texts(&request.body, &text);
        UserRequest { path: text(&request.path), body, ..request.clone() }
    }

    /// Takes note of what a user does to a pod whose name was made up.
    pub(super) fn touch(&mut self, recorded: &UserRequest, recorded_at: Duration, played: &UserRequest, at: Duration) {
        let (Some(name), Some(here)) = (pod_of(&recorded.path), pod_of(&played.path)) else { return };
        if !is_made_up(name) {
            return;
        }
        let sub = recorded.path.rsplit_once(name).map_or("", |(_, sub)| sub);
        let body = map_texts(&without_places(&recorded.body), &|text| text.replace(name, "<name>"));
        let what = format!("user: {} {sub} {body}", recorded.method);
        self.recorded.add(name, recorded_at, what.clone());
        self.played.add(here, at, what);
    }
}

/// Whether a name of the recording stands for one that the server made up.
pub(super) fn is_made_up(name: &str) -> bool {
    name.contains("<sfx")
}

fn prefix(name: &str) -> Option<&str> {
    name.split_once("<sfx").map(|(prefix, _)| prefix)
}

/// A body without where a pod runs: that alone makes no difference to a controller that chooses among pods of one set.
fn without_places(body: &Value) -> Value {
    match body {
        Value::Object(fields) => {
            let kept =
                fields.iter().filter(|(key, _)| !matches!(key.as_str(), "hostIP" | "podIP" | "podIPs" | "target"));
            Value::Object(kept.map(|(key, value)| (key.clone(), without_places(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_places).collect(),
        other => other.clone(),
    }
}

/// A value with each of its texts changed, keys aside.
pub(super) fn map_texts(value: &Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), map_texts(value, change))).collect())
        }
        Value::Array(items) => items.iter().map(|item| map_texts(item, change)).collect(),
        Value::String(text) => Value::String(change(text)),
        other => other.clone(),
    }
}
