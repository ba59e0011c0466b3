//! Either queue behind one interface.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{DeltaFifo, InOrderFifo, KnownObjects, Listed, Popped, Tombstone};
use crate::error::Refused;
use crate::object::Object;
use crate::resource_version::ResourceVersion;

/// A queue of either discipline. Each method does what the method of that name of the discipline's own type does.
pub enum Queue<T> {
    /// Changes gather by key.
    DeltaFifo(DeltaFifo<T>),
    /// Changes keep their order.
    InOrder(InOrderFifo<T>),
}

impl<T: Object> Queue<T> {
    /// Queues a new object.
    ///
    /// # Errors
    /// The key function or the transformer refused it. The queue counts as populated all the same.
    pub fn add(&mut self, object: T) -> Result<(), Refused> {
        match self {
            Self::DeltaFifo(queue) => queue.add(object),
            Self::InOrder(queue) => queue.add(object),
        }
    }

    /// Queues a changed object.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn update(&mut self, object: T) -> Result<(), Refused> {
        match self {
            Self::DeltaFifo(queue) => queue.update(object),
            Self::InOrder(queue) => queue.update(object),
        }
    }

    /// Queues the deletion of an object.
    ///
    /// # Errors
    /// The key function or the transformer refused it.
    pub fn delete(&mut self, object: T, known: &impl KnownObjects<T>) -> Result<(), Refused> {
        match self {
            Self::DeltaFifo(queue) => queue.delete(object, known),
            Self::InOrder(queue) => queue.delete(object),
        }
    }

    /// Queues a deletion that was missed.
    pub fn delete_missed(&mut self, tombstone: Tombstone<T>, known: &impl KnownObjects<T>) {
        match self {
            Self::DeltaFifo(queue) => queue.delete_missed(tombstone, known),
            Self::InOrder(queue) => queue.delete_missed(tombstone),
        }
    }

    /// Queues a list, and the deletion of what it lacks.
    ///
    /// # Errors
    /// The key function or the transformer refused an object. The queue does not count as populated by this; what is queued all the
    /// same is told at the discipline's own type.
    pub fn replace(
        &mut self,
        objects: Vec<impl Into<Listed<T>>>,
        resource_version: ResourceVersion,
        known: &impl KnownObjects<T>,
    ) -> Result<(), Refused> {
        match self {
            Self::DeltaFifo(queue) => queue.replace(objects, known),
            Self::InOrder(queue) => queue.replace(objects, resource_version, known),
        }
    }

    /// Queues every known object that has no change in the queue.
    pub fn resync(&mut self, known: &impl KnownObjects<T>) {
        match self {
            Self::DeltaFifo(queue) => queue.resync(known),
            Self::InOrder(queue) => queue.resync(known),
        }
    }

    /// Queues the news that the collection is known up to a version, if the discipline keeps bookmarks.
    pub fn bookmark(&mut self, resource_version: ResourceVersion) {
        match self {
            Self::DeltaFifo(_) => {}
            Self::InOrder(queue) => queue.bookmark(resource_version),
        }
    }

    /// Takes what has waited longest.
    pub fn pop(&mut self) -> Option<Popped<T>> {
        match self {
            Self::DeltaFifo(queue) => queue.pop(),
            Self::InOrder(queue) => queue.pop(),
        }
    }

    /// Takes what has waited longest: of the in-order queue up to `max` changes at once, of the classic one the changes of a key.
    pub fn pop_batch(&mut self, max: usize) -> Option<Popped<T>> {
        match self {
            Self::DeltaFifo(queue) => queue.pop(),
            Self::InOrder(queue) => queue.pop_batch(max),
        }
    }

    /// The object as the transformer leaves it.
    ///
    /// # Errors
    /// The transformer refused it.
    pub fn transform(&self, object: T) -> Result<T, Refused> {
        match self {
            Self::DeltaFifo(queue) => queue.transform(object),
            Self::InOrder(queue) => queue.transform(object),
        }
    }

    /// Takes an object that is not stored any more, so that the next one that comes can take its memory if nobody holds it any more.
    pub fn recycle(&mut self, object: Arc<T>) {
        match self {
            Self::DeltaFifo(queue) => queue.recycle(object),
            Self::InOrder(queue) => queue.recycle(object),
        }
    }

    /// Notes that whoever fills the queue has ended. Nothing is refused because of it.
    pub fn close(&mut self) {
        match self {
            Self::DeltaFifo(queue) => queue.close(),
            Self::InOrder(queue) => queue.close(),
        }
    }
}

impl<T> Queue<T> {
    /// Whether the first list, or what came in its stead, has been popped.
    pub fn has_synced(&self) -> bool {
        match self {
            Self::DeltaFifo(queue) => queue.has_synced(),
            Self::InOrder(queue) => queue.has_synced(),
        }
    }

    /// Whether whoever filled the queue has ended.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::DeltaFifo(queue) => queue.is_closed(),
            Self::InOrder(queue) => queue.is_closed(),
        }
    }

    /// How often [`pop`](Self::pop) can be called before it has nothing to give.
    pub fn len(&self) -> usize {
        match self {
            Self::DeltaFifo(queue) => queue.len(),
            Self::InOrder(queue) => queue.len(),
        }
    }

    /// Whether there is nothing to pop.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeltaFifo(queue) => queue.fmt(f),
            Self::InOrder(queue) => queue.fmt(f),
        }
    }
}
