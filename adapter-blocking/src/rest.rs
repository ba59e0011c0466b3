//! The moments at which a machine has come to rest, for threads that wait for something to have changed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Counts how often a machine has come to rest.
#[derive(Debug, Default)]
pub(crate) struct Rests {
    count: Mutex<u64>,
    more: Condvar,
}

impl Rests {
    /// How often so far. To be asked before looking at what may change.
    pub(crate) fn count(&self) -> u64 {
        *self.lock()
    }

    /// Waits until it has happened since it was `seen` times.
    pub(crate) fn wait(&self, seen: u64) {
        let waited = self.more.wait_while(self.lock(), |count| *count == seen);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// It has happened once more.
    pub(crate) fn notify(&self) {
        *self.lock() += 1;
        self.more.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        // A number is never half changed.
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
