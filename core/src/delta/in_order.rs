//! The in-order queue: every change stands on its own, in the order of arrival.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use hashbrown::{HashMap, HashSet};

use super::intake::Intake;
use super::population::Population;
use super::{Deletion, Delta, KnownObjects, Listed, Popped, Tombstone};
use crate::error::Refused;
use crate::few::Few;
use crate::key::{Key, KeyFunction};
use crate::object::{Object, Transform};
use crate::resource_version::ResourceVersion;
use crate::shrink;

/// Changes in the order they came. A list is queued object by object, what it lacks first, or as one change.
///
/// Mirrors client-go `tools/cache/the_real_fifo.go`, `RealFIFO`.
pub struct InOrderFifo<T> {
    intake: Intake<T>,
    atomic: bool,
    bookmarks: bool,
    items: VecDeque<Item<T>>,
    population: Population,
    closed: bool,
}

struct Item<T> {
    /// The key of the one object that the change is about, if it is about one.
    key: Option<Key>,
    delta: Delta<T>,
}

impl<T: Object> InOrderFifo<T> {
    /// An empty queue that takes lists object by object and ignores bookmarks.
    pub fn new(key_function: Option<KeyFunction<T>>, transform: Option<Transform<T>>) -> Self {
        Self {
            intake: Intake::new(key_function, transform),
            atomic: false,
            bookmarks: false,
            items: VecDeque::new(),
            population: Population::default(),
            closed: false,
        }
    }

    /// The queue, keeping a list as one [`Delta::ReplacedAll`] and a resync as one [`Delta::SyncAll`]. Known objects are not asked
    /// for then: what is missing from a list is found out when it is taken into the store.
    #[must_use]
    pub fn with_atomic_lists(mut self) -> Self {
        self.atomic = true;
        self
    }

    /// The queue, keeping bookmarks as [`Delta::Bookmark`].
    #[must_use]
    pub fn with_bookmarks(mut self) -> Self {
        self.bookmarks = true;
        self
    }

    /// Queues a new object.
    ///
    /// # Errors
    /// The key function or the transformer refused it. The queue counts as populated all the same.
    pub fn add(&mut self, object: T) -> Result<(), Refused> {
        self.population.touch();
        let (key, object) = self.intake.take(object)?;
        self.push(Some(key), Delta::Added(object));
        Ok(())
    }

    /// Queues a changed object.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn update(&mut self, object: T) -> Result<(), Refused> {
        self.population.touch();
        let (key, object) = self.intake.take(object)?;
        self.push(Some(key), Delta::Updated(object));
        Ok(())
    }

    /// Queues the deletion of an object, known or not.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn delete(&mut self, object: T) -> Result<(), Refused> {
        self.population.touch();
        let (key, object) = self.intake.take(object)?;
        self.push(Some(key), Delta::Deleted(Deletion::Observed(object)));
        Ok(())
    }

    /// Queues a deletion that was missed, of an object known or not.
    pub fn delete_missed(&mut self, tombstone: Tombstone<T>) {
        self.population.touch();
        self.push_missed(tombstone);
    }

    /// Queues a list.
    ///
    /// # Errors
    /// With atomic lists: the transformer refused an object; then nothing is queued. Else: the key function refused an object, and nothing is
    /// queued; or the transformer did, and the deletions and the objects before it stay queued. In each case the queue does not count as populated by this.
    pub fn replace(
        &mut self,
        objects: Vec<impl Into<Listed<T>>>,
        resource_version: ResourceVersion,
        known: &impl KnownObjects<T>,
    ) -> Result<(), Refused> {
        let objects = objects.into_iter().map(Into::into);
        if self.atomic {
            let objects = objects.map(|object| self.intake.ready(object)).collect::<Result<_, _>>()?;
            self.push(None, Delta::ReplacedAll { objects, resource_version });
        } else {
            let objects: Vec<Listed<T>> = objects.collect();
            let keys = objects.iter().map(|object| self.intake.key_of(object.as_object()));
            let keys = keys.collect::<Result<Vec<Key>, _>>()?;
            for tombstone in self.missing(&keys, known) {
                self.push_missed(tombstone);
            }
            for (key, object) in keys.into_iter().zip(objects) {
                let object = self.intake.ready(object)?;
                self.push(Some(key), Delta::Replaced(object));
            }
        }
        self.population.fill(self.items.len());
        Ok(())
    }

    /// Queues every known object that has no change in the queue; with atomic lists, a change that means all of them.
    pub fn resync(&mut self, known: &impl KnownObjects<T>) {
        if self.atomic {
            self.push(None, Delta::SyncAll);
            return;
        }
        let queued: HashSet<Key> = self.items.iter().filter_map(|item| item.key.clone()).collect();
        for key in known.keys() {
            if queued.contains(&key) {
                continue;
            }
            if let Ok(Some(object)) = known.get(key.as_str()) {
                self.push(Some(key), Delta::Sync(object));
            }
        }
    }

    /// Queues the news that the collection is known up to a version, if bookmarks are kept.
    pub fn bookmark(&mut self, resource_version: ResourceVersion) {
        if self.bookmarks {
            self.push(None, Delta::Bookmark(resource_version));
        }
    }

    /// Takes the oldest change.
    pub fn pop(&mut self) -> Option<Popped<T>> {
        self.pop_front(1)
    }

    /// Takes the oldest changes, at most `max` of them: as many as are about different keys and belong to the first list alike.
    /// A change that is not about one object comes alone.
    pub fn pop_batch(&mut self, max: usize) -> Option<Popped<T>> {
        let initial = self.population.initial_left();
        let most = if initial > 0 { max.min(initial) } else { max };
        let mut keys = HashSet::new();
        let different = |item: &&Item<T>| item.key.as_ref().is_some_and(|key| keys.insert(key.clone()));
        let count = self.items.iter().take(most).take_while(different).count();
        self.pop_front(count.max(1))
    }

    fn pop_front(&mut self, count: usize) -> Option<Popped<T>> {
        let (initial, synced) = (!self.has_synced(), self.has_synced());
        let count = count.min(self.items.len());
        let deltas: Few<_> = self.items.drain(..count).map(|item| item.delta).collect();
        shrink::queue(&mut self.items);
        self.population.pop(count);
        (count > 0).then_some(Popped { deltas, initial, synced })
    }

    /// The object as the transformer leaves it.
    ///
    /// # Errors
    /// The transformer refused it.
    pub fn transform(&self, object: T) -> Result<T, Refused> {
        self.intake.transform(object)
    }

    /// Takes an object that is not stored any more, so that the next one that comes can take its memory.
    pub fn recycle(&mut self, object: Arc<T>) {
        self.intake.recycle(object);
    }

    /// Notes that whoever fills the queue has ended. Nothing is refused because of it.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Tombstones for what a list lacks: first what is queued, in the order it was first queued, then what is known only.
    fn missing(&self, listed: &[Key], known: &impl KnownObjects<T>) -> Vec<Tombstone<T>> {
        let listed: HashSet<&Key> = listed.iter().collect();
        let mut last = HashMap::new();
        let mut order = Vec::new();
        for item in &self.items {
            if let Some(key) = &item.key
                && last.insert(key, &item.delta).is_none()
            {
                order.push(key);
            }
        }
        let mut missing = Vec::new();
        for key in order {
            let delta = last[key];
            if !listed.contains(key) && !matches!(delta, Delta::Deleted(_)) {
                missing.push(Tombstone { key: key.clone(), object: delta.object().cloned() });
            }
        }
        for key in known.keys() {
            if !listed.contains(&key) && !last.contains_key(&key) {
                let object = known.get(key.as_str()).unwrap_or(None);
                missing.push(Tombstone { key, object });
            }
        }
        missing
    }

    fn push_missed(&mut self, tombstone: Tombstone<T>) {
        self.push(Some(tombstone.key.clone()), Delta::Deleted(Deletion::Missed(tombstone)));
    }

    fn push(&mut self, key: Option<Key>, delta: Delta<T>) {
        self.items.push_back(Item { key, delta });
    }
}

impl<T> InOrderFifo<T> {
    /// Whether the first list, or what came in its stead, has been popped.
    pub fn has_synced(&self) -> bool {
        self.population.has_synced()
    }

    /// Whether whoever filled the queue has ended.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The number of changes.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is nothing to pop.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
impl<T> InOrderFifo<T> {
    pub(super) fn capacity(&self) -> usize {
        self.items.capacity()
    }
}

impl<T> fmt::Debug for InOrderFifo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InOrderFifo")
            .field("len", &self.len())
            .field("population", &self.population)
            .finish_non_exhaustive()
    }
}
