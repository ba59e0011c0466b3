//! The store: what is known of a collection, found by key and by indexes.
//!
//! Controllers read from it instead of from the API server. Objects are shared (`Arc`), so a reader keeps what it saw while the store
//! moves on, and nothing is copied. Additions and removals cost the same however much is stored and however many objects share
//! an index value; what is removed gives its memory back. The order of iteration depends on the operations alone.
//!
//! Mirrors client-go `tools/cache/store.go`, `index.go` and `thread_safe_store.go`.

mod index;
mod places;
mod replace;
mod slots;
mod transaction;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

pub use index::IndexFunction;
pub use replace::Replaced;
pub(crate) use replace::Replacement;
pub use transaction::{PartlyRefused, Write};

use crate::delta::{KnownObjects, Unavailable};
use crate::error::{Misuse, Refused};
use crate::key::{Key, KeyFunction};
use crate::object::{Object, Transform};
use crate::resource_version::ResourceVersion;
use index::Index;
use slots::Slots;

/// Objects of one type by key and by any number of indexes.
///
/// An index function that fails keeps its object out of that index only: the object is stored all the same, and the
/// write says why it is not in the index. (Go panics there.)
pub struct Store<T> {
    slots: Slots<T>,
    indexes: Vec<Index<T>>,
    resource_version: ResourceVersion,
    key_function: Option<KeyFunction<T>>,
    transform: Option<Transform<T>>,
}

/// What a write did.
#[derive(Debug)]
#[must_use]
pub struct Written<T> {
    /// What was stored by the same key before.
    pub old: Option<Arc<T>>,
    /// Why the object could not be taken into an index, if it could not: the last such reason.
    pub unindexed: Option<Refused>,
}

/// Why a question to an index has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexError {
    /// There is no index of that name.
    Misuse(Misuse),
    /// The index function refused the object that was asked about.
    Refused(Refused),
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(e) => e.fmt(f),
            Self::Refused(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for IndexError {}

impl<T> Store<T> {
    /// An empty store without indexes, of objects keyed by namespace and name.
    pub fn new() -> Self {
        Self {
            slots: Slots::new(),
            indexes: Vec::new(),
            resource_version: ResourceVersion::NONE,
            key_function: None,
            transform: None,
        }
    }

    /// The store with another key function. To be called before anything is stored.
    #[must_use]
    pub fn with_key_function(mut self, function: KeyFunction<T>) -> Self {
        self.key_function = Some(function);
        self
    }

    /// The store with a transformer that sees each object before it is stored, except those written shared or in a transaction.
    #[must_use]
    pub fn with_transform(mut self, transform: Transform<T>) -> Self {
        self.transform = Some(transform);
        self
    }

    /// Adds an index over what is stored and what will be. Costs a step for each object stored.
    ///
    /// Returns why an object could not be taken into the index, if one could not: the last such reason. The index is there all the same.
    ///
    /// Mirrors client-go `tools/cache/thread_safe_store.go`, `AddIndexers`.
    ///
    /// # Errors
    /// An index of that name exists ([`Misuse::IndexExists`]).
    pub fn add_index(&mut self, name: &str, function: IndexFunction<T>) -> Result<Option<Refused>, Misuse> {
        if self.index(name).is_ok() {
            return Err(Misuse::IndexExists);
        }
        let mut index = Index::new(name, function);
        let mut unindexed = None;
        for slot in self.slots.iter() {
            unindexed = index.push(&slot.object).err().or(unindexed);
        }
        self.indexes.push(index);
        Ok(unindexed)
    }

    /// Removes what is stored by a key and returns it. The version of the store stays, as when client-go is given a tombstone.
    pub fn remove(&mut self, key: &str) -> Option<Arc<T>> {
        let slot = self.slots.find(key)?;
        Some(self.remove_slot(slot).1)
    }

    /// Notes that the store is as new as this version, as a bookmark says.
    pub fn set_resource_version(&mut self, version: ResourceVersion) {
        self.resource_version = version;
    }

    /// What is stored by a key.
    pub fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.slots.find(key).map(|slot| &self.slots.slot(slot).object)
    }

    /// The key itself by which something is stored, if something is.
    pub fn key(&self, key: &str) -> Option<&Key> {
        self.slots.find(key).map(|slot| &self.slots.slot(slot).key)
    }

    /// The objects that an index finds by a value, in an order that depends on the operations so far alone.
    ///
    /// # Errors
    /// There is no index of that name ([`Misuse::NoSuchIndex`]).
    pub fn by_index<'a>(
        &'a self,
        index: &str,
        value: &str,
    ) -> Result<impl ExactSizeIterator<Item = &'a Arc<T>> + use<'a, T>, Misuse> {
        let slots = self.index(index)?.members(value);
        Ok(slots.map(|slot| &self.slots.slot(slot).object))
    }

    /// The keys that an index finds by a value, in the order of [`by_index`](Self::by_index).
    ///
    /// # Errors
    /// There is no index of that name ([`Misuse::NoSuchIndex`]).
    pub fn keys_by_index<'a>(
        &'a self,
        index: &str,
        value: &str,
    ) -> Result<impl ExactSizeIterator<Item = &'a Key> + use<'a, T>, Misuse> {
        let slots = self.index(index)?.members(value);
        Ok(slots.map(|slot| &self.slots.slot(slot).key))
    }

    /// The objects that share a value of an index with this one, each once.
    ///
    /// Mirrors client-go `tools/cache/thread_safe_store.go`, `Index`.
    ///
    /// # Errors
    /// There is no index of that name, or its function refused the object.
    pub fn sharing_index(&self, index: &str, object: &T) -> Result<Vec<&Arc<T>>, IndexError> {
        let index = self.index(index).map_err(IndexError::Misuse)?;
        let mut slots = Vec::new();
        (index.function)(object, &mut |value| slots.extend(index.members(value))).map_err(IndexError::Refused)?;
        slots.sort_unstable();
        slots.dedup();
        Ok(slots.into_iter().map(|slot| &self.slots.slot(slot).object).collect())
    }

    /// The values that an index knows, sorted; none if there is no such index.
    pub fn index_values(&self, index: &str) -> Vec<&str> {
        let mut values: Vec<&str> = self.index(index).map(|index| index.values().collect()).unwrap_or_default();
        values.sort_unstable();
        values
    }

    /// The names of the indexes, in the order they were added.
    pub fn index_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.indexes.iter().map(|index| &*index.name)
    }

    /// Everything stored, in an order that depends on the operations so far alone.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<T>> {
        self.slots.iter().map(|slot| &slot.object)
    }

    /// The keys of everything stored, in the order of [`iter`](Self::iter).
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.slots.iter().map(|slot| &slot.key)
    }

    /// The number of objects stored.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// About how many bytes of memory the objects take with their keys and indexes, without what they hold elsewhere (of the views of this
    /// crate: label sets, owners and node names, which many share). Costs a step for each index.
    pub fn bytes(&self) -> usize {
        self.slots.bytes() + self.indexes.iter().map(Index::bytes).sum::<usize>()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version of the last write, replacement or bookmark, whichever came last: writes in an odd order move it back.
    pub fn resource_version(&self) -> &ResourceVersion {
        &self.resource_version
    }

    fn index(&self, name: &str) -> Result<&Index<T>, Misuse> {
        self.indexes.iter().find(|index| *index.name == *name).ok_or(Misuse::NoSuchIndex)
    }

    fn put(&mut self, key: Key, object: Arc<T>) -> Written<T> {
        let mut unindexed = None;
        let old = match self.slots.find(key.as_str()) {
            Some(slot) => {
                for index in &mut self.indexes {
                    unindexed = index.update(slot, &object).err().or(unindexed);
                }
                Some(self.slots.exchange(slot, object))
            }
            None => {
                for index in &mut self.indexes {
                    unindexed = index.push(&object).err().or(unindexed);
                }
                self.slots.push(key, object);
                None
            }
        };
        Written { old, unindexed }
    }

    /// Makes room for so many further objects, so that no more is held for them than they need.
    fn reserve(&mut self, objects: usize) {
        self.slots.reserve(objects);
        for index in &mut self.indexes {
            index.reserve(objects);
        }
    }

    fn remove_slot(&mut self, slot: u32) -> (Key, Arc<T>) {
        for index in &mut self.indexes {
            index.swap_remove(slot);
        }
        let removed = self.slots.swap_remove(slot);
        (removed.key, removed.object)
    }

    fn transformed(&self, object: T) -> Result<Arc<T>, Refused> {
        match &self.transform {
            Some(transform) => transform(object).map(Arc::new),
            None => Ok(Arc::new(object)),
        }
    }
}

impl<T: Object> Store<T> {
    /// Stores an object, transformed, in the place of the one with the same key. The version of the store becomes that of the object.
    ///
    /// # Errors
    /// The transformer or the key function refused the object; then nothing was changed.
    pub fn add(&mut self, object: T) -> Result<Written<T>, Refused> {
        let object = self.transformed(object)?;
        self.add_shared(object)
    }

    /// As [`add`](Self::add), with an object that is shared and not transformed.
    ///
    /// # Errors
    /// The key function refused the object; then nothing was changed.
    pub fn add_shared(&mut self, object: Arc<T>) -> Result<Written<T>, Refused> {
        let key = self.key_of(&object)?;
        self.resource_version = object.resource_version();
        Ok(self.put(key, object))
    }

    /// Removes what is stored by the key of this object and returns it. The version of the store becomes that of the object given,
    /// also if nothing was stored.
    ///
    /// # Errors
    /// The key function refused the object; then nothing was changed.
    pub fn delete(&mut self, object: &T) -> Result<Option<Arc<T>>, Refused> {
        let key = self.key_of(object)?;
        self.resource_version = object.resource_version();
        Ok(self.remove(key.as_str()))
    }

    /// The key that an object is or would be stored by.
    ///
    /// # Errors
    /// The key function refused the object.
    pub fn key_of(&self, object: &T) -> Result<Key, Refused> {
        self.key_function.as_ref().map_or_else(|| Ok(object.key()), |function| function(object))
    }
}

impl<T> KnownObjects<T> for Store<T> {
    fn keys(&self) -> impl Iterator<Item = Key> {
        self.keys().cloned()
    }

    fn get(&self, key: &str) -> Result<Option<Arc<T>>, Unavailable> {
        Ok(self.get(key).cloned())
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Store<T> {
    /// How much there is, never what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("len", &self.len())
            .field("indexes", &self.index_names().collect::<Vec<_>>())
            .field("resource_version", &self.resource_version)
            .finish()
    }
}

/// An index function by namespace; objects of cluster-scoped resources are under the empty value.
///
/// Mirrors client-go `tools/cache/index.go`, `MetaNamespaceIndexFunc`.
pub fn namespace_index<T: Object>() -> IndexFunction<T> {
    Box::new(|object, value| {
        value(object.namespace());
        Ok(())
    })
}

#[cfg(test)]
mod tests;
