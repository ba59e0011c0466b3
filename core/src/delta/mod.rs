//! Delta queues: what was learned about a collection and not yet taken into the store.
//!
//! What watches a collection pushes here; what keeps the store in step pops. Two disciplines stand behind one interface,
//! [`Queue`]: [`DeltaFifo`] gathers the changes of a key until they are popped together, [`InOrderFifo`] keeps every change on its own
//! in the order of arrival, and can keep a whole list as one change so that the store moves from one list to the next at once.
//!
//! A queue knows when it is in sync: once the first list, or whatever came in its stead, has been popped. What is popped before is flagged
//! as initial.
//!
//! Mirrors client-go `tools/cache/delta_fifo.go` and `the_real_fifo.go`.

mod fifo;
mod in_order;
mod intake;
mod population;
mod queue;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

pub use fifo::DeltaFifo;
pub use in_order::InOrderFifo;
pub use queue::Queue;

use crate::few::Few;
use crate::key::Key;
use crate::resource_version::ResourceVersion;

/// One thing learned about a collection.
pub enum Delta<T> {
    /// A watch told of a new object.
    Added(Arc<T>),
    /// A watch told of a changed object.
    Updated(Arc<T>),
    /// An object is gone.
    Deleted(Deletion<T>),
    /// A list had the object.
    Replaced(Arc<T>),
    /// A list had just these objects, at this version.
    ReplacedAll {
        /// All objects of the list.
        objects: Vec<Arc<T>>,
        /// The version of the list.
        resource_version: ResourceVersion,
    },
    /// It is time to look at the object again; nothing is known to have changed.
    Sync(Arc<T>),
    /// It is time to look at every stored object again.
    SyncAll,
    /// The collection is known up to this version.
    Bookmark(ResourceVersion),
}

/// The end of an object, with the best that is known of its last state.
pub enum Deletion<T> {
    /// A watch told of it: this is the final state.
    Observed(Arc<T>),
    /// The deletion itself was missed.
    Missed(Tombstone<T>),
}

/// What is left of an object that turned out to be gone: its final state is unknown.
///
/// Mirrors client-go `tools/cache/delta_fifo.go`, `DeletedFinalStateUnknown`.
pub struct Tombstone<T> {
    /// The key it was stored by.
    pub key: Key,
    /// The last state known; may be older than the final one.
    pub object: Option<Arc<T>>,
}

/// An object of a list, as a queue is given it.
pub enum Listed<T> {
    /// As it came: it is transformed when it is queued.
    Raw(T),
    /// Transformed already, such as what is stored and was listed again.
    Ready(Arc<T>),
}

impl<T> From<T> for Listed<T> {
    fn from(object: T) -> Self {
        Self::Raw(object)
    }
}

impl<T> From<Arc<T>> for Listed<T> {
    fn from(object: Arc<T>) -> Self {
        Self::Ready(object)
    }
}

impl<T> Listed<T> {
    fn as_object(&self) -> &T {
        match self {
            Self::Raw(object) => object,
            Self::Ready(object) => object,
        }
    }
}

/// What a queue hands out at once.
#[derive(Debug)]
pub struct Popped<T> {
    /// The changes, oldest first; never empty.
    pub deltas: Few<Delta<T>>,
    /// Whether this belongs to the first list: the queue was not in sync before.
    pub initial: bool,
    /// Whether the queue counts as in sync while this is being processed. After that, [`Queue::has_synced`] tells.
    pub synced: bool,
}

/// What the queue may know of the objects behind it, so as to find out what a list no longer has.
///
/// `()` knows of none.
pub trait KnownObjects<T> {
    /// The keys of all objects known. The order in which deletions are queued follows it.
    fn keys(&self) -> impl Iterator<Item = Key>;

    /// The object with a key.
    ///
    /// # Errors
    /// It is not known whether there is one.
    fn get(&self, key: &str) -> Result<Option<Arc<T>>, Unavailable>;
}

/// A lookup failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the object could not be looked up")
    }
}

impl core::error::Error for Unavailable {}

impl<T> KnownObjects<T> for () {
    fn keys(&self) -> impl Iterator<Item = Key> {
        core::iter::empty()
    }

    fn get(&self, _key: &str) -> Result<Option<Arc<T>>, Unavailable> {
        Ok(None)
    }
}

impl<T> Delta<T> {
    /// The newest state of the one object that this is about, if it is about one and a state is known.
    pub fn object(&self) -> Option<&Arc<T>> {
        match self {
            Self::Added(object) | Self::Updated(object) | Self::Replaced(object) | Self::Sync(object) => Some(object),
            Self::Deleted(deletion) => deletion.object(),
            Self::ReplacedAll { .. } | Self::SyncAll | Self::Bookmark(_) => None,
        }
    }
}

impl<T> Deletion<T> {
    /// The last state known.
    pub fn object(&self) -> Option<&Arc<T>> {
        match self {
            Self::Observed(object) => Some(object),
            Self::Missed(tombstone) => tombstone.object.as_ref(),
        }
    }

    /// Whether the object may have changed after the last state known.
    pub fn is_final_state_unknown(&self) -> bool {
        matches!(self, Self::Missed(_))
    }
}

impl<T> Clone for Deletion<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Observed(object) => Self::Observed(Arc::clone(object)),
            Self::Missed(tombstone) => Self::Missed(tombstone.clone()),
        }
    }
}

impl<T> Clone for Tombstone<T> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), object: self.object.clone() }
    }
}

impl<T> fmt::Debug for Delta<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(_) => f.write_str("Added"),
            Self::Updated(_) => f.write_str("Updated"),
            Self::Deleted(deletion) => deletion.fmt(f),
            Self::Replaced(_) => f.write_str("Replaced"),
            Self::ReplacedAll { objects, resource_version } => {
                write!(f, "ReplacedAll({} objects @{resource_version})", objects.len())
            }
            Self::Sync(_) => f.write_str("Sync"),
            Self::SyncAll => f.write_str("SyncAll"),
            Self::Bookmark(version) => write!(f, "Bookmark({version})"),
        }
    }
}

impl<T> fmt::Debug for Listed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Raw(_)) { "Raw" } else { "Ready" })
    }
}

impl<T> fmt::Debug for Deletion<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observed(_) => f.write_str("Deleted"),
            Self::Missed(tombstone) => tombstone.fmt(f),
        }
    }
}

impl<T> fmt::Debug for Tombstone<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tombstone({})", self.key)
    }
}

#[cfg(test)]
mod tests;
