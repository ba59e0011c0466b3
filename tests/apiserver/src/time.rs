//! The two clocks a caller hands in with every call, and how the API writes wall time.

use std::time::Duration;

use jiff::Timestamp;

/// The present moment on both clocks.
///
/// Deadlines (watch timeouts, bookmarks) use `monotonic`, counted from any fixed start;
/// what is written into objects (creationTimestamp, managedFields) uses `wall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Time since an arbitrary start; it never goes back.
    pub monotonic: Duration,
    /// Wall time.
    pub wall: Timestamp,
}

impl Now {
    /// The same moment, `by` later on both clocks.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        let wall = self.wall.checked_add(jiff::SignedDuration::try_from(by).unwrap_or(jiff::SignedDuration::MAX));
        Self { monotonic: self.monotonic.saturating_add(by), wall: wall.unwrap_or(Timestamp::MAX) }
    }
}

/// `metav1.Time`: UTC with seconds.
pub(crate) fn rfc3339(t: Timestamp) -> String {
    t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `metav1.MicroTime`: UTC with exactly six decimals.
pub(crate) fn rfc3339_micro(t: Timestamp) -> String {
    t.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
