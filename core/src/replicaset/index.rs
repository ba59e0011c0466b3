//! The caches that the controller reads, and the indexes it needs in them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::error::Misuse;
use crate::key::Key;
use crate::object::{Object, OwnerReference, Pod, ReplicaSet};
use crate::resource_version::ResourceVersion;
use crate::store::{IndexFunction, Store, namespace_index};

/// The index of pods by the uid of their controller, and of those without one by their namespace. A namespace may have been made to look
/// like a uid, so what is found must be looked at.
const BY_CONTROLLER: &str = "replicaset.pods-by-controller";
/// The index of sets by the uid of their controller.
const SETS_BY_CONTROLLER: &str = "replicaset.sets-by-controller";
/// The index of pods and of sets by namespace.
const BY_NAMESPACE: &str = "replicaset.by-namespace";

/// Adds to a cache of pods the indexes that the controller needs. Indexes that are there already are kept.
///
/// Mirrors `pkg/controller/controller_utils.go`, `AddPodControllerIndexer`.
pub fn index_pods(pods: &mut Store<Pod>) {
    let by_controller: IndexFunction<Pod> = Box::new(|pod, value| {
        match pod.controller() {
            Some(owner) => owner.uid.with_text(value),
            None => value(pod.namespace()),
        }
        Ok(())
    });
    add(pods, BY_CONTROLLER, by_controller);
    add(pods, BY_NAMESPACE, namespace_index());
}

/// Adds to a cache of sets the indexes that the controller needs. Indexes that are there already are kept.
pub fn index_sets(sets: &mut Store<ReplicaSet>) {
    let by_controller: IndexFunction<ReplicaSet> = Box::new(|set, value| {
        if let Some(owner) = &set.meta().controller {
            owner.uid.with_text(value);
        }
        Ok(())
    });
    add(sets, SETS_BY_CONTROLLER, by_controller);
    add(sets, BY_NAMESPACE, namespace_index());
}

fn add<T>(store: &mut Store<T>, name: &str, function: IndexFunction<T>) {
    // These functions refuse nothing; the only error is that the index is there.
    if let Err(Misuse::IndexExists) = store.add_index(name, function) {
        log::trace!("index {name} is there already");
    }
}

/// The caches of pods and sets, prepared by [`index_pods`] and [`index_sets`]. Without the indexes nothing is found.
#[derive(Clone, Copy, Debug)]
pub struct Caches<'a> {
    /// The pods.
    pub pods: &'a Store<Pod>,
    /// The sets of the kind that the controller is for.
    pub sets: &'a Store<ReplicaSet>,
}

impl<'a> Caches<'a> {
    pub(super) fn pods_version(&self) -> &'a ResourceVersion {
        self.pods.resource_version()
    }

    /// The pods whose controller is this set, by namespace, kind, name and uid, and behind them those of its namespace that have none.
    ///
    /// Mirrors `pkg/controller/controller_utils.go`, `FilterPodsByOwner`.
    pub(super) fn owned_and_orphans<'s>(
        &self,
        set: &'s ReplicaSet,
    ) -> impl Iterator<Item = &'a Arc<Pod>> + use<'a, 's> {
        let (kind, namespace, name, uid) = (&*set.kind().resource().kind, set.namespace(), set.name(), &set.meta().uid);
        let is_it = move |owner: &OwnerReference| owner.uid == *uid && *owner.kind == *kind && *owner.name == *name;
        let pods = self.pods;
        let found = |value: &str| pods.by_index(BY_CONTROLLER, value).into_iter().flatten();
        // Pods of one set share their owner reference, so that mostly it is the one that was looked at last.
        let mut last = None;
        let owned = uid.with_text(found).filter(move |pod| {
            let Some(owner) = pod.controller() else { return false };
            let is_last = last.is_some_and(|last| core::ptr::eq(last, owner));
            if !is_last && !is_it(owner) {
                return false;
            }
            last = Some(owner);
            pod.key().is_in(namespace)
        });
        owned.chain(found(namespace).filter(|pod| pod.controller().is_none()))
    }

    /// The set that an owner reference in a namespace names, if it is there with this uid.
    ///
    /// Mirrors `pkg/controller/replicaset/replica_set.go`, `resolveControllerRef`.
    pub(super) fn resolve(&self, namespace: &str, owner: &OwnerReference, kind: &str) -> Option<&'a Arc<ReplicaSet>> {
        if *owner.kind != *kind {
            return None;
        }
        let set = Key::with_text(namespace, &owner.name, |key| self.sets.get(key));
        set.filter(|set| set.meta().uid == owner.uid)
    }

    /// The sets that select an orphan. A pod without labels is selected by none, and a selector that is absent or empty selects none here.
    ///
    /// Mirrors client-go `listers/apps/v1/replicaset_expansion.go`, `GetPodReplicaSets`.
    pub(super) fn selecting(&self, pod: &Pod) -> impl Iterator<Item = &'a Arc<ReplicaSet>> {
        let sets = self.sets.by_index(BY_NAMESPACE, pod.namespace()).into_iter().flatten();
        sets.filter(move |set| {
            !pod.labels().is_empty()
                && set.selector().is_ok_and(|selector| !selector.matches_everything() && selector.matches(pod.labels()))
        })
    }

    /// The pods of all sets that have the same controller as this one: those that their selectors select. None if it has no controller.
    ///
    /// Mirrors `pkg/controller/replicaset/replica_set.go`, `getIndirectlyRelatedPods`.
    pub(super) fn related(&self, set: &ReplicaSet) -> Vec<Arc<Pod>> {
        let Some(owner) = &set.meta().controller else {
            log::debug!("{set:?} has no controller, so no related pods");
            return Vec::new();
        };
        let siblings = owner.uid.with_text(|uid| self.sets.by_index(SETS_BY_CONTROLLER, uid)).into_iter().flatten();
        let siblings: Vec<&Arc<ReplicaSet>> =
            siblings.filter(|sibling| sibling.namespace() == set.namespace()).collect();
        log::debug!("{set:?}: related sets {siblings:?}");
        let pods = self.pods.by_index(BY_NAMESPACE, set.namespace()).into_iter().flatten();
        pods.filter(|pod| {
            siblings.iter().any(|set| set.selector().is_ok_and(|selector| selector.matches(pod.labels())))
        })
        .cloned()
        .collect()
    }
}
