//! The classic queue: the changes of a key gather until they are popped together.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use hashbrown::{HashMap, HashSet};

use super::intake::Intake;
use super::population::Population;
use super::{Deletion, Delta, KnownObjects, Listed, Popped, Tombstone};
use crate::error::Refused;
use crate::key::{Key, KeyFunction};
use crate::object::{Object, Transform};
use crate::shrink;

/// Changes by key. A key keeps its place in the queue when more changes come; only deletions in a row are merged.
///
/// Mirrors client-go `tools/cache/delta_fifo.go`, `DeltaFIFO`.
pub struct DeltaFifo<T> {
    intake: Intake<T>,
    emit_replaced: bool,
    /// Each key with changes once, in the order of its first change.
    order: VecDeque<Key>,
    items: HashMap<Key, Vec<Delta<T>>>,
    population: Population,
    closed: bool,
}

impl<T: Object> DeltaFifo<T> {
    /// An empty queue that tells listed objects as [`Delta::Replaced`].
    pub fn new(key_function: Option<KeyFunction<T>>, transform: Option<Transform<T>>) -> Self {
        Self {
            intake: Intake::new(key_function, transform),
            emit_replaced: true,
            order: VecDeque::new(),
            items: HashMap::new(),
            population: Population::default(),
            closed: false,
        }
    }

    /// The queue, telling listed objects as [`Delta::Sync`] as the first versions of client-go did.
    #[must_use]
    pub fn without_replaced(mut self) -> Self {
        self.emit_replaced = false;
        self
    }

    /// Queues a new object.
    ///
    /// # Errors
    /// The key function or the transformer refused it. The queue counts as populated all the same.
    pub fn add(&mut self, object: T) -> Result<(), Refused> {
        self.population.touch();
        let (key, object) = self.intake.take(object)?;
        self.push(key, Delta::Added(object));
        Ok(())
    }

    /// Queues a changed object.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn update(&mut self, object: T) -> Result<(), Refused> {
        self.population.touch();
        let (key, object) = self.intake.take(object)?;
        self.push(key, Delta::Updated(object));
        Ok(())
    }

    /// Queues the deletion of an object, unless it is neither queued nor known.
    ///
    /// # Errors
    /// The key function or the transformer refused it.
    pub fn delete(&mut self, object: T, known: &impl KnownObjects<T>) -> Result<(), Refused> {
        let key = self.intake.key_of(&object)?;
        self.population.touch();
        if self.may_exist(&key, known) {
            let object = self.intake.transform(object)?;
            self.push(key, Delta::Deleted(Deletion::Observed(Arc::new(object))));
        }
        Ok(())
    }

    /// Queues a deletion that was missed, unless the object is neither queued nor known.
    pub fn delete_missed(&mut self, tombstone: Tombstone<T>, known: &impl KnownObjects<T>) {
        self.population.touch();
        let key = tombstone.key.clone();
        if self.may_exist(&key, known) {
            self.push(key, Delta::Deleted(Deletion::Missed(tombstone)));
        }
    }

    /// Queues the objects of a list, and the deletion of all that is queued or known and not in the list.
    ///
    /// # Errors
    /// The key function or the transformer refused an object. Those before it stay queued, no deletions are, and the
    /// queue does not count as populated by this.
    pub fn replace(&mut self, objects: Vec<impl Into<Listed<T>>>, known: &impl KnownObjects<T>) -> Result<(), Refused> {
        let mut listed = HashSet::with_capacity(objects.len());
        for object in objects {
            let object = object.into();
            let key = self.intake.key_of(object.as_object())?;
            listed.insert(key.clone());
            let object = self.intake.ready(object)?;
            self.push(key, if self.emit_replaced { Delta::Replaced(object) } else { Delta::Sync(object) });
        }
        let mut missing = Vec::new();
        for key in self.order.iter().filter(|key| !listed.contains(*key)) {
            missing.push(Tombstone { key: key.clone(), object: newest(&self.items[key]).cloned() });
        }
        for key in known.keys() {
            if !listed.contains(&key) && !self.items.contains_key(&key) {
                let object = known.get(key.as_str()).unwrap_or(None);
                missing.push(Tombstone { key, object });
            }
        }
        self.population.fill(listed.len() + missing.len());
        for tombstone in missing {
            self.push(tombstone.key.clone(), Delta::Deleted(Deletion::Missed(tombstone)));
        }
        Ok(())
    }

    /// Queues every known object that has no change in the queue.
    pub fn resync(&mut self, known: &impl KnownObjects<T>) {
        for key in known.keys() {
            if self.items.contains_key(&key) {
                continue;
            }
            if let Ok(Some(object)) = known.get(key.as_str()) {
                self.push(key, Delta::Sync(object));
            }
        }
    }

    /// Takes the changes of the key that has waited longest.
    pub fn pop(&mut self) -> Option<Popped<T>> {
        let key = self.order.pop_front()?;
        let initial = !self.has_synced();
        self.population.pop(1);
        let deltas = self.items.remove(&key).expect("every queued key has changes");
        shrink::queue(&mut self.order);
        if self.items.is_empty() {
            self.items.shrink_to(shrink::WORTHWHILE);
        }
        Some(Popped { deltas: deltas.into_iter().collect(), initial, synced: self.has_synced() })
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

    /// The keys with changes, in the order they will be popped.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.order.iter()
    }

    fn may_exist(&self, key: &Key, known: &impl KnownObjects<T>) -> bool {
        self.items.contains_key(key) || !matches!(known.get(key.as_str()), Ok(None))
    }

    fn push(&mut self, key: Key, delta: Delta<T>) {
        let deltas = self.items.entry_ref(&key).or_insert_with(|| {
            self.order.push_back(key.clone());
            Vec::new()
        });
        if let (Some(Delta::Deleted(earlier)), Delta::Deleted(_)) = (deltas.last(), &delta) {
            // Of two deletions the older observed one says most; a tombstone says less than whatever came later.
            if earlier.is_final_state_unknown() {
                deltas.pop();
            } else {
                return;
            }
        }
        deltas.push(delta);
    }
}

impl<T> DeltaFifo<T> {
    /// Whether the first list, or what came in its stead, has been popped.
    pub fn has_synced(&self) -> bool {
        self.population.has_synced()
    }

    /// Whether whoever filled the queue has ended.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The number of keys with changes.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is nothing to pop.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
impl<T> DeltaFifo<T> {
    pub(super) fn capacity(&self) -> usize {
        self.order.capacity() + self.items.capacity()
    }
}

/// The last state of a key that its changes tell.
fn newest<T>(deltas: &[Delta<T>]) -> Option<&Arc<T>> {
    deltas.last().and_then(Delta::object)
}

impl<T> fmt::Debug for DeltaFifo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifo")
            .field("len", &self.len())
            .field("population", &self.population)
            .finish_non_exhaustive()
    }
}
