//! The sync: one look at one set, and what is done about it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::ReplicaSetController;
use super::answer::CallFailure;
use super::decision::{Decision, Decisions};
use super::guard::{Behind, Cache};
use super::index::Caches;
use super::work::{Step, Work};
use crate::key::Key;
use crate::object::{Object, Pod};
use crate::recorder::Event;
use crate::request::{Outcome, Request};
use crate::time::Now;

/// The name of one request of a sync, unique within the sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

/// What is to be done with the key of a set whose sync has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// Whether all went well: then its failures are forgotten. Else it is queued again after a back-off.
    pub result: Result<(), SyncFailure>,
    /// When it is to be looked at again in any case.
    pub again_after: Option<Duration>,
}

/// Why a sync is to be tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncFailure {
    /// A cache is older than what an earlier sync has written.
    Behind(Behind),
    /// Pods could not be adopted or released.
    Claim(Vec<String>),
    /// Pods could not be created or deleted.
    Manage(String),
    /// The set has no uid, so nothing can be its own.
    NoUid,
    /// A pod to be deleted is not as the cache shows it.
    StalePods,
    /// The status could not be written.
    Status(CallFailure),
}

impl fmt::Display for SyncFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Behind(behind) => behind.fmt(f),
            Self::Claim(failures) => f.write_str(&failures.join("; ")),
            Self::Manage(failure) => f.write_str(failure),
            Self::NoUid => f.write_str("the set has no uid"),
            Self::StalePods => f.write_str("a pod to be deleted has changed since the cache saw it"),
            Self::Status(failure) => failure.fmt(f),
        }
    }
}

/// One look at one set, as a state machine of requests and outcomes.
///
/// Phases, as upstream: the guard, expectations, listing the pods, claim, creating or deleting, status. Of the pods created or deleted at one
/// time many requests may be in flight; whoever sends them may hold back as many as it likes.
///
/// A sync that is dropped half-way leaves its expectations behind; they are met by what the cache shows, or time out.
///
/// Mirrors `pkg/controller/replicaset/replica_set.go`, `syncReplicaSet` and `manageReplicas`.
#[derive(Debug)]
pub struct Sync {
    key: Key,
    phase: Phase,
    in_flight: BTreeMap<Ticket, Option<Arc<Pod>>>,
    tickets: u32,
    events: VecDeque<Event>,
    decisions: Decisions,
}

#[derive(Debug)]
enum Phase {
    Working(Box<Work>),
    Finished(Finish),
}

impl ReplicaSetController {
    /// Begins a sync of the set that `key` names. Only one sync of a key may be under way.
    ///
    /// Work is in proportion to the pods of the set and the orphans of its namespace.
    pub fn begin_sync(&mut self, key: &Key, caches: Caches<'_>, now: Now) -> Sync {
        let mut sync = Sync {
            key: key.clone(),
            phase: Phase::Finished(Finish { result: Ok(()), again_after: None }),
            in_flight: BTreeMap::new(),
            tickets: 0,
            events: VecDeque::new(),
            decisions: Decisions::default(),
        };
        match self.look(key, caches, now, &mut sync.decisions) {
            Ok(Some(work)) => {
                sync.phase = Phase::Working(Box::new(work));
                sync.advance(self, caches, now);
            }
            Ok(None) => {}
            Err(failure) => sync.fail(failure),
        }
        sync
    }
}

impl Sync {
    /// The key of the set.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The next request, if one may be sent now. To be called until there is none: several may be in flight.
    pub fn poll_request(&mut self) -> Option<(Ticket, Request)> {
        let Phase::Working(work) = &mut self.phase else { return None };
        let (request, pod) = match &mut work.step {
            Step::Claim(claim) => {
                let request = claim.poll_request()?;
                if let Some(decision) = claim.decision() {
                    self.decisions.note(&work.set, decision);
                }
                (request, None)
            }
            Step::Create(creations) => (creations.poll_request()?, None),
            Step::Delete(deletions) => {
                let (request, pod) = deletions.poll_request()?;
                (request, Some(pod))
            }
            Step::Status(update, _) => (update.poll_request()?, None),
        };
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        self.in_flight.insert(ticket, pod);
        Some((ticket, request))
    }

    /// The next event to be recorded, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next thing that it has decided since this was asked last, in their order.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.poll()
    }

    /// What is to be done with the key, once the sync has ended. Events may be left.
    pub fn finish(&self) -> Option<&Finish> {
        match &self.phase {
            Phase::Finished(finish) => Some(finish),
            Phase::Working(_) => None,
        }
    }

    /// Takes the outcome of a request. `now` is when it came. An outcome of a request that is not in flight is ignored.
    ///
    /// Work is a constant, but for the outcome that ends a phase: then it is in proportion to the pods of the set, or of its namespace if
    /// the set has a controller and too many pods.
    pub fn handle_outcome(
        &mut self,
        controller: &mut ReplicaSetController,
        caches: Caches<'_>,
        ticket: Ticket,
        outcome: Outcome,
        now: Now,
    ) {
        let Some(victim) = self.in_flight.remove(&ticket) else { return };
        let Phase::Working(work) = &mut self.phase else { return };
        let Work { set, step, adopted, .. } = &mut **work;
        let uid = set.meta().uid.clone();
        match step {
            Step::Claim(claim) => {
                if let Some((pod, version)) = claim.handle_outcome(outcome) {
                    controller.wrote_pod(set, version.clone());
                    adopted.insert(pod.key().clone(), version);
                }
            }
            Step::Create(creations) => creations.handle_outcome(controller, set, outcome, &mut self.events),
            Step::Delete(deletions) => {
                let pod = victim.expect("every deletion in flight has its pod");
                deletions.handle_outcome(controller, set, &pod, outcome, &mut self.events);
            }
            Step::Status(update, _) => update.handle_outcome(outcome),
        }
        self.advance(controller, caches, now);
        let is_known = || caches.sets.get(self.key.as_str()).is_some_and(|set| set.meta().uid == uid);
        if self.finish().is_some() && !is_known() {
            // The set has gone from the cache meanwhile, and what was noted for it since then is of no use to anybody.
            controller.forget(&self.key, &uid);
        }
    }

    /// Goes on to the phase that has something to wait for.
    fn advance(&mut self, controller: &mut ReplicaSetController, caches: Caches<'_>, now: Now) {
        while let Phase::Working(work) = &mut self.phase {
            let uid = work.set.meta().uid.clone();
            match &mut work.step {
                Step::Claim(claim) if claim.is_done() => {
                    let (active, failures) = claim.take();
                    if !failures.is_empty() {
                        return self.fail(SyncFailure::Claim(failures));
                    }
                    work.active = active;
                    match work.manage(controller, caches, now, &mut self.decisions) {
                        Some(step) => work.step = step,
                        None => work.begin_status(now, &mut self.decisions),
                    }
                }
                Step::Create(creations) if creations.is_done() => {
                    let skipped = creations.skipped();
                    if skipped > 0 {
                        self.decisions.note(&work.set, Decision::SkipCreations(skipped));
                        controller.expectations.lower(&uid, i64::try_from(skipped).unwrap_or(i64::MAX), 0);
                    }
                    work.failure = creations.failure.take().map(SyncFailure::Manage);
                    work.begin_status(now, &mut self.decisions);
                }
                Step::Delete(deletions) if deletions.is_done() => {
                    let stale = deletions.stale.then_some(SyncFailure::StalePods);
                    work.failure = deletions.failure.take().map(SyncFailure::Manage).or(stale);
                    work.begin_status(now, &mut self.decisions);
                }
                Step::Status(update, evaluated) => match (update.result().cloned(), *evaluated) {
                    (None, _) => return,
                    (Some(Err(e)), _) => {
                        if e.is_not_found() || matches!(e, CallFailure::Replaced { .. }) {
                            controller.rejections.handle_gone(&uid, now.instant);
                        }
                        return self.fail(SyncFailure::Status(e));
                    }
                    (Some(Ok(written)), evaluated) => {
                        controller.guard.wrote_at(&self.key, &uid, Cache::Sets, written.resource_version());
                        self.phase = Phase::Finished(work.finished(&written, evaluated, now));
                    }
                },
                _ => return,
            }
        }
    }

    fn fail(&mut self, failure: SyncFailure) {
        log::debug!("{}: {failure}", self.key);
        self.phase = Phase::Finished(Finish { result: Err(failure), again_after: None });
    }
}

#[cfg(test)]
mod tests;
