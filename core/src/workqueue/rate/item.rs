//! Limiters that look at each key alone.

use core::hash::Hash;
use core::time::Duration;

use hashbrown::HashMap;

use super::RateLimiter;
use crate::shrink;
use crate::time::Instant;

/// Failures of keys. Only looked up, never walked.
#[derive(Clone, Debug)]
struct Failures<K>(HashMap<K, u32>);

impl<K: Clone + Eq + Hash> Failures<K> {
    /// Counts one more, and returns how many there are now.
    fn count(&mut self, key: &K) -> u32 {
        match self.0.get_mut(key) {
            Some(failures) => {
                *failures = failures.saturating_add(1);
                *failures
            }
            None => {
                self.0.insert(key.clone(), 1);
                1
            }
        }
    }

    fn forget(&mut self, key: &K) {
        self.0.remove(key);
        shrink::map(&mut self.0);
    }

    fn of(&self, key: &K) -> u32 {
        self.0.get(key).copied().unwrap_or_default()
    }
}

/// The base delay, doubled with each failure of the key, up to a maximum.
///
/// Mirrors `TypedItemExponentialFailureRateLimiter`.
#[derive(Clone, Debug)]
pub struct ItemExponential<K> {
    failures: Failures<K>,
    base: Duration,
    max: Duration,
}

impl<K: Clone + Eq + Hash> ItemExponential<K> {
    /// Starts with `base`. A `max` below it counts.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { failures: Failures(HashMap::new()), base, max }
    }
}

impl<K: Clone + Eq + Hash> RateLimiter<K> for ItemExponential<K> {
    fn when(&mut self, _now: Instant, key: &K) -> Duration {
        let doublings = self.failures.count(key) - 1;
        // Go computes in doubles; they round a base of more than 104 days, and double without an error.
        let base = self.base.as_nanos() as f64 as u128;
        let factor = 1u128.checked_shl(doublings).unwrap_or(u128::MAX);
        let nanos = base.saturating_mul(factor).min(self.max.as_nanos());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn forget(&mut self, key: &K) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.failures.of(key)
    }

    fn tracked(&self) -> usize {
        self.failures.0.len()
    }
}

/// A short delay for the first failures of a key, a long one from then on.
///
/// Mirrors `TypedItemFastSlowRateLimiter`.
#[derive(Clone, Debug)]
pub struct ItemFastSlow<K> {
    failures: Failures<K>,
    fast: Duration,
    slow: Duration,
    max_fast_attempts: u32,
}

impl<K: Clone + Eq + Hash> ItemFastSlow<K> {
    /// Gives `fast` to the first `max_fast_attempts` failures of a key.
    pub fn new(fast: Duration, slow: Duration, max_fast_attempts: u32) -> Self {
        Self { failures: Failures(HashMap::new()), fast, slow, max_fast_attempts }
    }
}

impl<K: Clone + Eq + Hash> RateLimiter<K> for ItemFastSlow<K> {
    fn when(&mut self, _now: Instant, key: &K) -> Duration {
        if self.failures.count(key) <= self.max_fast_attempts { self.fast } else { self.slow }
    }

    fn forget(&mut self, key: &K) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.failures.of(key)
    }

    fn tracked(&self) -> usize {
        self.failures.0.len()
    }
}
