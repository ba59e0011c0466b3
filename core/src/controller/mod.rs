//! Controllers of the user's own, over collections that they share.
//!
//! ```text
//! answers ─► informer of A ─┬─ map ─► queue of controller 1 ─► poll_key ─► reconcile, outside
//!        └─► informer of B ─┴─ map ─► queue of controller 2 ─► poll_key ─►     │
//!                                            └────────────── handle_result ◄──┘
//! ```
//!
//! [`Controllers`] is a [`Machine`](crate::machine::Machine) that watches any number of collections, each once, keeps each in one store, and tells any number of controllers which
//! keys to look at. What it cannot know is what to do about a key: that is the user's `reconcile`. So beside the two verbs of a machine it
//! hands out keys ([`poll_key`](Controllers::poll_key)) and takes results ([`handle_result`](Controllers::handle_result)).
//! Controllers and other readers join and leave at any time.
//!
//! ```
//! use sanskube::controller::{Controller, Controllers, When};
//! use sanskube::limits::Limits;
//! use sanskube::machine::{Input, Machine, Output};
//! use sanskube::object::{MetadataOnly, Pod, Resource};
//! use sanskube::reflector::Config;
//! use sanskube::request::Head;
//! use sanskube::time::Now;
//!
//! let mut machine = Controllers::new(Limits::default(), 0);
//! let pods = machine.watch::<Pod>(Config::new(Resource::PODS));
//! machine.add(Now::default(), Controller::new("example", pods)).expect("pods are watched");
//!
//! // An adapter does this: send what the machine asks for, and report what comes back.
//! let now = Now::default();
//! let Output::Call(list) = machine.poll_output(now) else { panic!("a list comes first") };
//! while !matches!(machine.poll_output(now), Output::Wait { .. }) {}
//! let body = br#"{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"namespace":"shop","name":"web","uid":"u","resourceVersion":"1"}}]}"#;
//! for input in [
//!     Input::Head { call: list.id, head: Head::new(200) },
//!     Input::Body { call: list.id, bytes: body },
//!     Input::End { call: list.id },
//! ] {
//!     machine.handle_input(now, input)?;
//!     while !matches!(machine.poll_output(now), Output::Wait { .. }) {}
//! }
//!
//! let work = machine.poll_key(now).expect("a pod was listed");
//! assert_eq!(work.key.as_str(), "shop/web");
//! machine.handle_result(now, &work, Ok::<_, String>(When::Changed));
//! # Ok::<(), sanskube::error::Misuse>(())
//! ```
//!
//! Mirrors client-go's shared informer factories (`informers/factory.go`) and the way that `sample-controller` uses them.

mod drive;
#[cfg(feature = "std")]
mod shared;
mod source;
mod spec;
mod when;
mod worker;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::time::Duration;

#[cfg(feature = "std")]
pub use shared::{Cache, Shared};
pub use source::{Caches, WatchId, Watched};
pub use spec::Controller;
pub use when::{Result, When};

use crate::error::{Misuse, Refused};
use crate::informer::{Change, HandlerId, HandlerOptions, Informer};
use crate::key::Key;
use crate::limits::Limits;
use crate::manager::calls::Calls;
use crate::object::Resource;
use crate::recorder::{Event, Recorder};
use crate::reflector::Config;
use crate::request::{CallId, CallIds};
use crate::store::{IndexFunction, Store};
use crate::time::{Instant, Now};
use source::{Collection, Sources};
use worker::Worker;

/// How long events that are being written may take to be so after a stop.
const STOP_GRACE: Duration = Duration::from_millis(700);

/// Names a controller of one [`Controllers`]. Never used again after it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerId(u32);

/// A key that a controller is to reconcile. Nobody else gets it until there is a result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Work {
    /// Whose work it is.
    pub controller: ControllerId,
    /// The key.
    pub key: Key,
}

/// Any number of controllers over collections that they share, as one machine.
pub struct Controllers {
    ids: CallIds,
    next_number: u32,
    sources: Sources,
    workers: Vec<Worker>,
    /// Which controller is asked first for a key, so that a busy one does not starve the others.
    turn: usize,
    /// Whose the calls in flight are: the collections' numbers.
    owners: BTreeMap<CallId, u32>,
    /// Calls of collections that are watched no more.
    cancels: Vec<CallId>,
    recorder: Recorder,
    /// Events that are being written.
    calls: Calls<()>,
    state: State,
    drained: bool,
}

#[derive(Debug)]
enum State {
    Running,
    Stopping { until: Instant },
    Stopped,
}

impl Controllers {
    /// A machine that watches nothing yet. `seed` is that of the names and retries of events.
    pub fn new(limits: Limits, seed: u64) -> Self {
        Self {
            ids: CallIds::default(),
            next_number: 0,
            sources: Sources::new(),
            workers: Vec::new(),
            turn: 0,
            owners: BTreeMap::new(),
            cancels: Vec::new(),
            recorder: Recorder::new(limits, seed),
            calls: Calls::new(limits, None),
            state: State::Running,
            drained: true,
        }
    }

    /// Watches a collection, for as many controllers and other readers as like.
    pub fn watch<T: Watched>(&mut self, config: Config) -> WatchId<T> {
        self.watch_with(Informer::new(config))
    }

    /// Watches a collection with an informer of one's own: with another queue, a transformation, indexes.
    pub fn watch_with<T: Watched>(&mut self, informer: Informer<T>) -> WatchId<T> {
        let number = self.number();
        self.sources.insert(number, Box::new(Collection::new(informer)));
        WatchId::new(number)
    }

    /// Stops watching a collection and forgets what was known of it.
    ///
    /// # Errors
    /// It is not watched ([`Misuse::NotWatched`]), or a controller depends on it ([`Misuse::InUse`]).
    pub fn remove_watch<T>(&mut self, watch: WatchId<T>) -> core::result::Result<(), Misuse> {
        if self.workers.iter().any(|worker| worker.uses(watch.number)) {
            return Err(Misuse::InUse);
        }
        let mut source = self.sources.remove(&watch.number).ok_or(Misuse::NotWatched)?;
        if let Some(id) = source.stop() {
            self.owners.remove(&id);
            self.cancels.push(id);
        }
        Ok(())
    }

    /// Adds an index to the store of a collection; see [`Store::add_index`].
    ///
    /// # Errors
    /// It is not watched ([`Misuse::NotWatched`]), or has an index of that name ([`Misuse::IndexExists`]).
    pub fn add_index<T: Watched>(
        &mut self,
        watch: WatchId<T>,
        name: &str,
        function: IndexFunction<T>,
    ) -> core::result::Result<Option<Refused>, Misuse> {
        self.informer_mut(watch).ok_or(Misuse::NotWatched)?.add_index(name, function)
    }

    /// Adds a controller, which is first told of all that is stored.
    ///
    /// # Errors
    /// A collection that it depends on is not watched ([`Misuse::NotWatched`]).
    pub fn add<T: Watched>(
        &mut self,
        now: Now,
        controller: Controller<T>,
    ) -> core::result::Result<ControllerId, Misuse> {
        let id = ControllerId(self.number());
        let worker = controller.join(now, id, &mut self.sources).ok_or(Misuse::NotWatched)?;
        self.workers.push(worker);
        self.route_all(now);
        Ok(id)
    }

    /// Lets a controller leave: it gets no more keys. Returns whether it was there. See [`is_idle`](Self::is_idle).
    pub fn remove(&mut self, now: Now, controller: ControllerId) -> bool {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.id == controller && !worker.is_leaving())
        else {
            return false;
        };
        worker.leave(now.instant);
        for source in self.sources.values_mut() {
            source.remove_routes(controller);
        }
        self.bury();
        true
    }

    /// Adds a reader of changes; see [`Informer::add_handler`].
    ///
    /// # Errors
    /// The collection is not watched ([`Misuse::NotWatched`]).
    pub fn add_handler<T: Watched>(
        &mut self,
        now: Now,
        watch: WatchId<T>,
        options: HandlerOptions<T>,
    ) -> core::result::Result<HandlerId, Misuse> {
        Ok(self.informer_mut(watch).ok_or(Misuse::NotWatched)?.add_handler(now, options))
    }

    /// Removes a reader of changes. Returns whether it was there.
    pub fn remove_handler<T: Watched>(&mut self, watch: WatchId<T>, handler: HandlerId) -> bool {
        self.informer_mut(watch).is_some_and(|informer| informer.remove_handler(handler))
    }

    /// The next change that a reader has not taken; see [`Informer::poll_change`].
    pub fn poll_change<T: Watched>(&mut self, watch: WatchId<T>, handler: HandlerId) -> Option<(Key, Change<T>)> {
        self.informer_mut(watch)?.poll_change(handler)
    }

    /// The next key to reconcile, of whichever controller has one and room for it: to be asked for until there is none whenever the machine rests
    /// ([`Output::Wait`](crate::machine::Output::Wait)), which keys that can be had at once do not end. Nothing is handed out before all collections that
    /// the controller depends on are known, and nothing after [`Input::Stop`](crate::machine::Input::Stop).
    pub fn poll_key(&mut self, now: Now) -> Option<Work> {
        if !matches!(self.state, State::Running) {
            return None;
        }
        for _ in 0..self.workers.len() {
            self.turn = (self.turn + 1) % self.workers.len();
            let worker = &mut self.workers[self.turn];
            if let Some(key) = worker.poll_key(now.instant, &self.sources) {
                return Some(Work { controller: worker.id, key });
            }
        }
        None
    }

    /// Takes the result of a reconciliation. An error is logged, and the key is handed out again after a pause that grows with each failure.
    /// Returns whether the key was handed out.
    pub fn handle_result<E: fmt::Display>(
        &mut self,
        now: Now,
        work: &Work,
        result: core::result::Result<When, E>,
    ) -> bool {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.id == work.controller) else { return false };
        let known = worker.handle_result(now.instant, &work.key, result);
        self.bury();
        known
    }

    /// Takes an event to be written; see [`Recorder`].
    pub fn record(&mut self, now: Now, event: Event) {
        self.recorder.record(event, now);
    }

    /// The store of a collection, always in step with all that was handled; none if it is not watched.
    pub fn store<T: Watched>(&self, watch: WatchId<T>) -> Option<&Store<T>> {
        self.caches().store(watch)
    }

    /// What a collection is of; none if it is not watched.
    pub fn resource<T: Watched>(&self, watch: WatchId<T>) -> Option<&Resource> {
        self.caches().informer(watch).map(Informer::resource)
    }

    /// Whether the first list of a collection is in its store.
    pub fn has_synced<T>(&self, watch: WatchId<T>) -> bool {
        self.sources.get(&watch.number).is_some_and(|source| source.has_synced())
    }

    /// Whether the first lists of all collections are in their stores.
    pub fn all_synced(&self) -> bool {
        self.sources.values().all(|source| source.has_synced())
    }

    /// Whether no key of a controller is being reconciled. True for one that has left.
    pub fn is_idle(&self, controller: ControllerId) -> bool {
        self.workers.iter().all(|worker| worker.id != controller || worker.is_idle())
    }

    /// How many keys of a controller wait to be reconciled.
    pub fn waiting(&self, controller: ControllerId) -> usize {
        self.workers.iter().find(|worker| worker.id == controller).map_or(0, Worker::waiting)
    }

    /// Takes the machine out of use: nobody drives it any more. Nothing is handed out from now on.
    pub fn abandon(&mut self) {
        self.state = State::Stopped;
    }

    /// Whether the machine has stopped or was told to.
    pub fn is_stopping(&self) -> bool {
        !matches!(self.state, State::Running)
    }

    fn caches(&self) -> Caches<'_> {
        Caches(&self.sources)
    }

    fn informer_mut<T: Watched>(&mut self, watch: WatchId<T>) -> Option<&mut Informer<T>> {
        let source: &mut dyn Any = &mut **self.sources.get_mut(&watch.number)?;
        source.downcast_mut::<Collection<T>>().map(|collection| &mut collection.fed.informer)
    }

    fn number(&mut self) -> u32 {
        self.next_number += 1;
        self.next_number
    }

    /// Forgets the controllers that have left and of which no key is being reconciled any more.
    fn bury(&mut self) {
        self.workers.retain(|worker| !worker.is_leaving() || !worker.is_idle());
    }
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controllers")
            .field("watches", &self.caches())
            .field("workers", &self.workers)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
