//! A back-off that starts over.

use core::time::Duration;

use super::Backoff;
use crate::rand::SplitMix64;
use crate::time::Instant;

/// What the interval of a [`BackoffWithReset`] counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// From the last time it started over. What fails steadily starts over once an interval.
    ///
    /// Mirrors apimachinery `util/wait/backoff.go`, `DelayWithReset`.
    SinceReset,
    /// From the last delay that was asked for: a healthy time is needed. That delay itself is part of the interval, so
    /// the interval must be longer than the longest delay.
    ///
    /// Mirrors apimachinery `util/wait/backoff.go`, `NewExponentialBackoffManager`.
    SinceUse,
}

/// A [`Backoff`] that starts over when more than an interval has gone by; with an interval of zero it never grows.
#[derive(Clone, Debug)]
pub struct BackoffWithReset {
    initial: Backoff,
    current: Backoff,
    interval: Duration,
    reset: Reset,
    /// When it last started over.
    started: Instant,
    /// When a delay was last asked for.
    used: Instant,
}

impl BackoffWithReset {
    /// A back-off that has just started over at `start`.
    pub const fn new(backoff: Backoff, interval: Duration, reset: Reset, start: Instant) -> Self {
        Self { initial: backoff, current: backoff, interval, reset, started: start, used: start }
    }

    /// From now on the interval counts from something else.
    pub const fn set_reset(&mut self, reset: Reset) {
        self.reset = reset;
    }

    /// The next delay.
    pub fn next_delay(&mut self, now: Instant, random: &mut SplitMix64) -> Duration {
        let since = match self.reset {
            Reset::SinceReset => self.started,
            Reset::SinceUse => self.used,
        };
        if self.interval.is_zero() || now.since(since) > self.interval {
            self.current = self.initial;
            self.started = now;
        }
        self.used = now;
        self.current.step(random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delays of something that fails at once whenever it is tried, in seconds.
    fn steady_failure(reset: Reset) -> alloc::vec::Vec<u64> {
        let backoff = Backoff { duration: Duration::from_secs(1), jitter: 0.0, ..Backoff::REFLECTOR };
        let mut now = Instant::ZERO;
        let mut delays = BackoffWithReset::new(backoff, Duration::from_secs(120), reset, now);
        let mut random = SplitMix64::new(1);
        (0..12)
            .map(|_| {
                let delay = delays.next_delay(now, &mut random);
                now += delay;
                delay.as_secs()
            })
            .collect()
    }

    #[test]
    fn steady_failure_starts_over_only_when_the_interval_counts_from_the_reset() {
        assert_eq!(steady_failure(Reset::SinceReset), [1, 2, 4, 8, 16, 30, 30, 30, 1, 2, 4, 8]);
        assert_eq!(steady_failure(Reset::SinceUse), [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30]);
    }
}
