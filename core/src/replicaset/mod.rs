//! The ReplicaSet controller: keeps as many pods alive as each set wants.
//!
//! [`ReplicaSetController`] holds what outlives a sync and is told of changes; its handlers say which sets to look at ([`Wakeups`]).
//! [`begin_sync`](ReplicaSetController::begin_sync) makes a [`Sync`] of one set: requests go out, outcomes come in, several at a time
//! where upstream makes them at a time, and at the end a [`Finish`] says what is to be done with the key. The queue of keys, the caches and
//! the recorder of events belong to whoever drives this.
//!
//! The parts decide one thing each and can be used alone: [`predicates`], [`rank`] and [`victims`], [`status`], [`expectations`], [`guard`],
//! [`claim`], [`template`], [`slow_start`].
//!
//! ReplicationControllers are synced by the same code, told apart by their [`ReplicaSetKind`].
//!
//! Mirrors `pkg/controller/replicaset/replica_set.go`. Where it is knowingly different stands in the crate's list of differences.

mod answer;
mod burst;
pub mod claim;
mod decision;
pub mod expectations;
pub mod guard;
mod index;
pub mod predicates;
pub mod rank;
mod rejections;
mod routing;
pub mod slow_start;
pub mod status;
mod sync;
pub mod template;
pub mod victims;
mod work;

use alloc::boxed::Box;

pub use answer::CallFailure;
pub use decision::{Decision, Why};
pub use index::{Caches, index_pods, index_sets};
pub use rejections::Rejections;
pub use routing::Wakeups;
pub use status::is_ready;
pub use sync::{Finish, Sync, SyncFailure, Ticket};

use crate::object::ReplicaSetKind;
use expectations::Expectations;
use guard::ConsistencyGuard;
use victims::{ChooseVictims, InDeletionOrder};

/// How a controller works.
#[derive(Debug)]
pub struct ReplicaSetOptions {
    /// Which kind of sets it is for.
    pub kind: ReplicaSetKind,
    /// Pods created or deleted by one sync at most; see [`Limits::burst_replicas`](crate::limits::Limits::burst_replicas).
    pub burst: usize,
    /// Who chooses the pods to delete.
    pub victims: Box<dyn ChooseVictims>,
    /// Whether a set pauses whose new pods fail at once, again and again.
    pub slow_down_rejected: bool,
}

impl ReplicaSetOptions {
    /// The defaults for a kind: bursts of 500, Kubernetes' order of deletion, and pauses.
    pub fn new(kind: ReplicaSetKind) -> Self {
        Self { kind, burst: 500, victims: Box::new(InDeletionOrder::default()), slow_down_rejected: true }
    }
}

/// A controller of all sets of one kind: what outlives a sync.
///
/// Holds a record or two a set that has something to wait for; all are dropped when the set has gone.
#[derive(Debug)]
pub struct ReplicaSetController {
    options: ReplicaSetOptions,
    expectations: Expectations,
    guard: ConsistencyGuard,
    rejections: Rejections,
}

impl ReplicaSetController {
    /// A controller that has seen nothing yet.
    pub fn new(options: ReplicaSetOptions) -> Self {
        Self {
            options,
            expectations: Expectations::new(),
            guard: ConsistencyGuard::new(),
            rejections: Rejections::default(),
        }
    }

    /// How it works.
    pub fn options(&self) -> &ReplicaSetOptions {
        &self.options
    }

    /// What sets wait for.
    pub fn expectations(&self) -> &Expectations {
        &self.expectations
    }

    /// What sets wait for, to be changed by who knows better: a driver that restores it, a test.
    pub fn expectations_mut(&mut self) -> &mut Expectations {
        &mut self.expectations
    }

    /// What syncs have written.
    pub fn guard(&self) -> &ConsistencyGuard {
        &self.guard
    }

    /// What syncs have written, to be changed by who knows better.
    pub fn guard_mut(&mut self) -> &mut ConsistencyGuard {
        &mut self.guard
    }

    /// Which sets are slowed down.
    pub fn rejections(&self) -> &Rejections {
        &self.rejections
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
