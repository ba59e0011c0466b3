//! Routing: which sets a change of a pod or a set concerns.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::ReplicaSetController;
use super::index::Caches;
use crate::few::Few;
use crate::key::Key;
use crate::object::{Object, OwnerReference, Pod, ReplicaSet};
use crate::time::Now;
use crate::uid::Uid;

/// The sets that are to be synced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Wakeups {
    /// To be queued now. A key may come more than once.
    pub now: Few<Key>,
    /// To be queued after a while.
    pub later: Vec<(Key, Duration)>,
}

/// The handlers. The change must be in the caches when they are told of it, or the sync that follows may not see it.
///
/// They observe expectations, so each change must be told once. Work is in proportion to the number of sets in the namespace for an orphan, else
/// a constant.
impl ReplicaSetController {
    /// A set was added to the cache.
    pub fn handle_set_added(&mut self, set: &ReplicaSet) -> Wakeups {
        log::debug!("adding {set:?}");
        Wakeups::of(set)
    }

    /// A set in the cache has changed.
    ///
    /// Mirrors `pkg/controller/replicaset/replica_set.go`, `updateRS`.
    pub fn handle_set_updated(&mut self, old: &ReplicaSet, new: &ReplicaSet) -> Wakeups {
        if old.meta().uid != new.meta().uid {
            let _ = self.handle_set_deleted(old);
        }
        if old.replicas() != new.replicas() {
            log::debug!("{new:?}: wanted replicas changed from {} to {}", old.replicas(), new.replicas());
        }
        Wakeups::of(new)
    }

    /// A set has gone from the cache; `set` is its last known state.
    ///
    /// Mirrors `pkg/controller/replicaset/replica_set.go`, `deleteRS`.
    pub fn handle_set_deleted(&mut self, set: &ReplicaSet) -> Wakeups {
        log::debug!("deleting {set:?}");
        self.forget(&set.meta().key, &set.meta().uid);
        Wakeups::of(set)
    }

    /// Drops all records of a set that has gone.
    pub(super) fn forget(&mut self, key: &Key, uid: &Uid) {
        self.expectations.delete(uid);
        self.rejections.delete(uid);
        self.guard.clear_uid(key, uid);
    }

    /// A pod was added to the cache.
    ///
    /// Mirrors `pkg/controller/replicaset/replica_set.go`, `addPod`.
    pub fn handle_pod_added(&mut self, pod: &Pod, caches: Caches<'_>, now: Now) -> Wakeups {
        if pod.deletion().is_some() {
            // After a restart a pod may first be seen while it is being deleted.
            return self.handle_pod_deleted(pod, caches);
        }
        let mut wakeups = Wakeups::default();
        match pod.controller() {
            Some(owner) => {
                if let Some(set) = self.resolve(pod, owner, caches) {
                    log::debug!("{pod:?} created for {set:?}");
                    self.expectations.creation_observed(&set.meta().uid);
                    self.rejections.handle_pod(&set.meta().uid, None, pod, now);
                    wakeups.wake(set);
                }
            }
            None => wakeups.wake_all(pod, caches),
        }
        wakeups
    }

    /// A pod in the cache has changed.
    ///
    /// Of a pod that had no controller, the sets are told that selected it and have written to a pod since: one may have adopted it, counted it,
    /// and lost it again, all unseen.
    ///
    /// Mirrors `pkg/controller/replicaset/replica_set.go`, `updatePod`, which does nothing about those.
    pub fn handle_pod_updated(&mut self, old: &Pod, new: &Pod, caches: Caches<'_>, now: Now) -> Wakeups {
        let mut wakeups = Wakeups::default();
        if old.resource_version() == new.resource_version() {
            // A resync: nothing has changed.
            return wakeups;
        }
        let labels_changed = old.labels() != new.labels();
        let owner_changed = old.controller() != new.controller();
        if new.deletion().is_some() {
            // A pod that is being deleted counts as deleted: its replacement need not wait until it has gone.
            wakeups.append(self.handle_pod_deleted(new, caches));
            // Whoever had it may learn only now, and from this alone, that it is no longer theirs.
            if labels_changed || owner_changed {
                wakeups.append(self.handle_pod_deleted(old, caches));
            }
            return wakeups;
        }
        if owner_changed
            && let Some(owner) = old.controller()
            && let Some(set) = self.resolve(old, owner, caches)
        {
            wakeups.wake(set);
        }
        match new.controller() {
            Some(owner) => {
                if let Some(set) = self.resolve(new, owner, caches) {
                    log::debug!("{new:?} of {set:?} has changed");
                    self.rejections.handle_pod(&set.meta().uid, Some(old), new, now);
                    wakeups.wake(set);
                    if !old.is_ready()
                        && new.is_ready()
                        && let Ok(seconds @ 1..) = u64::try_from(set.min_ready_seconds())
                    {
                        wakeups.later.push((set.meta().key.clone(), Duration::from_secs(seconds)));
                    }
                }
            }
            None if labels_changed || owner_changed => wakeups.wake_all(new, caches),
            None => {}
        }
        if old.controller().is_none() {
            // One of them may have adopted it, and lost it again before the cache showed that it had it.
            let wrote = |set: &&Arc<ReplicaSet>| self.guard.has_written_after(&set.meta().key, &old.resource_version());
            caches.selecting(old).filter(wrote).for_each(|set| wakeups.wake(set));
        }
        wakeups
    }

    /// A pod has gone from the cache, or is being deleted; `pod` is its last known state.
    ///
    /// Of a pod that has no controller in that state the sets that select it are told: one of them may have adopted it, counted it, and even
    /// deleted it, though the cache never showed it as theirs.
    ///
    /// Mirrors `pkg/controller/replicaset/replica_set.go`, `deletePod`, which does nothing about such a pod.
    pub fn handle_pod_deleted(&mut self, pod: &Pod, caches: Caches<'_>) -> Wakeups {
        let mut wakeups = Wakeups::default();
        let mut deleted = |set: &ReplicaSet| {
            log::debug!("{pod:?} of {set:?} deleted");
            self.expectations.deletion_observed(&set.meta().uid, pod.key());
            wakeups.wake(set);
        };
        match pod.controller() {
            Some(owner) => {
                let kind = &self.options.kind.resource().kind;
                caches.resolve(pod.namespace(), owner, kind).into_iter().for_each(|set| deleted(set));
            }
            None => caches.selecting(pod).for_each(|set| deleted(set)),
        }
        wakeups
    }

    fn resolve<'a>(&self, pod: &Pod, owner: &OwnerReference, caches: Caches<'a>) -> Option<&'a Arc<ReplicaSet>> {
        caches.resolve(pod.namespace(), owner, &self.options.kind.resource().kind)
    }
}

impl Wakeups {
    fn of(set: &ReplicaSet) -> Self {
        let mut wakeups = Self::default();
        wakeups.wake(set);
        wakeups
    }

    fn wake(&mut self, set: &ReplicaSet) {
        self.now.push(set.meta().key.clone());
    }

    fn wake_all(&mut self, orphan: &Pod, caches: Caches<'_>) {
        for set in caches.selecting(orphan) {
            log::debug!("orphan {orphan:?} matches {set:?}");
            self.wake(set);
        }
    }

    fn append(&mut self, others: Self) {
        self.now.extend(others.now);
        self.later.extend(others.later);
    }
}

#[cfg(test)]
mod tests;
