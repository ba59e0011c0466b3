//! The manager: ReplicaSet controllers, composed of all the stages into one machine.
//!
//! ```text
//! answers ─► informer of pods ───► route ─┐
//!        └─► informer of sets ───► route ─┴► queue ─► syncs ─► requests
//!        └────────────── outcomes ──────────────────►  │
//!                                                      └► recorder ─► requests
//! ```
//!
//! One informer of pods serves a controller for each kind of sets. Nothing is synced before the first lists are in the caches. It is driven
//! as every [`Machine`]: one input, then all outputs.
//!
//! Mirrors `cmd/kube-controller-manager/app/apps.go` (`startReplicaSetController`) and `core.go` (`startReplicationController`).

mod calls;
mod config;
mod worker;

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

pub use config::Config;

use crate::delta::{InOrderFifo, Queue};
use crate::error::Misuse;
use crate::informer::{HandlerId, HandlerOptions, Informer};
use crate::key::Key;
use crate::machine::{Fed, Feed, Input, Machine, Output};
use crate::object::{Decode, Pod, ReplicaSet, ReplicaSetKind, Resource};
use crate::recorder::Recorder;
use crate::reflector;
use crate::replicaset::{Ticket, index_pods};
use crate::request::{CallId, CallIds, Failure, Outcome, Request};
use crate::store::Store;
use crate::time::{Instant, Now};
use calls::Calls;
use worker::Worker;

/// How long calls in flight may take to end after a stop.
const STOP_GRACE: Duration = Duration::from_millis(700);

/// A machine that keeps every set of its kinds at its wanted number of pods.
pub struct Manager {
    ids: CallIds,
    pods: Fed<Pod>,
    handler: HandlerId,
    workers: Vec<Worker>,
    recorder: Recorder,
    calls: Calls<Owner>,
    state: State,
    drained: bool,
}

/// Who waits for the outcome of a call.
#[derive(Debug)]
enum Owner {
    Recorder,
    Sync { worker: usize, sync: (Key, Ticket) },
}

#[derive(Debug)]
enum State {
    Running,
    /// No new call is begun; what is in flight then is given up.
    Stopping {
        until: Instant,
    },
    Stopped,
}

impl Manager {
    /// A manager that has asked for nothing yet.
    pub fn new(config: &Config) -> Self {
        let mut pods = informer(&Resource::PODS, config, config.seed, index_pods);
        let handler = pods.informer.add_handler(Now::default(), HandlerOptions::default());
        let seeds = config.seed.wrapping_add(1)..;
        let workers = config.kinds.iter().zip(seeds).map(|(kind, seed)| Worker::new(*kind, config, seed)).collect();
        Self {
            ids: CallIds::default(),
            pods,
            handler,
            workers,
            recorder: Recorder::new(config.limits, config.seed),
            calls: Calls::new(config.limits),
            state: State::Running,
            drained: false,
        }
    }

    /// The pods that are known.
    pub fn pods(&self) -> &Store<Pod> {
        self.pods.informer.store()
    }

    /// The sets of a kind that are known; none if the manager does not look after this kind.
    pub fn sets(&self, kind: ReplicaSetKind) -> Option<&Store<ReplicaSet>> {
        self.workers.iter().find(|worker| worker.kind() == kind).map(|worker| worker.sets.informer.store())
    }

    /// Whether the first lists of pods and of all kinds of sets are in the caches.
    pub fn has_synced(&self) -> bool {
        self.pods.informer.has_synced() && self.workers.iter().all(|worker| worker.sets.informer.has_synced())
    }

    /// Whether all is known and every set is ready: as many available pods as are wanted, and a status that says so.
    pub fn all_ready(&self) -> bool {
        self.has_synced() && self.workers.iter().all(Worker::all_ready)
    }

    fn feeds(&mut self) -> impl Iterator<Item = &mut dyn Feed> {
        let sets = self.workers.iter_mut().map(|worker| &mut worker.sets as &mut dyn Feed);
        core::iter::once(&mut self.pods as &mut dyn Feed).chain(sets)
    }

    /// Gives an input to the one that waits for it.
    fn deliver(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        let known = match input {
            Input::Timeout => {
                for feed in self.feeds() {
                    feed.handle_input(now, &input)?;
                }
                return Ok(());
            }
            Input::Stop => {
                if matches!(self.state, State::Running) {
                    self.calls.forget_paused();
                    self.state = State::Stopping { until: now.instant + STOP_GRACE };
                }
                return Ok(());
            }
            Input::Body { call, bytes } => self.calls.handle_body(call, bytes),
            Input::Head { call, head } => self.calls.handle_head(call, head),
            Input::End { call } => self.handle_end(now, call, None),
            Input::Failed { call, failure } => self.handle_end(now, call, Some(failure)),
        };
        if known || self.feeds().any(|feed| feed.handle_input(now, &input).is_ok()) {
            Ok(())
        } else {
            Err(Misuse::UnknownCall)
        }
    }

    fn handle_end(&mut self, now: Now, call: CallId, failure: Option<Failure>) -> bool {
        let Ok(ended) = self.calls.handle_end(now.instant, call, failure) else { return false };
        if let Some((owner, outcome)) = ended {
            self.handle_outcome(now, owner, outcome);
        }
        true
    }

    fn handle_outcome(&mut self, now: Now, owner: Owner, outcome: Outcome) {
        match owner {
            Owner::Recorder => self.recorder.handle_outcome(outcome, now),
            Owner::Sync { worker, sync } => {
                let (pods, recorder) = (self.pods.informer.store(), &mut self.recorder);
                self.workers[worker].handle_outcome(pods, sync, outcome, now, |event| recorder.record(event, now));
            }
        }
    }

    /// Tells the controllers what has changed in the caches. Work is in proportion to the number of changes.
    fn route(&mut self, now: Now) {
        // Sets first: a pod wakes only a set that is known.
        for worker in &mut self.workers {
            worker.handle_set_changes(now);
        }
        while let Some((_, change)) = self.pods.informer.poll_change(self.handler) {
            for worker in &mut self.workers {
                worker.handle_pod_change(&change, self.pods.informer.store(), now);
            }
        }
    }

    fn poll_running(&mut self, now: Now) -> Option<Output> {
        if let Some((id, owner, outcome)) = self.calls.poll_overdue(now.instant) {
            self.handle_outcome(now, owner, outcome);
            return Some(Output::Cancel(id));
        }
        let Self { ids, pods, workers, .. } = self;
        let sets = workers.iter_mut().map(|worker| &mut worker.sets as &mut dyn Feed);
        let mut feeds = core::iter::once(pods as &mut dyn Feed).chain(sets);
        if let Some(output) = feeds.find_map(|feed| feed.poll_output(now, ids)) {
            return Some(output);
        }
        drop(feeds);
        if let Some(call) = self.calls.poll_again(now.instant, &mut self.ids) {
            return Some(Output::Call(call));
        }
        if !self.calls.has_room() {
            return None;
        }
        let (owner, request) = self.poll_request(now)?;
        Some(Output::Call(self.calls.begin(now.instant, &mut self.ids, request, owner)))
    }

    /// The next request of a sync, or else of the recorder: what keeps the sets right goes before what tells of it.
    fn poll_request(&mut self, now: Now) -> Option<(Owner, Request)> {
        if self.has_synced() {
            let pods = self.pods.informer.store();
            for (index, worker) in self.workers.iter_mut().enumerate() {
                if let Some((key, ticket, request)) = worker.poll_request(pods, now) {
                    return Some((Owner::Sync { worker: index, sync: (key, ticket) }, request));
                }
            }
        }
        self.recorder.poll_request(now).map(|request| (Owner::Recorder, request))
    }

    fn poll_stopping(&mut self, now: Now, until: Instant) -> Output {
        let watch = self.feeds().find_map(|feed| feed.stop());
        if let Some(id) = watch {
            return Output::Cancel(id);
        }
        if until <= now.instant
            && let Some(id) = self.calls.poll_abandoned()
        {
            return Output::Cancel(id);
        }
        if self.calls.is_empty() {
            self.state = State::Stopped;
            return Output::Stopped;
        }
        Output::Wait { until: Some(until) }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let feeds = self.workers.iter().map(|worker| worker.sets.next_deadline());
        let calls = [self.pods.next_deadline(), self.calls.next_deadline()];
        // What would make a call is of no use to wake for as long as none may be made.
        let syncs = self.workers.iter().map(Worker::next_deadline).filter(|_| self.has_synced());
        let requests = syncs.chain([self.recorder.next_deadline()]).filter(|_| self.calls.has_room());
        feeds.chain(calls).chain(requests).flatten().min()
    }
}

impl Machine for Manager {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        if !self.drained {
            return Err(Misuse::NotDrained);
        }
        self.deliver(now, input)?;
        self.route(now);
        self.drained = false;
        Ok(())
    }

    fn poll_output(&mut self, now: Now) -> Output {
        let output = match self.state {
            State::Running => self.poll_running(now).unwrap_or_else(|| Output::Wait { until: self.next_deadline() }),
            State::Stopping { until } => self.poll_stopping(now, until),
            State::Stopped => Output::Stopped,
        };
        self.drained = matches!(output, Output::Wait { .. } | Output::Stopped);
        output
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("pods", &self.pods)
            .field("workers", &self.workers)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// An informer of one collection, with the indexes that its controllers need.
fn informer<T: Decode>(resource: &Resource, config: &Config, seed: u64, index: fn(&mut Store<T>)) -> Fed<T> {
    let mut store = Store::new();
    index(&mut store);
    let queue = Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks());
    let config = reflector::Config {
        namespace: config.namespace.clone(),
        watch_list: config.watch_list,
        limits: config.limits,
        seed,
        ..reflector::Config::new(resource.clone())
    };
    Fed::new(Informer::with_queue(config, queue, store))
}

#[cfg(test)]
mod tests;
