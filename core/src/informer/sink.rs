//! What a reflector writes into when it feeds a cache.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::cache::Cache;
use crate::error::Refused;
use crate::key::Key;
use crate::object::Object;
use crate::reflector::ReflectorStore;
use crate::resource_version::ResourceVersion;
use crate::time::Now;

/// A cache at the moment at which it is written to.
pub(super) struct Sink<'a, T> {
    pub(super) cache: &'a mut Cache<T>,
    pub(super) now: Now,
}

impl<T: Object> ReflectorStore<T> for Sink<'_, T> {
    type Error = Refused;

    fn hold(&mut self, object: T) -> Result<Arc<T>, Refused> {
        self.cache.hold(object)
    }

    fn known_key(&self, text: &str) -> Option<Key> {
        self.cache.store().key(text).cloned()
    }

    fn replace(&mut self, objects: Vec<Arc<T>>, version: &ResourceVersion) -> Result<(), Refused> {
        self.cache.replace(objects, version.clone())
    }

    fn add(&mut self, object: T) -> Result<(), Refused> {
        self.cache.add(object)
    }

    fn update(&mut self, object: T) -> Result<(), Refused> {
        self.cache.update(object)
    }

    fn delete(&mut self, object: T) -> Result<(), Refused> {
        self.cache.delete(object)
    }

    fn resync(&mut self) -> Result<(), Refused> {
        self.cache.resync()
    }

    fn should_resync(&mut self) -> bool {
        self.cache.should_resync(self.now)
    }

    fn bookmark(&mut self, version: &ResourceVersion) -> Result<(), Refused> {
        self.cache.bookmark(version.clone())
    }
}
