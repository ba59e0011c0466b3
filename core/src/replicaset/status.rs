//! The status of a set: worked out from its pods, and written if it has changed.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::answer::{CallFailure, body_of};
use super::decision::Decision;
use super::predicates::is_available;
use crate::object::{Condition, Decode, Labels, LastAnswer, Object, Pod, ReplicaSet, ReplicaSetKind, ReplicaSetStatus};
use crate::request::{JSON, Method, Outcome, Request};
use crate::time::Timestamp;

/// The type of the condition that tells that pods could not be created or deleted.
pub const REPLICA_FAILURE: &str = "ReplicaFailure";

/// How long a failure of another wording is kept back while one is shown: 60 s. Each status that is written brings the set
/// to a sync at once, so two failures that take turns would keep it busy for ever.
const MESSAGE_REFRESH_NANOS: i64 = 60_000_000_000;

/// The status of a set with these active pods, so many terminating ones (none where they are not counted) and this failure to create or
/// delete pods. The observed generation is still the old one.
///
/// Mirrors `pkg/controller/replicaset/replica_set_utils.go`, `calculateStatus`; a failure that is not the one shown takes its place, where upstream
/// keeps the first.
pub fn calculate_status(
    set: &ReplicaSet,
    active: &[Arc<Pod>],
    terminating: Option<usize>,
    failure: Option<&str>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let mut tally = Tally::default();
    active.iter().for_each(|pod| tally.add(set, pod, now));
    ReplicaSetStatus {
        replicas: saturated(tally.active),
        fully_labeled_replicas: saturated(tally.fully_labeled),
        ready_replicas: saturated(tally.ready),
        available_replicas: saturated(tally.available),
        terminating_replicas: terminating.map(saturated),
        observed_generation: set.status().observed_generation,
        conditions: conditions(set, active.len(), failure, now),
    }
}

/// The active pods of a set, counted by what they are.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) active: usize,
    fully_labeled: usize,
    ready: usize,
    available: usize,
    /// Whether the labels are all that the template has.
    labels: LastAnswer,
}

impl Tally {
    /// Counts an active pod of the set.
    pub(super) fn add(&mut self, set: &ReplicaSet, pod: &Pod, now: Timestamp) {
        let has_all = |labels: &Labels| set.template_labels().iter().all(|(key, value)| labels.get(key) == Some(value));
        self.active += 1;
        self.fully_labeled += usize::from(self.labels.get(pod.labels(), has_all));
        self.ready += usize::from(pod.is_ready());
        self.available += usize::from(is_available(pod, set.min_ready_seconds(), now));
    }

    /// Whether the status of the set says all this and so many terminating pods, tells of no failure, and is about the spec as it is.
    pub(super) fn is_told(&self, set: &ReplicaSet, terminating: Option<usize>) -> bool {
        let status = set.status();
        let told = [status.replicas, status.fully_labeled_replicas, status.ready_replicas, status.available_replicas];
        told == [self.active, self.fully_labeled, self.ready, self.available].map(saturated)
            && status.terminating_replicas == terminating.map(saturated)
            && status.observed_generation == set.meta().generation
            && status.condition(REPLICA_FAILURE).is_none()
    }

    /// Whether every pod that is ready has been so for long enough.
    pub(super) fn waits_for_none(&self) -> bool {
        self.ready == self.available
    }
}

fn saturated(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The conditions of a set, with its failure put in, brought up to date, or taken out.
fn conditions(set: &ReplicaSet, active: usize, failure: Option<&str>, now: Timestamp) -> Vec<Condition> {
    let mut conditions = set.status().conditions.clone();
    let Some(message) = failure else {
        conditions.retain(|condition| condition.kind != REPLICA_FAILURE);
        return conditions;
    };
    let reason = match active.cmp(&set.replicas()) {
        core::cmp::Ordering::Less => "FailedCreate",
        core::cmp::Ordering::Equal => "",
        core::cmp::Ordering::Greater => "FailedDelete",
    };
    let new = Condition {
        kind: REPLICA_FAILURE.into(),
        status: "True".into(),
        last_transition_time: Some(now),
        reason: reason.into(),
        message: message.into(),
        others: serde_json::Map::new(),
    };
    match conditions.iter_mut().find(|condition| condition.kind == REPLICA_FAILURE) {
        None => conditions.push(new),
        Some(shown) if is_news(shown, &new, now) => *shown = new,
        Some(_) => {}
    }
    conditions
}

/// Whether a failure is another one than is shown.
fn is_news(shown: &Condition, new: &Condition, now: Timestamp) -> bool {
    let shown_for = shown.last_transition_time.map_or(i64::MAX, |since| now.nanos_since(since));
    shown.status != new.status
        || (shown.reason != new.reason && !new.reason.is_empty())
        || (shown_for >= MESSAGE_REFRESH_NANOS && wording(&shown.message) != wording(&new.message))
}

/// A message without what is quoted in it and without numbers: the name of a pod is another one each time, and a quota tells how much is used.
fn wording(message: &str) -> String {
    let unquoted = message.split('"').step_by(2);
    unquoted.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect()
}

/// Whether a set is ready: its status is about the spec as it is now, and as many pods are available as are wanted.
pub fn is_ready(set: &ReplicaSet) -> bool {
    let status = set.status();
    status.observed_generation >= set.meta().generation
        && usize::try_from(status.available_replicas) == Ok(set.replicas())
}

/// The writing of a status: nothing if it is as it was; else a PUT, and after a failure a fresh GET and one more PUT.
///
/// Mirrors `pkg/controller/replicaset/replica_set_utils.go`, `updateReplicaSetStatus`. The second PUT carries the generation that the status was
/// worked out for, and is not made if the set that was read is another one of the same name.
#[derive(Debug)]
pub struct StatusUpdate {
    set: Arc<ReplicaSet>,
    status: ReplicaSetStatus,
    state: State,
    in_flight: bool,
}

#[derive(Debug)]
enum State {
    FirstPut,
    Get,
    SecondPut,
    Done(Result<Arc<ReplicaSet>, CallFailure>),
}

impl StatusUpdate {
    /// The writing of `status` to `set` as it is in the cache.
    pub fn new(set: Arc<ReplicaSet>, mut status: ReplicaSetStatus) -> Self {
        let old = set.status();
        status.observed_generation = old.observed_generation;
        let state = if status == *old && old.observed_generation == set.meta().generation {
            State::Done(Ok(Arc::clone(&set)))
        } else {
            State::FirstPut
        };
        status.observed_generation = set.meta().generation;
        Self { set, status, state, in_flight: false }
    }

    /// The next request, if one is to be made now.
    pub fn poll_request(&mut self) -> Option<Request> {
        if self.in_flight {
            return None;
        }
        let path =
            |subresource| self.set.kind().resource().object_path(self.set.namespace(), self.set.name(), subresource);
        let request = match self.state {
            State::Get => Request::get(path("")),
            State::FirstPut | State::SecondPut => Request {
                method: Method::Put,
                path: path("status"),
                content_type: JSON,
                body: self.set.to_json_with_status(&self.status),
            },
            State::Done(_) => return None,
        };
        self.in_flight = true;
        Some(request)
    }

    /// Takes the outcome of the request that was made.
    pub fn handle_outcome(&mut self, outcome: Outcome) {
        self.in_flight = false;
        let answer = body_of(outcome).and_then(|body| {
            let set = ReplicaSet::decode(&body, self.set.kind().resource()).map_err(CallFailure::Unreadable)?;
            if set.meta().uid == self.set.meta().uid {
                Ok(Arc::new(set))
            } else {
                Err(CallFailure::Replaced { found: set.uid(), wanted: self.set.uid() })
            }
        });
        match (&self.state, answer) {
            (State::FirstPut, Err(e)) => {
                log::debug!("{:?}: updating status: {e}; reading the set afresh", self.set);
                self.state = State::Get;
            }
            (State::Get, Ok(fresh)) => {
                self.set = fresh;
                self.state = State::SecondPut;
            }
            (State::Done(_), _) => {}
            (_, answer) => self.state = State::Done(answer),
        }
    }

    /// What is to be written; none if nothing is.
    pub fn decision(&self) -> Option<Decision> {
        match self.state {
            State::Done(_) => None,
            _ => Some(Decision::WriteStatus { old: self.set.status().clone(), new: self.status.clone() }),
        }
    }

    /// What came of it, once it has ended: the set as it is now, or why it could not be written.
    pub fn result(&self) -> Option<&Result<Arc<ReplicaSet>, CallFailure>> {
        match &self.state {
            State::Done(result) => Some(result),
            _ => None,
        }
    }
}

/// Whether sets of a kind count their terminating pods.
///
/// Mirrors `pkg/controller/replication/replication_controller.go`, `EnableStatusTerminatingReplicas`.
pub(super) fn counts_terminating(kind: ReplicaSetKind) -> bool {
    kind == ReplicaSetKind::ReplicaSet
}

#[cfg(test)]
mod tests;
