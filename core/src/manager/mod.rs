//! The manager: ReplicaSet controllers, composed of all the stages into one machine.
//!
//! ```text
//! answers ─► informer of pods ───► route ─┐
//!        └─► informer of sets ───► route ─┴► queue ─► syncs ─► requests
//!        └────────────── outcomes ──────────────────►  │
//!                                                      └► recorder ─► requests
//! ```
//!
//! With an election, nothing at all is asked before the lease is won: what is then listed has in it all that the leader before wrote. And
//! when the lease is lost, nothing is asked any more, what is in flight is cut off, and the manager has stopped.
//!
//! One informer of pods serves a controller for each kind of sets. Nothing is synced before the first lists are in the caches. It is driven
//! as every [`Machine`]: one input, then all outputs.
//!
//! Mirrors `cmd/kube-controller-manager/app/apps.go` (`startReplicaSetController`) and `core.go` (`startReplicationController`).

pub(crate) mod calls;
mod config;
mod dry_run;
mod leadership;
mod limiter;
mod metrics;
mod poll;
mod trace;
mod traffic;
mod worker;

use alloc::vec::Vec;
use core::fmt;

pub use config::Config;
pub use limiter::ClientLimits;
pub use trace::Trace;

use crate::delta::{InOrderFifo, Queue};
use crate::election::Standing;
use crate::error::Misuse;
use crate::informer::{HandlerId, HandlerOptions, Informer};
use crate::key::Key;
use crate::machine::{Fed, Feed, Input, Machine, Output};
use crate::object::{Decode, Pod, ReplicaSet, ReplicaSetKind, Resource};
use crate::recorder::Recorder;
use crate::reflector;
use crate::replicaset::{ReplicaSetController, Ticket, index_pods};
use crate::request::{CallId, CallIds, Failure, Outcome};
use crate::store::Store;
use crate::time::{Instant, Now};
use crate::workqueue::WorkQueue;
use calls::Calls;
use leadership::Leadership;
use limiter::Gate;
use trace::Tracer;
use traffic::Traffic;
use worker::Worker;

/// A machine that keeps every set of its kinds at its wanted number of pods.
pub struct Manager {
    ids: CallIds,
    pods: Fed<Pod>,
    handler: HandlerId,
    workers: Vec<Worker>,
    recorder: Recorder,
    calls: Calls<Owner>,
    lists: Gate,
    leadership: Leadership,
    traffic: Traffic,
    trace: Tracer,
    dry_run: bool,
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
    /// No new call is begun; what is in flight at the end is given up.
    Stopping {
        until: Instant,
        /// Whether nothing was given up so far.
        clean: bool,
        /// Whether the lease was given back, as far as that depends on us.
        resigned: bool,
    },
    /// The lease is lost: everything is given up at once.
    Lost,
    Stopped {
        /// Because the lease was lost.
        lost: bool,
    },
}

impl Manager {
    /// A manager that has asked for nothing yet.
    pub fn new(config: &Config) -> Self {
        let mut pods = informer(&Resource::PODS, "", config, config.seed, index_pods);
        let handler = pods.informer.add_handler(Now::default(), HandlerOptions::default());
        let seeds = config.seed.wrapping_add(1)..;
        let workers = config.kinds.iter().zip(seeds).map(|(kind, seed)| Worker::new(*kind, config, seed)).collect();
        Self {
            ids: CallIds::default(),
            pods,
            handler,
            workers,
            recorder: Recorder::new(config.limits, config.seed),
            calls: Calls::new(config.limits, config.client_limits),
            lists: Gate::new(config.client_limits),
            leadership: Leadership::new(config.election.as_ref()),
            traffic: Traffic::default(),
            trace: Tracer::default(),
            dry_run: config.dry_run,
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

    /// The controller of a kind, to be looked at: what its sets wait for. None if the manager does not look after this kind.
    pub fn controller(&self, kind: ReplicaSetKind) -> Option<&ReplicaSetController> {
        self.workers.iter().find(|worker| worker.kind() == kind).map(|worker| &worker.controller)
    }

    /// The work queue of a kind, to be looked at: what waits, and what has failed how often. None if the manager does not look after this kind.
    pub fn queue(&self, kind: ReplicaSetKind) -> Option<&WorkQueue<Key>> {
        self.workers.iter().find(|worker| worker.kind() == kind).map(|worker| &worker.queue)
    }

    /// The keys of the sets that are being synced, of all kinds, and since when.
    pub fn syncs(&self) -> impl Iterator<Item = (ReplicaSetKind, &Key, Instant)> {
        self.workers.iter().flat_map(|worker| worker.syncs().map(|(key, since)| (worker.kind(), key, since)))
    }

    /// Whether the first lists of pods and of all kinds of sets are in the caches.
    pub fn has_synced(&self) -> bool {
        self.pods.informer.has_synced() && self.workers.iter().all(|worker| worker.sets.informer.has_synced())
    }

    /// Whether all is known and every set is ready: as many available pods as are wanted, and a status that says so.
    pub fn all_ready(&self) -> bool {
        self.has_synced() && self.workers.iter().all(Worker::all_ready)
    }

    /// Where the manager stands in its election; none if it does not stand in one.
    pub fn standing(&self, now: Now) -> Option<Standing> {
        self.leadership.standing(now.instant)
    }

    /// Whether it has stopped because it lost its lease.
    pub fn has_lost_lease(&self) -> bool {
        matches!(self.state, State::Lost | State::Stopped { lost: true })
    }

    fn feeds(&mut self) -> impl Iterator<Item = &mut dyn Feed> {
        let sets = self.workers.iter_mut().map(|worker| &mut worker.sets as &mut dyn Feed);
        core::iter::once(&mut self.pods as &mut dyn Feed).chain(sets)
    }

    /// Gives an input to the one that waits for it.
    fn deliver(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        if self.leadership.handle_input(now, &input) {
            return Ok(());
        }
        let known = match input {
            Input::Timeout => {
                for feed in self.feeds() {
                    feed.handle_input(now, &input)?;
                }
                return Ok(());
            }
            Input::Stop => {
                self.begin_stop(now);
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
            self.trace.note(|| Trace::Pod(change.clone()));
            for worker in &mut self.workers {
                worker.handle_pod_change(&change, self.pods.informer.store(), now);
            }
        }
        if self.pods.informer.take_merged(self.handler) {
            // A state in between may have been the only one that named a set.
            self.workers.iter_mut().for_each(|worker| worker.wake_all(now.instant));
        }
    }
}

impl Machine for Manager {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        if !self.drained {
            return Err(Misuse::NotDrained);
        }
        self.deliver(now, input)?;
        self.traffic.handle_input(now.instant, &input);
        // The input of one informer may come late, when others have missed a deadline.
        self.leadership.handle_due(now);
        self.feeds().for_each(|feed| feed.handle_due(now));
        self.route(now);
        self.drained = false;
        Ok(())
    }

    fn poll_output(&mut self, now: Now) -> Output {
        let output = self.poll_state(now);
        self.traffic.handle_output(now.instant, &output);
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
fn informer<T: Decode>(
    resource: &Resource,
    label_selector: &str,
    config: &Config,
    seed: u64,
    index: fn(&mut Store<T>),
) -> Fed<T> {
    let mut store = Store::new();
    index(&mut store);
    let queue = Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks());
    let config = reflector::Config {
        namespace: config.namespace.clone(),
        label_selector: label_selector.into(),
        watch_list: config.watch_list,
        encoding: config.encoding,
        resync_period: config.resync_period,
        limits: config.limits,
        seed,
        ..reflector::Config::new(resource.clone())
    };
    Fed::new(Informer::with_queue(config, queue, store))
}

#[cfg(test)]
mod tests;
