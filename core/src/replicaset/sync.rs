//! The sync: one look at one set, and what is done about it.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::ReplicaSetController;
use super::answer::{CallFailure, body_of, written_meta};
use super::burst::{Creations, Deletions};
use super::claim::Claim;
use super::guard::{Behind, Cache};
use super::index::Caches;
use super::predicates::{is_active, is_terminating, next_availability_check};
use super::status::{StatusUpdate, calculate_status, counts_terminating};
use super::template::{controller_reference, create_request};
use super::victims::{self, ScaleDown};
use crate::key::Key;
use crate::object::selector::Selector;
use crate::object::{Object, Pod, ReplicaSet};
use crate::recorder::{Event, EventType, ObjectReference};
use crate::request::{Outcome, Request};
use crate::resource_version::ResourceVersion;
use crate::time::{Now, Timestamp};

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
}

#[derive(Debug)]
enum Phase {
    Working(Work),
    Finished(Finish),
}

/// What a sync that is not finished knows.
#[derive(Debug)]
struct Work {
    set: Arc<ReplicaSet>,
    /// Whether pods may be created or deleted.
    manage: bool,
    /// The active pods of the set, once it has claimed them.
    active: Vec<Arc<Pod>>,
    terminating: usize,
    failure: Option<SyncFailure>,
    again_after: Option<Duration>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Claim(Claim),
    Create(Creations),
    Delete(Deletions),
    Status(StatusUpdate, Timestamp),
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
        };
        match self.look(key, caches, now) {
            Ok(Some(work)) => {
                sync.phase = Phase::Working(work);
                sync.advance(self, caches, now);
            }
            Ok(None) => {}
            Err(failure) => sync.fail(failure),
        }
        sync
    }

    /// The part before the first request. None if there is nothing to do.
    fn look(&mut self, key: &Key, caches: Caches<'_>, now: Now) -> Result<Option<Work>, SyncFailure> {
        // Before the set is looked up: a cache that is behind may show a set that has gone.
        self.guard
            .ensure_ready(key, caches.pods_version(), caches.sets.resource_version())
            .map_err(SyncFailure::Behind)?;
        let Some(set) = caches.sets.get(key.as_str()).filter(|_| !key.namespace().is_empty()) else {
            log::debug!("{key} has been deleted");
            self.guard.clear(key);
            return Ok(None);
        };
        let uid = &set.meta().uid;
        // Before the pods are listed: what is observed after this must be in the list.
        let satisfied = self.expectations.are_satisfied(uid, caches.pods_version(), now.instant);
        let selector: Selector = match set.selector() {
            Ok(selector) => selector.clone(),
            Err(e) => {
                log::error!("{set:?}: invalid selector: {e}");
                return Ok(None);
            }
        };
        if uid.is_empty() {
            return Err(SyncFailure::NoUid);
        }
        let pods = caches.owned_and_orphans(set);
        let terminating = pods
            .iter()
            .filter(|pod| is_terminating(pod) && selector.matches(pod.labels()))
            .filter(|pod| pod.controller().is_some_and(|owner| owner.uid == *uid))
            .count();
        let active: Vec<Arc<Pod>> = pods.into_iter().filter(|pod| is_active(pod)).collect();
        Ok(Some(Work {
            set: Arc::clone(set),
            manage: satisfied && set.meta().deletion.is_none(),
            active: Vec::new(),
            terminating,
            failure: None,
            again_after: None,
            step: Step::Claim(Claim::new(Arc::clone(set), selector, active)),
        }))
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
            Step::Claim(claim) => (claim.poll_request()?, None),
            Step::Create(creations) => (creations.poll_request()?, None),
            Step::Delete(deletions) => {
                let (request, pod) = deletions.poll_request()?;
                log::info!("{:?}: deleting {pod:?}", work.set);
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
        let Work { set, step, .. } = work;
        let uid = &set.meta().uid;
        match step {
            Step::Claim(claim) => {
                if let Some(version) = claim.handle_outcome(outcome) {
                    controller.wrote_pod(set, version);
                }
            }
            Step::Create(creations) => {
                let answer = body_of(outcome);
                creations.slow_start.handle_outcome(answer.is_ok());
                match answer {
                    Ok(body) => {
                        let meta = written_meta(&body);
                        let name = meta.as_ref().map_or("(name unknown)", |meta| meta.name());
                        log::debug!("{set:?}: created pod {name}");
                        self.events.push_back(event(
                            set,
                            EventType::Normal,
                            "SuccessfulCreate",
                            alloc::format!("Created pod: {name}"),
                        ));
                        let version = meta.map_or(ResourceVersion::NONE, |meta| meta.resource_version);
                        controller.expectations.wrote_at(uid, &version);
                        controller.wrote_pod(set, version);
                    }
                    Err(e) => {
                        controller.expectations.creation_observed(uid);
                        if e.is_namespace_terminating() {
                            log::debug!("{set:?}: not creating pods, its namespace is being deleted");
                        } else {
                            log::info!("{set:?}: could not create a pod, expecting one less: {e}");
                            self.events.push_back(event(
                                set,
                                EventType::Warning,
                                "FailedCreate",
                                alloc::format!("Error creating: {e}"),
                            ));
                            creations.failure.get_or_insert_with(|| e.to_string());
                        }
                    }
                }
            }
            Step::Delete(deletions) => {
                let pod = victim.expect("every deletion in flight has its pod");
                deletions.handle_end();
                match body_of(outcome) {
                    Ok(body) => {
                        let version = written_meta(&body).map_or(ResourceVersion::NONE, |meta| meta.resource_version);
                        controller.expectations.wrote_at(uid, &version);
                        self.events.push_back(event(
                            set,
                            EventType::Normal,
                            "SuccessfulDelete",
                            alloc::format!("Deleted pod: {}", pod.name()),
                        ));
                    }
                    Err(e) => {
                        controller.expectations.deletion_observed(uid, pod.key());
                        if e.is_not_found() {
                            log::debug!("{set:?}: {pod:?} is gone already");
                        } else if e.is_conflict() {
                            log::info!("{set:?}: {pod:?} has changed, not deleting it: {e}");
                            deletions.stale = true;
                        } else {
                            log::info!("{set:?}: could not delete {pod:?}, expecting one less: {e}");
                            self.events.push_back(event(
                                set,
                                EventType::Warning,
                                "FailedDelete",
                                alloc::format!("Error deleting: {e}"),
                            ));
                            deletions.failure.get_or_insert_with(|| alloc::format!("unable to delete pods: {e}"));
                        }
                    }
                }
            }
            Step::Status(update, _) => update.handle_outcome(outcome),
        }
        self.advance(controller, caches, now);
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
                    match work.manage(controller, caches, now) {
                        Some(step) => work.step = step,
                        None => work.begin_status(now),
                    }
                }
                Step::Create(creations) if creations.slow_start.is_done() => {
                    let skipped = creations.slow_start.skipped();
                    if skipped > 0 {
                        log::info!("{:?}: slow start failed, not creating {skipped} more pods", work.set);
                        controller.expectations.lower(&uid, i64::try_from(skipped).unwrap_or(i64::MAX), 0);
                    }
                    work.failure = creations.failure.take().map(SyncFailure::Manage);
                    work.begin_status(now);
                }
                Step::Delete(deletions) if deletions.is_done() => {
                    let stale = deletions.stale.then_some(SyncFailure::StalePods);
                    work.failure = deletions.failure.take().map(SyncFailure::Manage).or(stale);
                    work.begin_status(now);
                }
                Step::Status(update, evaluated) => match (update.result().cloned(), *evaluated) {
                    (None, _) => return,
                    (Some(Err(e)), _) => return self.fail(SyncFailure::Status(e)),
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

impl Work {
    /// Too few pods or too many: the step that does something about it. None if there is nothing to do, or nothing can be done.
    ///
    /// Mirrors `manageReplicas`.
    fn manage(&mut self, controller: &mut ReplicaSetController, caches: Caches<'_>, now: Now) -> Option<Step> {
        if !self.manage {
            return None;
        }
        let (set, burst) = (&self.set, controller.options.burst);
        let (have, want) = (self.active.len(), set.replicas());
        let uid = &set.meta().uid;
        if have < want {
            if controller.options.slow_down_rejected
                && let Some(pause) = controller.rejections.pause(uid, now.instant)
            {
                log::info!("{set:?}: its new pods fail at once, creating no more for {pause:?}");
                self.again_after = Some(pause);
                return None;
            }
            let count = (want - have).min(burst);
            log::info!("{set:?}: too few replicas, need {want}, creating {count}");
            return match create_request(set.namespace(), set, &controller_reference(set)) {
                Ok(request) => {
                    controller.expectations.expect_creations(uid, count, now.instant);
                    controller.rejections.handle_creation(uid);
                    Some(Step::Create(Creations::new(count, request)))
                }
                Err(fault) => {
                    controller.expectations.expect_creations(uid, 0, now.instant);
                    self.failure = Some(SyncFailure::Manage(fault.to_string()));
                    None
                }
            };
        }
        if have > want {
            let count = (have - want).min(burst);
            log::info!("{set:?}: too many replicas, need {want}, deleting {count}");
            let victims = self.victims(controller, caches, count, now.wall);
            let keys = victims.iter().map(|pod| pod.key().clone());
            controller.expectations.expect_deletions(uid, keys, now.instant);
            return Some(Step::Delete(Deletions::new(victims)));
        }
        None
    }

    fn victims(
        &self,
        controller: &ReplicaSetController,
        caches: Caches<'_>,
        count: usize,
        now: Timestamp,
    ) -> Vec<Arc<Pod>> {
        if count == self.active.len() {
            return self.active.clone();
        }
        let related = caches.related(&self.set);
        let scale_down = ScaleDown { set: &self.set, pods: &self.active, related: &related, count, now };
        victims::checked(&scale_down, controller.options.victims.choose(&scale_down))
    }

    fn begin_status(&mut self, now: Now) {
        let terminating = counts_terminating(self.set.kind()).then_some(self.terminating);
        let failure = match &self.failure {
            Some(SyncFailure::Manage(failure)) => Some(&**failure),
            _ => None,
        };
        let status = calculate_status(&self.set, &self.active, terminating, failure, now.wall);
        self.step = Step::Status(StatusUpdate::new(Arc::clone(&self.set), status), now.wall);
    }

    /// What is to be done with the key after the status was worked out at `evaluated` and the set is as `written`.
    fn finished(&mut self, written: &ReplicaSet, evaluated: Timestamp, now: Now) -> Finish {
        if let Some(failure) = self.failure.take() {
            log::debug!("{:?}: {failure}", self.set);
            return Finish { result: Err(failure), again_after: self.again_after };
        }
        let status = written.status();
        if let Ok(whole @ 1..) = u64::try_from(written.min_ready_seconds())
            && status.ready_replicas != status.available_replicas
        {
            let pods = self.active.iter().map(|pod| &**pod);
            let check = next_availability_check(pods, written.min_ready_seconds(), evaluated, now.wall)
                .unwrap_or(Duration::from_secs(whole));
            self.again_after = Some(self.again_after.map_or(check, |again| again.min(check)));
        }
        Finish { result: Ok(()), again_after: self.again_after }
    }
}

impl ReplicaSetController {
    /// Notes that a pod of a set now has this version, if the answer told.
    fn wrote_pod(&mut self, set: &ReplicaSet, version: ResourceVersion) {
        if !version.is_none() {
            self.guard.wrote_at(&set.meta().key, &set.meta().uid, Cache::Pods, version);
        }
    }
}

fn event(set: &ReplicaSet, event_type: EventType, reason: &'static str, message: String) -> Event {
    let resource = set.kind().resource();
    Event {
        object: ObjectReference {
            kind: resource.kind.clone(),
            namespace: set.namespace().into(),
            name: set.name().into(),
            uid: set.uid(),
            api_version: resource.api_version().into_owned(),
            resource_version: set.resource_version().to_string(),
        },
        event_type,
        reason: Cow::Borrowed(reason),
        message,
    }
}

#[cfg(test)]
mod tests;
