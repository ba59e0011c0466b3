//! The log of a play: what controllers have written, whoever saw it pass.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sanskube::time::Timestamp;

/// What controllers have written, in the order of sending, and which watches the present one has.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) entries: Vec<Entry>,
    watches: BTreeSet<u64>,
    /// Since when it is just those watches.
    since: Timestamp,
}

/// A write, and as much of its answer as came.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) sent: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) method: String,
    /// Path and query.
    pub(super) path: String,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    /// Zero until the answer is whole.
    pub(super) status: u16,
    pub(super) answer: Vec<u8>,
}

impl Log {
    /// Takes note that a controller begins, which watches nothing yet.
    pub(super) fn begin(&mut self) {
        (self.watches, self.since) = (BTreeSet::new(), Timestamp::default());
    }

    /// Takes note of a watch that is answered from now on. Its number is not used twice.
    pub(super) fn open_watch(&mut self, watch: u64, now: Timestamp) {
        self.watches.insert(watch);
        self.since = now;
    }

    /// Takes note of the end of a watch, if it is one of the present controller.
    pub(super) fn close_watch(&mut self, watch: u64, now: Timestamp) {
        if self.watches.remove(&watch) {
            self.since = now;
        }
    }

    /// How many watches the present controller has, and since when it is just those.
    pub(super) fn watches(&self) -> (usize, Timestamp) {
        (self.watches.len(), self.since)
    }

    /// When a write was last sent or answered.
    pub(super) fn last_activity(&self) -> Option<Timestamp> {
        self.entries.iter().map(|entry| entry.ended.unwrap_or(entry.sent)).max()
    }
}

/// A log that is written by who sees requests pass, and read by a player.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLog(Arc<Mutex<Log>>);

impl SharedLog {
    pub(super) fn lock(&self) -> MutexGuard<'_, Log> {
        // Nothing is left half done while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
