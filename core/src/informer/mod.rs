//! The informer: a collection kept in a store, and handlers told of what changes in it.
//!
//! ```text
//! calls  ◄── reflector ──► queue ──► store ──► poll_change(handler)
//! answers ──►                                  store() for everyone else
//! ```
//!
//! An [`Informer`] is a [`Reflector`] that writes into a [`Cache`]: what it lists and watches goes through a delta queue into a store, and
//! each change of the store is told to every handler. A handler is a name by which changes are asked for; it joins and leaves at any time, is first told of
//! what is stored, and takes changes when it likes.
//!
//! Mirrors client-go `tools/cache/shared_informer.go` and `controller.go`.

mod backlog;
mod cache;
mod change;
mod handler;
mod handlers;
mod process;
mod sink;

use core::fmt;
use core::time::Duration;

pub use cache::Cache;
pub use change::Change;
pub use handler::{Filter, HandlerId, HandlerOptions};
pub use process::{Recreated, StoreChange, process_deltas};

use crate::delta::{InOrderFifo, Queue};
use crate::error::{Misuse, Refused};
use crate::key::Key;
use crate::object::{Decode, Resource, Transform};
use crate::reflector::{Config, Recovery, Reflector, WatchError};
use crate::request::{Call, CallId, CallIds, Failure, Head};
use crate::resource_version::ResourceVersion;
use crate::store::{IndexFunction, Store};
use crate::time::{Instant, Now};
use sink::Sink;

/// A collection of the API, listed, watched, stored, and told of.
///
/// It asks through [`poll_call`](Self::poll_call) and is told what came through `handle_*`, as a [`Reflector`] is. After each of those, ask each
/// handler's [`poll_change`](Self::poll_change) until it has nothing to tell.
pub struct Informer<T> {
    reflector: Reflector<T>,
    cache: Cache<T>,
    started: bool,
}

impl<T: Decode> Informer<T> {
    /// An informer that keeps objects as they come, by namespace and name, and each list as one change (the default of client-go 1.36).
    pub fn new(config: Config) -> Self {
        Self::with_queue(
            config,
            Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks()),
            Store::new(),
        )
    }

    /// An informer that trims each object before it is stored.
    pub fn with_transform(config: Config, transform: Transform<T>) -> Self {
        let queue = InOrderFifo::new(None, Some(transform)).with_atomic_lists().with_bookmarks();
        Self::with_queue(config, Queue::InOrder(queue), Store::new())
    }

    /// An informer around a queue and a store of one's own, both empty and with the same key function.
    pub fn with_queue(config: Config, queue: Queue<T>, store: Store<T>) -> Self {
        let cache = Cache::new(queue, store, config.resync_period, config.limits.handler_backlog);
        Self { reflector: Reflector::new(config), cache, started: false }
    }

    /// The informer, with another view of objects that were created anew under an old name.
    #[must_use]
    pub fn with_recreated(mut self, recreated: Recreated) -> Self {
        self.cache = self.cache.with_recreated(recreated);
        self
    }

    /// From now on failures are recovered from in this way; see [`Reflector::set_recovery`].
    pub const fn set_recovery(&mut self, recovery: Recovery) {
        self.reflector.set_recovery(recovery);
    }

    /// Adds an index to the store; see [`Store::add_index`].
    ///
    /// # Errors
    /// An index of that name exists ([`Misuse::IndexExists`]).
    pub fn add_index(&mut self, name: &str, function: IndexFunction<T>) -> Result<Option<Refused>, Misuse> {
        self.cache.store_mut().add_index(name, function)
    }

    /// Adds a handler. It is first told of all that is stored now, then of each change from now on.
    pub fn add_handler(&mut self, now: Now, options: HandlerOptions<T>) -> HandlerId {
        self.cache.add_handler(now, options)
    }

    /// Removes a handler, and with it what it has not taken. Returns whether it was there.
    pub fn remove_handler(&mut self, handler: HandlerId) -> bool {
        self.cache.remove_handler(handler)
    }

    /// The next change that a handler has not taken, with the key of the object. Asking again says that the last one has been dealt with.
    pub fn poll_change(&mut self, handler: HandlerId) -> Option<(Key, Change<T>)> {
        self.cache.poll_change(handler)
    }

    /// Whether, since this was last asked, changes of one object were merged because more waited than
    /// [`Limits::handler_backlog`](crate::limits::Limits::handler_backlog). What a handler is told then says what there is, but not all that has
    /// been: one that goes by the states in between has to look at everything again.
    pub fn take_merged(&mut self, handler: HandlerId) -> bool {
        self.cache.take_merged(handler)
    }

    /// The next call to make; see [`Reflector::poll_call`]. The first time, it settles how often resyncs are looked for.
    pub fn poll_call(&mut self, now: Now, ids: &mut CallIds) -> Option<Call> {
        if !self.started {
            self.started = true;
            let resync_period = self.cache.start();
            self.reflector = Reflector::new(Config { resync_period, ..self.reflector.config().clone() });
        }
        self.reflector.poll_call(now, ids)
    }

    /// A call that was given up; see [`Reflector::poll_cancel`].
    pub fn poll_cancel(&mut self) -> Option<CallId> {
        self.reflector.poll_cancel()
    }

    /// The last failure, if it was not asked for yet; see [`Reflector::poll_error`].
    pub fn poll_error(&mut self) -> Option<WatchError> {
        self.reflector.poll_error()
    }

    /// Takes the head of an answer.
    ///
    /// # Errors
    /// The call is not in flight ([`Misuse::UnknownCall`]).
    pub fn handle_head(&mut self, now: Now, id: CallId, head: Head) -> Result<(), Misuse> {
        self.reflector.handle_head(now, id, head)
    }

    /// Takes a piece of the body. The work is linear in its length, times the number of handlers, except where it completes a streaming list.
    ///
    /// # Errors
    /// The call is not in flight ([`Misuse::UnknownCall`]).
    pub fn handle_body(&mut self, now: Now, id: CallId, piece: &[u8]) -> Result<(), Misuse> {
        self.reflector.handle_body(now, id, piece, &mut Sink { cache: &mut self.cache, now })
    }

    /// Takes the end of an answer that is whole. The work is linear in the length of a list that it completes, and of the store.
    ///
    /// # Errors
    /// The call is not in flight ([`Misuse::UnknownCall`]).
    pub fn handle_end(&mut self, now: Now, id: CallId) -> Result<(), Misuse> {
        self.reflector.handle_end(now, id, &mut Sink { cache: &mut self.cache, now })
    }

    /// Takes the news that there will be no (further) answer.
    ///
    /// # Errors
    /// The call is not in flight ([`Misuse::UnknownCall`]).
    pub fn handle_failure(&mut self, now: Now, id: CallId, failure: Failure) -> Result<(), Misuse> {
        self.reflector.handle_failure(now, id, failure)
    }

    /// Does what is due. Calling early is harmless. The work of a resync is linear in the size of the store.
    pub fn handle_timeout(&mut self, now: Now) {
        self.reflector.handle_timeout(now, &mut Sink { cache: &mut self.cache, now });
    }

    /// When [`handle_timeout`](Self::handle_timeout) and [`poll_call`](Self::poll_call) are to be called next, if nothing comes before.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.reflector.next_deadline()
    }

    /// The collection.
    pub fn resource(&self) -> &Resource {
        &self.reflector.config().resource
    }

    /// The call in flight, if one is.
    pub fn in_flight(&self) -> Option<CallId> {
        self.reflector.in_flight()
    }

    /// The store, always in step with all that was handled.
    pub fn store(&self) -> &Store<T> {
        self.cache.store()
    }

    /// Whether the first list is in the store.
    pub fn has_synced(&self) -> bool {
        self.cache.has_synced()
    }

    /// Whether a handler has dealt with all that was in the first list, or was stored when it joined. False for one that has left.
    pub fn handler_has_synced(&self, handler: HandlerId) -> bool {
        self.cache.handler_has_synced(handler)
    }

    /// How many changes a handler has not taken.
    pub fn backlog(&self, handler: HandlerId) -> usize {
        self.cache.backlog(handler)
    }

    /// How often a handler is resynced; zero for never.
    pub fn resync_period(&self, handler: HandlerId) -> Duration {
        self.cache.resync_period(handler)
    }

    /// The version from which a watch would be resumed; none before the first list.
    pub fn last_sync_resource_version(&self) -> &ResourceVersion {
        self.reflector.last_sync_resource_version()
    }
}

impl<T> fmt::Debug for Informer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer").field("cache", &self.cache).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
