//! The cache behind an informer: the queue, the store it feeds, and the handlers that are told.

use core::fmt;
use core::time::Duration;

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::change::Change;
use super::handler::{HandlerId, HandlerOptions};
use super::handlers::Handlers;
use super::process::{Recreated, StoreChange, process_deltas};
use crate::delta::{Listed, Queue};
use crate::error::Refused;
use crate::key::Key;
use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::store::Store;
use crate::time::Now;

/// A store that is kept in step with what is written into it, and handlers told of each change.
///
/// Usable without a reflector by whoever has another source of objects. A write costs a step for each object written and each
/// handler.
pub struct Cache<T> {
    queue: Queue<T>,
    store: Store<T>,
    handlers: Handlers<T>,
    recreated: Recreated,
}

impl<T: Object> Cache<T> {
    /// A cache around an empty queue and store, which must agree on the key function.
    ///
    /// `resync` is how often it is looked whether a handler's resync is due, and how often a handler is resynced that does not say
    /// otherwise; zero for never. `backlog_limit` is [`Limits::handler_backlog`](crate::limits::Limits::handler_backlog).
    pub fn new(queue: Queue<T>, store: Store<T>, resync: Duration, backlog_limit: usize) -> Self {
        Self { queue, store, handlers: Handlers::new(resync, backlog_limit), recreated: Recreated::default() }
    }

    /// The cache, with another view of objects that were created anew under an old name.
    #[must_use]
    pub fn with_recreated(mut self, recreated: Recreated) -> Self {
        self.recreated = recreated;
        self
    }

    /// Settles how often it is looked whether a resync is due, and returns it. Handlers that join later cannot shorten it.
    pub fn start(&mut self) -> Duration {
        self.handlers.start()
    }

    /// Adds a handler. It is first told of all that is stored now, then of each change from now on.
    pub fn add_handler(&mut self, now: Now, options: HandlerOptions<T>) -> HandlerId {
        self.handlers.add(options, &self.store, now.instant)
    }

    /// Removes a handler, and with it what it has not taken. Returns whether it was there.
    pub fn remove_handler(&mut self, handler: HandlerId) -> bool {
        self.handlers.remove(handler)
    }

    /// The next change that a handler has not taken, with the key of the object. Asking again says that the last one has been dealt with.
    pub fn poll_change(&mut self, handler: HandlerId) -> Option<(Key, Change<T>)> {
        self.handlers.get_mut(handler)?.poll_change()
    }

    /// Whether, since this was last asked, changes of one object were merged because more waited than
    /// [`Limits::handler_backlog`](crate::limits::Limits::handler_backlog). What a handler is told then says what there is, but not all that has
    /// been: one that goes by the states in between has to look at everything again.
    pub fn take_merged(&mut self, handler: HandlerId) -> bool {
        self.handlers.get_mut(handler).is_some_and(|handler| handler.take_merged())
    }

    /// Takes a new object.
    ///
    /// # Errors
    /// The key function or the transformer refused it.
    pub fn add(&mut self, object: T) -> Result<(), Refused> {
        let queued = self.queue.add(object);
        self.process().and(queued)
    }

    /// Takes a changed object.
    ///
    /// # Errors
    /// The key function or the transformer refused it.
    pub fn update(&mut self, object: T) -> Result<(), Refused> {
        let queued = self.queue.update(object);
        self.process().and(queued)
    }

    /// Takes the final state of an object that is gone.
    ///
    /// # Errors
    /// The key function or the transformer refused it.
    pub fn delete(&mut self, object: T) -> Result<(), Refused> {
        let queued = self.queue.delete(object, &self.store);
        self.process().and(queued)
    }

    /// Takes a whole list, as of a version; what is stored and not listed is deleted.
    ///
    /// # Errors
    /// The key function or the transformer refused an object. With a queue that keeps lists as one change nothing was changed; else see
    /// [`Queue::replace`].
    pub fn replace(
        &mut self,
        objects: Vec<impl Into<Listed<T>>>,
        resource_version: ResourceVersion,
    ) -> Result<(), Refused> {
        let queued = self.queue.replace(objects, resource_version, &self.store);
        self.process().and(queued)
    }

    /// Tells every stored object again to the handlers found by the last [`should_resync`](Self::should_resync).
    ///
    /// # Errors
    /// The key function refused an object that it took before.
    pub fn resync(&mut self) -> Result<(), Refused> {
        self.queue.resync(&self.store);
        self.process()
    }

    /// Whether a resync of some handler is due; then [`resync`](Self::resync) is to be called.
    pub fn should_resync(&mut self, now: Now) -> bool {
        self.handlers.should_resync(now.instant)
    }

    /// Learns that the collection is known up to a version.
    ///
    /// # Errors
    /// None of its own; as for all that brings the store into step.
    pub fn bookmark(&mut self, resource_version: ResourceVersion) -> Result<(), Refused> {
        self.queue.bookmark(resource_version);
        self.process()
    }

    /// An object of a list that is not whole yet, as it should be held until it is: transformed, and shared with the store where that
    /// has the same.
    ///
    /// # Errors
    /// The key function or the transformer refused it.
    pub fn hold(&self, object: T) -> Result<Arc<T>, Refused> {
        let key = self.store.key_of(&object)?;
        let object = self.queue.transform(object)?;
        let stored = self.store.get(key.as_str()).filter(|stored| stored.is_same(&object));
        Ok(stored.cloned().unwrap_or_else(|| Arc::new(object)))
    }

    /// The store, always in step with all that was written.
    pub fn store(&self) -> &Store<T> {
        &self.store
    }

    /// The store, to add indexes.
    pub fn store_mut(&mut self) -> &mut Store<T> {
        &mut self.store
    }

    /// Whether the first list, or what came in its stead, is in the store.
    pub fn has_synced(&self) -> bool {
        self.queue.has_synced()
    }

    /// Whether a handler has dealt with all that was in the first list, or was stored when it joined. False for one that has left.
    ///
    /// Mirrors client-go `tools/cache/shared_informer.go`, `ResourceEventHandlerRegistration.HasSynced`.
    pub fn handler_has_synced(&self, handler: HandlerId) -> bool {
        self.has_synced() && self.handlers.get(handler).is_some_and(|handler| handler.took_initial())
    }

    /// How many changes a handler has not taken.
    pub fn backlog(&self, handler: HandlerId) -> usize {
        self.handlers.get(handler).map_or(0, |handler| handler.backlog())
    }

    /// How often a handler is resynced; zero for never.
    pub fn resync_period(&self, handler: HandlerId) -> Duration {
        self.handlers.get(handler).map_or(Duration::ZERO, |handler| handler.resync_period())
    }

    /// Brings the store into step with what is queued.
    fn process(&mut self) -> Result<(), Refused> {
        let mut result = Ok(());
        while let Some(popped) = self.queue.pop() {
            let tell = |told: StoreChange<T>| {
                self.handlers.tell(&told);
                if let Change::Update { old, .. } = told.change {
                    self.queue.recycle(old);
                }
            };
            let processed = process_deltas(&mut self.store, popped, self.recreated, tell);
            result = result.and(processed);
        }
        result
    }
}

impl<T> fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("store", &self.store).field("queue", &self.queue).finish_non_exhaustive()
    }
}
