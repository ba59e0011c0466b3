//! The work of a sync: what it knows of its set, and what is to be done next.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::ReplicaSetController;
use super::burst::{Creations, Deletions, Victim};
use super::claim::{Bond, Bonds, Claim};
use super::decision::{Decision, Decisions, Why};
use super::guard::Cache;
use super::index::Caches;
use super::predicates::{is_active, is_terminating, next_availability_check};
use super::status::{StatusUpdate, Tally, calculate_status, counts_terminating};
use super::sync::{Finish, SyncFailure};
use super::template::{controller_reference, create_request};
use super::victims::{self, ScaleDown};
use crate::key::Key;
use crate::object::selector::Selector;
use crate::object::{Object, Pod, ReplicaSet};
use crate::resource_version::ResourceVersion;
use crate::time::{Now, Timestamp};

/// What a sync that is not finished knows.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) set: Arc<ReplicaSet>,
    /// Whether pods may be created or deleted.
    manage: bool,
    /// The active pods of the set, once it has claimed them.
    pub(super) active: Vec<Arc<Pod>>,
    /// The versions that adopted pods have now.
    pub(super) adopted: BTreeMap<Key, ResourceVersion>,
    terminating: usize,
    pub(super) failure: Option<SyncFailure>,
    again_after: Option<Duration>,
    pub(super) step: Step,
}

#[derive(Debug)]
pub(super) enum Step {
    Claim(Claim),
    Create(Creations),
    Delete(Deletions),
    Status(StatusUpdate, Timestamp),
}

impl ReplicaSetController {
    /// The part before the first request. None if there is nothing to do.
    pub(super) fn look(
        &mut self,
        key: &Key,
        caches: Caches<'_>,
        now: Now,
        decisions: &mut Decisions,
    ) -> Result<Option<Work>, SyncFailure> {
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
        if !satisfied && let Some(awaited) = self.expectations.get(uid) {
            let (creations, deletions) = (awaited.creations.max(0), awaited.deletions.max(0));
            decisions.note(set, Decision::AwaitPods { creations, deletions });
        }
        let selector = match set.selector() {
            Ok(selector) => selector,
            Err(e) => {
                log::error!("{set:?}: invalid selector: {e}");
                return Ok(None);
            }
        };
        if uid.is_empty() {
            return Err(SyncFailure::NoUid);
        }
        let manage = satisfied && set.meta().deletion.is_none();
        if is_settled(set, selector, manage, caches, now.wall) {
            self.guard.wrote_at(key, uid, Cache::Sets, set.resource_version());
            return Ok(None);
        }
        let mut terminating = 0;
        let mut active = Vec::new();
        for pod in caches.owned_and_orphans(set) {
            terminating += usize::from(counts_as_terminating(set, selector, pod));
            if is_active(pod) {
                active.push(Arc::clone(pod));
            }
        }
        Ok(Some(Work {
            set: Arc::clone(set),
            manage,
            active: Vec::new(),
            adopted: BTreeMap::new(),
            terminating,
            failure: None,
            again_after: None,
            step: Step::Claim(Claim::new(Arc::clone(set), selector.clone(), active)),
        }))
    }
}

/// Whether a sync would ask for nothing: the set has just the pods it wants, none to adopt or release and none to wait for, and its
/// status says so. That is how nearly every sync ends, so it is found out in one walk that holds nothing.
fn is_settled(set: &ReplicaSet, selector: &Selector, manage: bool, caches: Caches<'_>, now: Timestamp) -> bool {
    let (mut bonds, mut tally, mut terminating) = (Bonds::default(), Tally::default(), 0);
    for pod in caches.owned_and_orphans(set) {
        terminating += usize::from(counts_as_terminating(set, selector, pod));
        if !is_active(pod) {
            continue;
        }
        match bonds.of(set, selector, pod) {
            Bond::Adoptable | Bond::Stray => return false,
            Bond::Claimed => tally.add(set, pod, now),
            Bond::None => {}
        }
    }
    let as_wanted = !manage || tally.active == set.replicas();
    as_wanted && tally.waits_for_none() && tally.is_told(set, counts_terminating(set.kind()).then_some(terminating))
}

fn counts_as_terminating(set: &ReplicaSet, selector: &Selector, pod: &Pod) -> bool {
    is_terminating(pod)
        && selector.matches(pod.labels())
        && pod.controller().is_some_and(|owner| owner.uid == set.meta().uid)
}

impl Work {
    /// Too few pods or too many: the step that does something about it. None if there is nothing to do, or nothing can be done.
    ///
    /// Mirrors `manageReplicas`.
    pub(super) fn manage(
        &mut self,
        controller: &mut ReplicaSetController,
        caches: Caches<'_>,
        now: Now,
        decisions: &mut Decisions,
    ) -> Option<Step> {
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
                decisions.note(set, Decision::Pause(pause));
                self.again_after = Some(pause);
                return None;
            }
            let count = (want - have).min(burst);
            decisions.note(set, Decision::Create { want, have, count });
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
            decisions.note(set, Decision::Delete { want, have, count });
            let victims = self.victims(controller, caches, count, now.wall, decisions);
            let keys = victims.iter().map(|pod| pod.key().clone());
            controller.expectations.expect_deletions(uid, keys, now.instant);
            let victims = victims.into_iter().map(|pod| {
                let version = self.adopted.get(pod.key()).cloned().unwrap_or_else(|| pod.resource_version());
                Victim { pod, version }
            });
            return Some(Step::Delete(Deletions::new(victims.collect())));
        }
        None
    }

    fn victims(
        &self,
        controller: &ReplicaSetController,
        caches: Caches<'_>,
        count: usize,
        now: Timestamp,
        decisions: &mut Decisions,
    ) -> Vec<Arc<Pod>> {
        let (victims, why) = if count == self.active.len() {
            (self.active.clone(), alloc::vec![Why::AllGo; count])
        } else {
            let related = caches.related(&self.set);
            let scale_down = ScaleDown { set: &self.set, pods: &self.active, related: &related, count, now };
            let choice = &controller.options.victims;
            let victims = victims::checked(&scale_down, choice.choose(&scale_down));
            let why = choice.explain(&scale_down, &victims);
            (victims, why)
        };
        for (pod, why) in victims.iter().zip(why) {
            decisions.note(&self.set, Decision::DeletePod(Arc::clone(pod), why));
        }
        victims
    }

    pub(super) fn begin_status(&mut self, now: Now, decisions: &mut Decisions) {
        let terminating = counts_terminating(self.set.kind()).then_some(self.terminating);
        let failure = match &self.failure {
            Some(SyncFailure::Manage(failure)) => Some(&**failure),
            _ => None,
        };
        let status = calculate_status(&self.set, &self.active, terminating, failure, now.wall);
        let update = StatusUpdate::new(Arc::clone(&self.set), status);
        if let Some(decision) = update.decision() {
            decisions.note(&self.set, decision);
        }
        self.step = Step::Status(update, now.wall);
    }

    /// What is to be done with the key after the status was worked out at `evaluated` and the set is as `written`.
    pub(super) fn finished(&mut self, written: &ReplicaSet, evaluated: Timestamp, now: Now) -> Finish {
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
                .unwrap_or(Duration::MAX)
                // No pod has longer to wait than that: one that seems to is ahead of a clock that is slow, and may be set right.
                .min(Duration::from_secs(whole));
            self.again_after = Some(self.again_after.map_or(check, |again| again.min(check)));
        }
        Finish { result: Ok(()), again_after: self.again_after }
    }
}
