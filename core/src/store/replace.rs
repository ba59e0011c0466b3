//! Replacing all that a store holds by a list, in place.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Store;
use crate::error::Refused;
use crate::key::Key;
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// What a replacement did.
#[derive(Debug)]
#[must_use]
pub struct Replaced<T> {
    /// For each listed object, in the order of the list, what was stored by its key before the replacement.
    pub old: Vec<Option<Arc<T>>>,
    /// What was stored and is not listed, in the order of the store before the replacement.
    pub removed: Vec<(Key, Arc<T>)>,
    /// Why an object could not be taken into an index, if one could not: the last such reason.
    pub unindexed: Option<Refused>,
}

impl<T: Object> Store<T> {
    /// Makes the store hold just these objects, transformed, at this version. Of several with one key the last one stays.
    ///
    /// Mirrors client-go `tools/cache/store.go`, `Replace`.
    ///
    /// # Errors
    /// The transformer or the key function refused an object; then nothing was changed.
    pub fn replace(
        &mut self,
        objects: impl IntoIterator<Item = T>,
        resource_version: ResourceVersion,
    ) -> Result<Replaced<T>, Refused> {
        let objects: Result<Vec<_>, _> = objects.into_iter().map(|object| self.transformed(object)).collect();
        self.replace_shared(objects?, resource_version)
    }

    /// As [`replace`](Self::replace), with objects that are shared and not transformed.
    ///
    /// # Errors
    /// The key function refused an object; then nothing was changed.
    pub fn replace_shared(
        &mut self,
        objects: Vec<Arc<T>>,
        resource_version: ResourceVersion,
    ) -> Result<Replaced<T>, Refused> {
        let keys: Vec<Key> = objects.iter().map(|object| self.key_of(object)).collect::<Result<_, _>>()?;
        let before = self.slots.len();
        let mut listed = alloc::vec![false; before];
        let mut found = Vec::with_capacity(keys.len());
        for key in &keys {
            let slot = self.slots.find(key.as_str());
            if let Some(slot) = slot {
                listed[slot as usize] = true;
            }
            found.push(slot.map(|slot| Arc::clone(&self.slots.slot(slot).object)));
        }
        // From the last to the first: what moves into a freed slot was looked at already.
        let mut removed = Vec::new();
        for slot in (0..before as u32).rev() {
            if !listed[slot as usize] {
                removed.push(self.remove_slot(slot));
            }
        }
        removed.reverse();
        self.reserve(found.iter().filter(|found| found.is_none()).count());
        let mut unindexed = None;
        for (key, object) in keys.into_iter().zip(objects) {
            unindexed = self.put(key, object).unindexed.or(unindexed);
        }
        self.resource_version = resource_version;
        Ok(Replaced { old: found, removed, unindexed })
    }
}
