//! The narrator: a replay in words.

mod call;
mod change;
mod entry;
mod exchange;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use sanskube::election::Standing;
use sanskube::informer::Change;
use sanskube::key::Key;
use sanskube::manager::{Manager, Trace};
use sanskube::replicaset::Decision;
use sanskube::request::CallId;
use sanskube::time::Now;

pub use self::entry::{Entry, Picture, Row, Table, Topic};
use crate::record;
use crate::replay::{Done, Step};

/// Tells what a replay does, step by step. What succeeds again and again and changes nothing (renewals of a lease, pieces of watches) is left out.
#[derive(Debug, Default)]
pub struct Narrator {
    calls: BTreeMap<CallId, call::Told>,
    /// Why pods of a set are created, and why something is done to a pod, by the last decision about it.
    reasons: HashMap<Key, Reason>,
    /// The sets that are being synced, and whether that has decided something.
    busy: HashMap<Key, bool>,
    /// The pods that are known to be ending, or were asked to.
    ending: HashSet<Key>,
    standing: Option<&'static str>,
    step: u64,
    now: Now,
    entries: Vec<Entry>,
}

/// Why something is done.
#[derive(Debug)]
struct Reason {
    /// The set that it is done for.
    set: Key,
    text: String,
}

impl Narrator {
    /// What happened in a step. `manager` is as it is after it.
    pub fn tell(&mut self, step: &Step, manager: &Manager) -> Vec<Entry> {
        (self.step, self.now) = (step.number, step.now);
        match &step.told {
            Some(record::Told::Answer(answer)) => self.tell_answer(answer),
            Some(record::Told::Stop) => self.say(Topic::Stop, Vec::new(), "it is told to stop".into()),
            Some(record::Told::Timeout) | None => {}
        }
        for done in &step.done {
            match done {
                Done::Output(now, output) => {
                    self.now = *now;
                    self.tell_output(output);
                }
                Done::Trace(trace) => self.tell_trace(trace),
            }
        }
        self.tell_standing(manager);
        std::mem::take(&mut self.entries)
    }

    fn tell_trace(&mut self, trace: &Trace) {
        match trace {
            Trace::Began { key, .. } => {
                self.busy.insert(key.clone(), false);
                let row = row(Table::Queue, key.to_string(), Some("being synced".into()));
                self.show(Topic::Sync, vec![key.clone()], String::new(), row);
            }
            Trace::Decided { key, decision, .. } => self.tell_decision(key, decision),
            Trace::Ended { key, result, failures, again_after, .. } => {
                let busy = self.busy.remove(key).unwrap_or_default();
                let again = again_after.map_or_else(String::new, |delay| format!(", again in {delay:?}"));
                let text = match result {
                    Ok(()) if busy => format!("{key}: done{again}"),
                    Ok(()) => format!("{key}: is as it should be{again}"),
                    Err(e) => format!("{key}: failed {}: {e}{again}", times(*failures)),
                };
                let waits = again_after.map(|delay| format!("again in {delay:?}"));
                self.show(Topic::Sync, vec![key.clone()], text, row(Table::Queue, key.to_string(), waits));
            }
            Trace::Pod(change) => {
                let Some(pod) = change.object() else { return };
                let gone = matches!(change, Change::Delete(_));
                let value = if gone { None } else { Some(change::pod_row(pod)) };
                let mut text = change::pod_change(change).unwrap_or_default();
                if (gone || pod.deletion().is_some()) && self.ending.insert(pod.key().clone()) {
                    text.push_str(" (this process did not ask for that)");
                }
                if gone {
                    self.ending.remove(pod.key());
                }
                let row = row(Table::Pods, pod.key().to_string(), value);
                self.show(Topic::Cache, change::pod_keys(change), text, row);
            }
            Trace::Queued { key, after, because, .. } => {
                let (when, value) = if *after == Duration::ZERO {
                    (String::new(), "waiting".into())
                } else {
                    (format!(" in {after:?}"), format!("in {after:?}"))
                };
                let what = if because == key { "it has changed".into() } else { format!("of pod {because}") };
                let text = format!("{key}{when}, because {what}");
                // A key that is being synced waits for its end.
                let keys = vec![key.clone(), because.clone()];
                if self.busy.contains_key(key) {
                    self.say(Topic::Queue, keys, text);
                } else {
                    self.show(Topic::Queue, keys, text, row(Table::Queue, key.to_string(), Some(value)));
                }
            }
            Trace::Set(_, change) => {
                let Some(set) = change.object() else { return };
                let key = set.meta().key.clone();
                let gone = matches!(change, Change::Delete(_));
                let value = if gone { None } else { Some(change::set_row(set)) };
                let text = change::set_change(change).unwrap_or_default();
                let row = row(Table::Sets, key.to_string(), value);
                self.show(Topic::Cache, vec![key], text, row);
            }
            Trace::Trouble { resource, error } => {
                let next = error.step.map_or_else(String::new, |step| format!("; {step}"));
                self.say(Topic::Trouble, Vec::new(), format!("{resource}: {error}{next}"));
            }
            _ => {}
        }
    }

    fn tell_decision(&mut self, key: &Key, decision: &Decision) {
        self.busy.insert(key.clone(), true);
        let mut keys = vec![key.clone()];
        let text = decision.to_string();
        let (about, reason) = match decision {
            Decision::Create { want, have, .. } => (key, format!("it needs {want} and has {have}")),
            Decision::Adopt(pod) | Decision::Release(pod) => (pod.key(), format!("{key}: {text}")),
            Decision::DeletePod(pod, why) => (pod.key(), why.of(pod).to_string()),
            _ => (key, String::new()),
        };
        if !reason.is_empty() {
            self.reasons.insert(about.clone(), Reason { set: key.clone(), text: reason });
        }
        if about != key {
            keys.push(about.clone());
        }
        self.say(Topic::Decision, keys, format!("{key}: {text}"));
    }

    fn tell_standing(&mut self, manager: &Manager) {
        let standing = manager.standing(self.now).map(|standing| match standing {
            Standing::Leading { .. } => "it leads",
            Standing::Lost => "it leads no more",
            Standing::Waiting => "it stands by",
        });
        if standing != self.standing {
            self.standing = standing;
            let value = standing.map(str::to_owned);
            let text = value.clone().unwrap_or_default();
            self.show(Topic::Lease, Vec::new(), text, row(Table::Lease, "standing".into(), value));
        }
    }

    /// Why something is done, in brackets.
    fn reason(&self, about: &Key) -> String {
        self.reasons.get(about).map_or_else(String::new, |reason| format!(" ({})", reason.text))
    }

    /// Adds a line.
    fn say(&mut self, topic: Topic, keys: Vec<Key>, text: String) {
        self.entries.push(Entry { step: self.step, now: self.now, topic, text, keys, row: None });
    }

    /// Adds a change of the picture and, if there is something to say, a line.
    fn show(&mut self, topic: Topic, keys: Vec<Key>, text: String, row: Row) {
        self.entries.push(Entry { step: self.step, now: self.now, topic, text, keys, row: Some(row) });
    }
}

fn row(table: Table, name: String, value: Option<String>) -> Row {
    Row { table, name, value }
}

fn times(count: u32) -> String {
    match count {
        1 => "once".into(),
        count => format!("{count} times"),
    }
}
