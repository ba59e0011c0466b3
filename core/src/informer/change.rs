//! A change to the store, as handlers are told of it.

use alloc::sync::Arc;
use core::fmt;

use crate::delta::Deletion;

/// What happened to one object of the store.
///
/// Mirrors client-go `tools/cache/controller.go`, `ResourceEventHandler`.
pub enum Change<T> {
    /// The object was not stored before.
    Add {
        /// The object.
        object: Arc<T>,
        /// Whether the object was in the first list, or was stored already when the handler joined.
        initial: bool,
    },
    /// The object was stored in another state before, or in the same state when it is only time to look at it again.
    Update {
        /// The state before.
        old: Arc<T>,
        /// The state now.
        new: Arc<T>,
    },
    /// The object is not stored any more.
    Delete(Deletion<T>),
}

impl<T> Change<T> {
    /// The newest state of the object that is known; none only for a tombstone without one.
    pub fn object(&self) -> Option<&Arc<T>> {
        match self {
            Self::Add { object, .. } | Self::Update { new: object, .. } => Some(object),
            Self::Delete(deletion) => deletion.object(),
        }
    }
}

impl<T> Clone for Change<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Add { object, initial } => Self::Add { object: Arc::clone(object), initial: *initial },
            Self::Update { old, new } => Self::Update { old: Arc::clone(old), new: Arc::clone(new) },
            Self::Delete(deletion) => Self::Delete(deletion.clone()),
        }
    }
}

impl<T> fmt::Debug for Change<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { initial: true, .. } => f.write_str("Add(initial)"),
            Self::Add { .. } => f.write_str("Add"),
            Self::Update { .. } => f.write_str("Update"),
            Self::Delete(deletion) => write!(f, "Delete({deletion:?})"),
        }
    }
}
