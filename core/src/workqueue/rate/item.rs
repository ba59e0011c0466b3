//! Limiters that look at each key alone.

use core::hash::Hash;
use core::time::Duration;

use hashbrown::HashMap;

use super::RateLimiter;
use crate::shrink;
use crate::time::Instant;

/// A limiter that looks at each key alone: how often a key has failed says how long it waits.
#[derive(Clone, Debug)]
pub struct PerItem<K> {
    /// Failures of keys. Only looked up, never walked.
    failures: HashMap<K, u32>,
    delay: Delay,
}

#[derive(Clone, Copy, Debug)]
enum Delay {
    Exponential { base: Duration, max: Duration },
    FastSlow { fast: Duration, slow: Duration, max_fast_attempts: u32 },
}

impl<K: Clone + Eq + Hash> PerItem<K> {
    /// The base delay, doubled with each failure of the key, up to a maximum. A `max` below `base` counts.
    ///
    /// Mirrors `TypedItemExponentialFailureRateLimiter`.
    pub fn exponential(base: Duration, max: Duration) -> Self {
        Self { failures: HashMap::new(), delay: Delay::Exponential { base, max } }
    }

    /// A short delay for the first `max_fast_attempts` failures of a key, a long one from then on.
    ///
    /// Mirrors `TypedItemFastSlowRateLimiter`.
    pub fn fast_slow(fast: Duration, slow: Duration, max_fast_attempts: u32) -> Self {
        Self { failures: HashMap::new(), delay: Delay::FastSlow { fast, slow, max_fast_attempts } }
    }

    /// Counts one more failure, and returns how many there are now.
    fn count(&mut self, key: &K) -> u32 {
        match self.failures.get_mut(key) {
            Some(failures) => {
                *failures = failures.saturating_add(1);
                *failures
            }
            None => {
                self.failures.insert(key.clone(), 1);
                1
            }
        }
    }
}

impl<K: Clone + Eq + Hash> RateLimiter<K> for PerItem<K> {
    fn when(&mut self, _now: Instant, key: &K) -> Duration {
        let failures = self.count(key);
        self.delay.after(failures)
    }

    fn forget(&mut self, key: &K) {
        self.failures.remove(key);
        shrink::map(&mut self.failures);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or_default()
    }

    fn tracked(&self) -> usize {
        self.failures.len()
    }
}

impl Delay {
    /// How long a key waits that has failed so often, at least once.
    fn after(self, failures: u32) -> Duration {
        match self {
            Self::Exponential { base, max } => {
                // Go computes in doubles; they round a base of more than 104 days, and double without an error.
                let base = base.as_nanos() as f64 as u128;
                let factor = 1u128.checked_shl(failures - 1).unwrap_or(u128::MAX);
                let nanos = base.saturating_mul(factor).min(max.as_nanos());
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
            Self::FastSlow { fast, max_fast_attempts, .. } if failures <= max_fast_attempts => fast,
            Self::FastSlow { slow, .. } => slow,
        }
    }
}
