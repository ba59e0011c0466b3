//! Back-off: how long to wait before trying again.
//!
//! Small values without a clock of their own. A delay is asked for when something failed; whoever asked does the waiting.

mod item;
mod reset;
mod retry;

use core::time::Duration;

pub use item::ItemBackoff;
pub use reset::{BackoffWithReset, Reset};
pub use retry::RetryWithDeadline;

use crate::rand::SplitMix64;

/// A growing delay and the parameters it grows by.
///
/// Mirrors apimachinery `util/wait/backoff.go`, `Backoff`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The next delay, before jitter.
    pub duration: Duration,
    /// What the delay is multiplied by at each step; zero keeps it.
    pub factor: f64,
    /// Up to this part of a delay is added to it at random.
    pub jitter: f64,
    /// How many more steps may change the delay.
    pub steps: u32,
    /// The longest delay before jitter; zero for none. Reaching past it uses up the steps.
    pub cap: Duration,
}

impl Backoff {
    /// What a reflector waits: 0.8 s doubling up to 30 s, and up to as much again at random.
    ///
    /// Mirrors client-go `tools/cache/reflector.go`, `defaultBackoffInit` and its neighbours.
    pub const REFLECTOR: Self = Self {
        duration: Duration::from_millis(800),
        factor: 2.0,
        jitter: 1.0,
        steps: 38,
        cap: Duration::from_secs(30),
    };

    /// The next delay. Moves on by one step.
    ///
    /// Mirrors apimachinery `util/wait/backoff.go`, `Step` and `delay`.
    pub fn step(&mut self, random: &mut SplitMix64) -> Duration {
        let delay = self.duration;
        if self.steps > 0 {
            self.steps -= 1;
            if self.factor != 0.0 {
                self.duration = scale(delay, self.factor);
                if !self.cap.is_zero() && self.duration > self.cap {
                    self.duration = self.cap;
                    self.steps = 0;
                }
            }
        }
        if self.jitter > 0.0 { delay.saturating_add(scale(delay, self.jitter * random.next_unit())) } else { delay }
    }
}

/// A duration times a factor, in whole nanoseconds, within what 64 bits of them hold; a factor below zero counts as zero.
fn scale(duration: Duration, factor: f64) -> Duration {
    Duration::from_nanos((duration.as_nanos() as f64 * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reflectors_delays_double_to_their_cap_and_jitter_at_most_doubles_them() {
        let mut random = SplitMix64::new(1);
        let mut backoff = Backoff::REFLECTOR;
        for base in [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000] {
            let (base, delay) = (Duration::from_millis(base), backoff.step(&mut random));
            assert!(base <= delay && delay < base * 2, "{delay:?} for {base:?}");
        }
    }

    #[test]
    fn nothing_overflows() {
        let mut random = SplitMix64::new(1);
        for factor in [f64::INFINITY, f64::MAX, f64::NAN, -1.0] {
            let mut backoff =
                Backoff { duration: Duration::MAX, factor, jitter: factor, steps: u32::MAX, cap: Duration::ZERO };
            for _ in 0..3 {
                backoff.step(&mut random);
            }
        }
    }
}
