//! Controllers behind a lock, and their caches for everybody to read.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::sync::{PoisonError, RwLock};

use super::{Controllers, WatchId, Watched};
use crate::error::Misuse;
use crate::key::Key;
use crate::machine::{Input, Machine, Output};
use crate::object::Resource;
use crate::store::Store;
use crate::time::Now;

/// [`Controllers`] that one thread or task drives while others read their caches, take keys and report results.
///
/// The lock is held while the machine is given an input or asked for one output, and never across I/O or a reconciliation.
#[derive(Clone)]
pub struct Shared(Arc<RwLock<Controllers>>);

impl Shared {
    /// Puts a machine behind a lock.
    pub fn new(controllers: Controllers) -> Self {
        Self(Arc::new(RwLock::new(controllers)))
    }

    /// Looks at the machine. `look` must not use this or a [`Cache`] of it, and should be short: the machine waits.
    pub fn read<R>(&self, look: impl FnOnce(&Controllers) -> R) -> R {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the machine. Whoever drives it must be told, so that its outputs are asked for again.
    pub fn write<R>(&self, change: impl FnOnce(&mut Controllers) -> R) -> R {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The cache of a collection.
    pub fn cache<T: Watched>(&self, watch: WatchId<T>) -> Cache<T> {
        Cache { shared: self.clone(), watch }
    }
}

impl Machine for Shared {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        self.write(|controllers| controllers.handle_input(now, input))
    }

    fn poll_output(&mut self, now: Now) -> Output {
        self.write(|controllers| controllers.poll_output(now))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|controllers| controllers.fmt(f))
    }
}

/// What is known of one collection, to be read from any thread or task.
///
/// Objects are shared, not copied: a reader keeps what it saw while the cache moves on. Each call sees all of one moment; two calls may see two moments.
pub struct Cache<T> {
    shared: Shared,
    watch: WatchId<T>,
}

impl<T: Watched> Cache<T> {
    /// The object of a key.
    pub fn get(&self, key: &Key) -> Option<Arc<T>> {
        self.find(key.as_str())
    }

    /// The object of a key that is written `namespace/name`, or `name` where there is no namespace.
    pub fn find(&self, key: &str) -> Option<Arc<T>> {
        self.with(|store| store.get(key).cloned())?
    }

    /// All objects.
    pub fn list(&self) -> Vec<Arc<T>> {
        self.with(|store| store.iter().cloned().collect()).unwrap_or_default()
    }

    /// The objects that an index finds by a value; see [`Controllers::add_index`].
    ///
    /// # Errors
    /// There is no index of that name ([`Misuse::NoSuchIndex`]), or the collection is not watched any more ([`Misuse::NotWatched`]).
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<T>>, Misuse> {
        let found = self.with(|store| Ok(store.by_index(index, value)?.cloned().collect()));
        found.unwrap_or(Err(Misuse::NotWatched))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.with(Store::len).unwrap_or_default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the first list is in it.
    pub fn has_synced(&self) -> bool {
        self.shared.read(|controllers| controllers.has_synced(self.watch))
    }

    /// What it is of; none if it is not watched any more.
    pub fn resource(&self) -> Option<Resource> {
        self.shared.read(|controllers| controllers.resource(self.watch).cloned())
    }

    /// The watched collection.
    pub fn watch(&self) -> WatchId<T> {
        self.watch
    }

    /// Looks at the store itself, while nothing can change; none if the collection is not watched any more. As for [`Shared::read`].
    pub fn with<R>(&self, look: impl FnOnce(&Store<T>) -> R) -> Option<R> {
        self.shared.read(|controllers| controllers.store(self.watch).map(look))
    }
}

impl<T> Clone for Cache<T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), watch: self.watch }
    }
}

impl<T: Watched> fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("watch", &self.watch).field("len", &self.len()).finish()
    }
}
