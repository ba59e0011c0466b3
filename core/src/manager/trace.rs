//! The trace: what a manager tells of its work, for those who want to know why it did something.

use alloc::collections::VecDeque;
use core::time::Duration;

use super::Manager;
use crate::informer::Change;
use crate::key::Key;
use crate::machine::Fed;
use crate::object::{Decode, Pod, ReplicaSet, ReplicaSetKind};
use crate::reflector::WatchError;
use crate::replicaset::{Decision, Sync, SyncFailure};

/// Something that a manager did or came to know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Trace {
    /// A sync of a set has begun.
    Began {
        /// The kind of the set.
        kind: ReplicaSetKind,
        /// Its key.
        key: Key,
    },
    /// A sync has decided something.
    Decided {
        /// The kind of the set.
        kind: ReplicaSetKind,
        /// Its key.
        key: Key,
        /// What it has decided.
        decision: Decision,
    },
    /// A sync has ended.
    Ended {
        /// The kind of the set.
        kind: ReplicaSetKind,
        /// Its key.
        key: Key,
        /// Whether it went well.
        result: Result<(), SyncFailure>,
        /// How often syncs of it have failed in a row.
        failures: u32,
        /// When it is synced again if nothing else happens.
        again_after: Option<Duration>,
    },
    /// The cache of pods has changed.
    Pod(Change<Pod>),
    /// A set is to be synced.
    Queued {
        /// The kind of the set.
        kind: ReplicaSetKind,
        /// Its key.
        key: Key,
        /// Not before this time has passed.
        after: Duration,
        /// The pod, or the set itself, whose change is the reason.
        because: Key,
    },
    /// The cache of sets of a kind has changed.
    Set(ReplicaSetKind, Change<ReplicaSet>),
    /// A list or watch has failed.
    Trouble {
        /// The resource, such as `pods`.
        resource: &'static str,
        /// What happened, and what is done about it.
        error: WatchError,
    },
}

impl Manager {
    /// From now on notes what it does, to be taken by [`poll_trace`](Self::poll_trace) after each call: what is not taken piles up. What
    /// it does is the same with and without.
    pub fn start_trace(&mut self) {
        self.trace.start();
        self.pods.start_listening();
        for worker in &mut self.workers {
            worker.trace.start();
            worker.sets.start_listening();
        }
    }

    /// The next thing that it has noted: of each controller in order; what concerns the cache of pods comes first.
    pub fn poll_trace(&mut self) -> Option<Trace> {
        let trouble = trouble("pods", &mut self.pods).or_else(|| {
            self.workers.iter_mut().find_map(|worker| trouble(resource_of(worker.kind()), &mut worker.sets))
        });
        trouble.or_else(|| self.trace.poll()).or_else(|| self.workers.iter_mut().find_map(|worker| worker.trace.poll()))
    }
}

fn trouble<T: Decode>(resource: &'static str, feed: &mut Fed<T>) -> Option<Trace> {
    feed.poll_trouble().map(|error| Trace::Trouble { resource, error })
}

fn resource_of(kind: ReplicaSetKind) -> &'static str {
    &kind.resource().plural
}

/// What was noted and not taken yet; nothing at all unless somebody wants to know.
#[derive(Debug, Default)]
pub(super) struct Tracer(Option<VecDeque<Trace>>);

impl Tracer {
    fn start(&mut self) {
        self.0.get_or_insert_default();
    }

    /// Notes something, which is worked out only if somebody wants to know.
    pub(super) fn note(&mut self, what: impl FnOnce() -> Trace) {
        if let Some(noted) = &mut self.0 {
            noted.push_back(what());
        }
    }

    /// Notes what a sync has decided.
    pub(super) fn note_decisions(&mut self, kind: ReplicaSetKind, key: &Key, sync: &mut Sync) {
        while let Some(decision) = sync.poll_decision() {
            self.note(|| Trace::Decided { kind, key: key.clone(), decision });
        }
    }

    fn poll(&mut self) -> Option<Trace> {
        self.0.as_mut()?.pop_front()
    }
}
