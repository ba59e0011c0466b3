//! The controller of one kind of sets at work: its informer, its queue, and the syncs under way.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::Config;
use super::trace::{Trace, Tracer};
use crate::informer::{Change, HandlerId, HandlerOptions};
use crate::key::Key;
use crate::machine::Fed;
use crate::metrics::Histogram;
use crate::object::{Pod, ReplicaSet, ReplicaSetKind};
use crate::recorder::Event;
use crate::replicaset::{Caches, ReplicaSetController, ReplicaSetOptions, Sync, Ticket, Wakeups, index_sets, is_ready};
use crate::request::{Outcome, Request};
use crate::store::Store;
use crate::time::{Instant, Now};
use crate::workqueue::{self, Get, Priority, Timer, WorkQueue, rate};

/// One controller of a manager.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) sets: Fed<ReplicaSet>,
    handler: HandlerId,
    pub(super) controller: ReplicaSetController,
    pub(super) queue: WorkQueue<Key>,
    /// The syncs under way, and since when.
    syncs: BTreeMap<Key, (Sync, Instant)>,
    /// How long syncs took (`workqueue_work_duration_seconds`).
    pub(super) work_duration: Histogram,
    concurrent_syncs: usize,
    pub(super) trace: Tracer,
}

impl Worker {
    pub(super) fn new(kind: ReplicaSetKind, config: &Config, seed: u64) -> Self {
        let mut sets = super::informer(kind.resource(), &config.label_selector, config, seed, index_sets);
        let handler = sets.informer.add_handler(Now::default(), HandlerOptions::default());
        let options = ReplicaSetOptions { burst: config.limits.burst_replicas, ..ReplicaSetOptions::new(kind) };
        Self {
            sets,
            handler,
            controller: ReplicaSetController::new(options),
            queue: WorkQueue::new(rate::default_controller()),
            syncs: BTreeMap::new(),
            work_duration: Histogram::new(Histogram::WORKQUEUE),
            concurrent_syncs: match kind {
                ReplicaSetKind::ReplicaSet => config.limits.concurrent_syncs,
                ReplicaSetKind::ReplicationController => config.limits.concurrent_rc_syncs,
            },
            trace: Tracer::default(),
        }
    }

    /// Routes what has changed in the cache of sets. Work is in proportion to the number of changes.
    pub(super) fn handle_set_changes(&mut self, now: Now) {
        let kind = self.kind();
        while let Some((key, change)) = self.sets.informer.poll_change(self.handler) {
            self.trace.note(|| Trace::Set(kind, change.clone()));
            let (priority, wakeups) = match &change {
                Change::Add { object, initial: true } => (Priority::Low, self.controller.handle_set_added(object)),
                Change::Add { object, .. } => (Priority::Normal, self.controller.handle_set_added(object)),
                Change::Update { old, new } => (Priority::Normal, self.controller.handle_set_updated(old, new)),
                Change::Delete(deletion) => match deletion.object() {
                    Some(set) => (Priority::Normal, self.controller.handle_set_deleted(set)),
                    None => continue,
                },
            };
            self.wake(wakeups, priority, now.instant, &key);
        }
    }

    /// Routes a change in the cache of pods.
    pub(super) fn handle_pod_change(&mut self, change: &Change<Pod>, pods: &Store<Pod>, now: Now) {
        let caches = Caches { pods, sets: self.sets.informer.store() };
        let (priority, wakeups) = match change {
            Change::Add { object, initial: true } => {
                (Priority::Low, self.controller.handle_pod_added(object, caches, now))
            }
            Change::Add { object, .. } => (Priority::Normal, self.controller.handle_pod_added(object, caches, now)),
            Change::Update { old, new } => {
                (Priority::Normal, self.controller.handle_pod_updated(old, new, caches, now))
            }
            Change::Delete(deletion) => match deletion.object() {
                Some(pod) => (Priority::Normal, self.controller.handle_pod_deleted(pod, caches)),
                None => return,
            },
        };
        if let Some(pod) = change.object() {
            self.wake(wakeups, priority, now.instant, pod.key());
        }
    }

    /// The next request of a sync, beginning more syncs as long as there is something to do and room for them.
    pub(super) fn poll_request(&mut self, pods: &Store<Pod>, now: Now) -> Option<(Key, Ticket, Request)> {
        loop {
            let kind = self.controller.options().kind;
            for (key, (sync, _)) in &mut self.syncs {
                if let Some((ticket, request)) = sync.poll_request() {
                    self.trace.note_decisions(kind, key, sync);
                    return Some((key.clone(), ticket, request));
                }
            }
            if self.syncs.len() >= self.concurrent_syncs {
                return None;
            }
            let Get::Item(key) = self.queue.poll_get(now.instant) else { return None };
            let caches = Caches { pods, sets: self.sets.informer.store() };
            self.trace.note(|| Trace::Began { kind, key: key.clone() });
            let sync = self.controller.begin_sync(&key, caches, now);
            self.keep_or_finish(key, (sync, now.instant), now.instant);
        }
    }

    /// Takes the outcome of a request of a sync, and says what events are to be recorded.
    pub(super) fn handle_outcome(
        &mut self,
        pods: &Store<Pod>,
        (key, ticket): (Key, Ticket),
        outcome: Outcome,
        now: Now,
        mut record: impl FnMut(Event),
    ) {
        let Some((mut sync, began)) = self.syncs.remove(&key) else { return };
        let caches = Caches { pods, sets: self.sets.informer.store() };
        sync.handle_outcome(&mut self.controller, caches, ticket, outcome, now);
        while let Some(event) = sync.poll_event() {
            record(event);
        }
        self.keep_or_finish(key, (sync, began), now.instant);
    }

    /// Whether every set that is known is as it should be; see [`is_ready`].
    pub(super) fn all_ready(&self) -> bool {
        self.sets.informer.has_synced() && self.sets.informer.store().iter().all(|set| is_ready(set))
    }

    /// The kind of sets it is for.
    pub(super) fn kind(&self) -> ReplicaSetKind {
        self.controller.options().kind
    }

    /// When a sync may begin, if there is room for one.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.queue.next_deadline().filter(|_| self.syncs.len() < self.concurrent_syncs)
    }

    /// The syncs under way, and since when.
    pub(super) fn syncs(&self) -> impl Iterator<Item = (&Key, Instant)> {
        self.syncs.iter().map(|(key, (_, began))| (key, *began))
    }

    /// How long each sync under way has taken, in seconds.
    pub(super) fn ages(&self, now: Now) -> impl Iterator<Item = f64> {
        self.syncs.values().map(move |(_, began)| now.instant.since(*began).as_secs_f64())
    }

    fn keep_or_finish(&mut self, key: Key, (mut sync, began): (Sync, Instant), now: Instant) {
        let kind = self.kind();
        self.trace.note_decisions(kind, &key, &mut sync);
        let Some(finish) = sync.finish() else {
            self.syncs.insert(key, (sync, began));
            return;
        };
        self.work_duration.observe(now.since(began));
        let again = finish.again_after;
        let ended = finish;
        let finish = match (&finish.result, again) {
            (Ok(()), None) => workqueue::Finish::Done,
            (Ok(()), Some(delay)) => workqueue::Finish::After(delay),
            (Err(failure), _) => {
                log::debug!("{key}: {failure}");
                workqueue::Finish::Retry
            }
        };
        self.queue.finish(now, &key, finish);
        if let (workqueue::Finish::Retry, Some(delay)) = (finish, again) {
            self.queue.add_after(now, key.clone(), delay);
        }
        let Self { trace, queue, .. } = self;
        trace.note(|| {
            let timers = [Timer::Retry, Timer::Reminder].map(|timer| queue.deadline(&key, timer));
            let again_after = timers.into_iter().flatten().min().map(|at| at.since(now));
            Trace::Ended { kind, failures: queue.num_requeues(&key), result: ended.result.clone(), again_after, key }
        });
    }

    /// Looks at every set that is known. Work is in proportion to their number.
    pub(super) fn wake_all(&mut self, now: Instant) {
        for key in self.sets.informer.store().keys() {
            self.queue.add_with(now, key.clone(), Priority::Low);
        }
    }

    fn wake(&mut self, wakeups: Wakeups, priority: Priority, now: Instant, because: &Key) {
        let kind = self.kind();
        let queued = |key: &Key, after| Trace::Queued { kind, key: key.clone(), after, because: because.clone() };
        for key in wakeups.now {
            self.trace.note(|| queued(&key, Duration::ZERO));
            self.queue.add_with(now, key, priority);
        }
        for (key, delay) in wakeups.later {
            self.trace.note(|| queued(&key, delay));
            self.queue.add_after(now, key, delay);
        }
    }
}
