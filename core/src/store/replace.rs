//! Replacing all that a store holds by a list, in place.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashMap;

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

/// A step of a replacement. First come the removals, then the listed objects, each in the order that [`Replaced`] has.
pub(crate) enum Replacement<T> {
    Listed { key: Key, old: Option<Arc<T>>, new: Arc<T> },
    Removed { key: Key, object: Arc<T> },
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
        let mut replaced = Replaced { old: Vec::with_capacity(objects.len()), removed: Vec::new(), unindexed: None };
        let unindexed = self.replace_by_steps(objects, resource_version, |step| match step {
            Replacement::Listed { old, .. } => replaced.old.push(old),
            Replacement::Removed { key, object } => replaced.removed.push((key, object)),
        })?;
        replaced.unindexed = unindexed;
        Ok(replaced)
    }

    /// As [`replace_shared`](Self::replace_shared), and tells each step as it is made instead of holding them all. Beside the list it
    /// takes a byte an object.
    ///
    /// # Errors
    /// The key function refused an object; then nothing was changed or told.
    pub(crate) fn replace_by_steps(
        &mut self,
        objects: Vec<Arc<T>>,
        resource_version: ResourceVersion,
        mut tell: impl FnMut(Replacement<T>),
    ) -> Result<Option<Refused>, Refused> {
        let before = self.slots.len();
        let mut listed = alloc::vec![false; before];
        let mut new = 0;
        // What was stored by keys that are listed more than once.
        let mut repeated = HashMap::new();
        for object in &objects {
            match self.slots.find(self.key_of(object)?.as_str()) {
                Some(slot) if core::mem::replace(&mut listed[slot as usize], true) => {
                    let stored = self.slots.slot(slot);
                    repeated.insert(stored.key.clone(), Arc::clone(&stored.object));
                }
                Some(_) => {}
                None => new += 1,
            }
        }
        // From the last to the first: what moves into a freed slot was looked at already.
        let mut removed = Vec::new();
        for slot in (0..before as u32).rev() {
            if !listed[slot as usize] {
                removed.push(self.remove_slot(slot));
            }
        }
        removed.into_iter().rev().for_each(|(key, object)| tell(Replacement::Removed { key, object }));
        self.reserve(new);
        let known = self.slots.len() as u32;
        let mut unindexed = None;
        for object in objects {
            // The same object has the same key, so that nothing is refused here.
            let key = self.key_of(&object)?;
            let is_new = self.slots.find(key.as_str()).is_none_or(|slot| slot >= known);
            let written = self.put(key.clone(), Arc::clone(&object));
            unindexed = written.unindexed.or(unindexed);
            let old = match repeated.get(&key) {
                _ if is_new => None,
                Some(stored) => Some(Arc::clone(stored)),
                None => written.old,
            };
            tell(Replacement::Listed { key, old, new: object });
        }
        self.resource_version = resource_version;
        Ok(unindexed)
    }
}
