//! Retrying at once for a limited time.

use core::time::Duration;

use crate::time::Instant;

/// Says whether an error may still be retried: for so long since the first of a row of them.
///
/// Mirrors client-go `tools/cache/retry_with_deadline.go`.
#[derive(Clone, Debug)]
pub struct RetryWithDeadline {
    max_retry: Duration,
    min_reset: Duration,
    /// When the first and the last error of the present row came.
    row: Option<(Instant, Instant)>,
}

impl RetryWithDeadline {
    /// Allows retries for `max_retry` (zero: none) since the first error of a row; errors that are `min_reset` apart
    /// belong to different rows.
    pub const fn new(max_retry: Duration, min_reset: Duration) -> Self {
        Self { max_retry, min_reset, row: None }
    }

    /// Takes note of a retryable error.
    pub fn handle_error(&mut self, now: Instant) {
        self.row = match self.row {
            Some((first, last)) if now.since(last) < self.min_reset => Some((first, now)),
            _ => Some((now, now)),
        };
    }

    /// Whether to retry. A no ends the row.
    pub fn should_retry(&mut self, now: Instant) -> bool {
        let retry = !self.max_retry.is_zero() && self.row.is_some_and(|(first, _)| now.since(first) <= self.max_retry);
        if !retry {
            self.row = None;
        }
        retry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_retried_for_its_time_and_a_pause_begins_a_new_row() {
        let at = |seconds: u64| Instant::from_millis(seconds * 1000);
        let mut retry = RetryWithDeadline::new(Duration::from_secs(10), Duration::from_secs(60));
        assert!(!retry.should_retry(at(0)));
        retry.handle_error(at(0));
        retry.handle_error(at(9));
        assert!(retry.should_retry(at(10)));
        retry.handle_error(at(69));
        assert!(retry.should_retry(at(79)));
        assert!(!retry.should_retry(at(80)));
    }
}
