//! The controller of one kind of sets at work: its informer, its queue, and the syncs under way.

use alloc::collections::BTreeMap;

use crate::informer::{Change, HandlerId, Informer};
use crate::key::Key;
use crate::limits::Limits;
use crate::object::{Object, Pod, ReplicaSet, ReplicaSetKind};
use crate::recorder::Event;
use crate::replicaset::{Caches, ReplicaSetController, ReplicaSetOptions, Sync, Ticket, Wakeups, index_sets};
use crate::request::{Outcome, Request};
use crate::store::Store;
use crate::time::{Instant, Now};
use crate::workqueue::{Finish, Get, Priority, WorkQueue, rate};

use super::Config;

/// One controller of a manager.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) sets: Informer<ReplicaSet>,
    handler: HandlerId,
    controller: ReplicaSetController,
    queue: WorkQueue<Key>,
    syncs: BTreeMap<Key, Sync>,
    limits: Limits,
}

impl Worker {
    pub(super) fn new(kind: ReplicaSetKind, config: &Config, seed: u64) -> Self {
        let mut sets = Informer::new(super::informer_config(kind.resource(), config, seed));
        index_sets(sets.store_mut());
        let handler = sets.add_handler(Instant::ZERO, Default::default());
        let options = ReplicaSetOptions { burst: config.limits.burst_replicas, ..ReplicaSetOptions::new(kind) };
        Self {
            sets,
            handler,
            controller: ReplicaSetController::new(options),
            queue: WorkQueue::new(rate::default_controller()),
            syncs: BTreeMap::new(),
            limits: config.limits,
        }
    }

    /// Routes what has changed in the cache of sets. Work is in proportion to the number of changes.
    pub(super) fn handle_set_changes(&mut self, now: Now) {
        while let Some(change) = self.sets.poll_change(self.handler) {
            let initial = matches!(change, Change::Add { initial: true, .. });
            let wakeups = match &change {
                Change::Add { object, .. } => self.controller.handle_set_added(object),
                Change::Update { old, new } => self.controller.handle_set_updated(old, new),
                Change::Delete(deletion) => match deletion.object() {
                    Some(set) => self.controller.handle_set_deleted(set),
                    None => continue,
                },
            };
            self.wake(wakeups, initial, now.instant);
        }
    }

    /// Routes a change in the cache of pods.
    pub(super) fn handle_pod_change(&mut self, change: &Change<Pod>, pods: &Store<Pod>, now: Now) {
        let caches = Caches { pods, sets: self.sets.store() };
        let wakeups = match change {
            Change::Add { object, .. } => self.controller.handle_pod_added(object, caches),
            Change::Update { old, new } => self.controller.handle_pod_updated(old, new, caches, now),
            Change::Delete(deletion) => match deletion.object() {
                Some(pod) => self.controller.handle_pod_deleted(pod, caches),
                None => return,
            },
        };
        self.wake(wakeups, false, now.instant);
    }

    /// The next request of a sync, beginning more syncs as long as there is something to do and room for them.
    pub(super) fn poll_request(&mut self, pods: &Store<Pod>, now: Now) -> Option<(Key, Ticket, Request)> {
        loop {
            for (key, sync) in &mut self.syncs {
                if let Some((ticket, request)) = sync.poll_request() {
                    return Some((key.clone(), ticket, request));
                }
            }
            if self.syncs.len() >= self.limits.concurrent_syncs {
                return None;
            }
            let Get::Item(key) = self.queue.poll_get(now.instant) else { return None };
            let caches = Caches { pods, sets: self.sets.store() };
            let sync = self.controller.begin_sync(&key, caches, now);
            self.syncs.insert(key.clone(), sync);
            self.conclude(&key, now.instant);
        }
    }
}
