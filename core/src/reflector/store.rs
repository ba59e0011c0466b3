//! What a reflector writes into.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::key::Key;
use crate::resource_version::ResourceVersion;

/// Where a reflector puts what it learns: a queue, a store, a test's record.
///
/// Each method may fail. A refused list ends the round and is listed again after a back-off; a refused event is lost
/// until the next list, as in client-go, and reported by [`Reflector::poll_error`](super::Reflector::poll_error).
///
/// Mirrors client-go `tools/cache/reflector.go`, `ReflectorStore`, `ReflectorBookmarkStore`, `ResourceVersionUpdater`
/// and `TransformingStore`.
pub trait ReflectorStore<T> {
    /// Why the store refused.
    type Error: fmt::Display;

    /// An object of a list that is not whole yet, as the reflector is to hold it: perhaps trimmed, or an object that the store
    /// has already where that is the same.
    ///
    /// # Errors
    /// The object cannot be taken. A list is refused with it; a streaming list goes on without it, as in client-go.
    fn hold(&mut self, object: T) -> Result<Arc<T>, Self::Error> {
        Ok(Arc::new(object))
    }

    /// The key that an object is stored by, if there is one of this text. An object that is decoded then takes the key that is there.
    fn known_key(&self, _text: &str) -> Option<Key> {
        None
    }

    /// Replaces everything by a whole list of objects that were held, which is as of `version`.
    ///
    /// # Errors
    /// The store did not take the list.
    fn replace(&mut self, objects: Vec<Arc<T>>, version: &ResourceVersion) -> Result<(), Self::Error>;

    /// Takes an object that came to be.
    ///
    /// # Errors
    /// The store did not take the object.
    fn add(&mut self, object: T) -> Result<(), Self::Error>;

    /// Takes an object's new state.
    ///
    /// # Errors
    /// The store did not take the object.
    fn update(&mut self, object: T) -> Result<(), Self::Error>;

    /// Takes the last state of an object that is gone.
    ///
    /// # Errors
    /// The store did not take the object.
    fn delete(&mut self, object: T) -> Result<(), Self::Error>;

    /// Asks for a resync: everything that is known is to be looked at again.
    ///
    /// # Errors
    /// The resync was not possible. The round ends as with a refused list.
    fn resync(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Whether a resync that is due is wanted.
    fn should_resync(&mut self) -> bool {
        true
    }

    /// Learns that all changes up to `version` were told.
    ///
    /// # Errors
    /// The store did not take it.
    fn bookmark(&mut self, _version: &ResourceVersion) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Learns the version from which the reflector would resume, after each event.
    fn update_resource_version(&mut self, _version: &ResourceVersion) {}
}
