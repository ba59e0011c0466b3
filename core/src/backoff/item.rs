//! The back-off of one item among many.

use core::time::Duration;

use crate::time::Instant;

/// How long one item is left alone; twice as long at each failure, forgotten after a quiet time of twice the longest.
///
/// The map from items to such values is the user's. Without jitter.
/// Mirrors client-go `util/flowcontrol/backoff.go`, one entry of `Backoff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemBackoff {
    delay: Duration,
    updated: Instant,
}

impl ItemBackoff {
    /// An item that failed for the first time.
    pub const fn new(initial: Duration, now: Instant) -> Self {
        Self { delay: initial, updated: now }
    }

    /// Takes note of a further failure, at `event`.
    pub fn handle_failure(&mut self, initial: Duration, max: Duration, event: Instant, now: Instant) {
        self.delay = if self.is_expired(max, event) { initial } else { self.delay.saturating_mul(2).min(max) };
        self.updated = now;
    }

    /// The present delay.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Whether the item was quiet for so long before `event` that it may be forgotten.
    pub fn is_expired(&self, max: Duration, event: Instant) -> bool {
        event.since(self.updated) > max.saturating_mul(2)
    }

    /// Whether less than the delay has gone by since `event`.
    pub fn is_in_backoff_since(&self, max: Duration, event: Instant, now: Instant) -> bool {
        !self.is_expired(max, event) && now.since(event) < self.delay
    }

    /// Whether `event` came less than the delay after the last failure.
    pub fn is_in_backoff_since_update(&self, max: Duration, event: Instant) -> bool {
        !self.is_expired(max, event) && event.since(self.updated) < self.delay
    }
}
