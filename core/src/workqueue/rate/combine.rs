//! Limiters made of others.

use core::time::Duration;

use super::RateLimiter;
use crate::time::Instant;

/// The longer delay of two limiters. Both count every failure. Nests, for more than two.
///
/// Mirrors `TypedMaxOfRateLimiter`.
#[derive(Clone, Debug)]
pub struct MaxOf<A, B>(A, B);

impl<A, B> MaxOf<A, B> {
    /// The longer delay of these.
    pub const fn new(a: A, b: B) -> Self {
        Self(a, b)
    }
}

impl<K, A: RateLimiter<K>, B: RateLimiter<K>> RateLimiter<K> for MaxOf<A, B> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        self.0.when(now, key).max(self.1.when(now, key))
    }

    fn forget(&mut self, key: &K) {
        self.0.forget(key);
        self.1.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.0.num_requeues(key).max(self.1.num_requeues(key))
    }

    fn tracked(&self) -> usize {
        self.0.tracked() + self.1.tracked()
    }
}

/// The delay of another limiter, but not more than a maximum. The other one does not know that it was cut.
///
/// Mirrors `TypedWithMaxWaitRateLimiter`.
#[derive(Clone, Debug)]
pub struct WithMaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWait<L> {
    /// Cuts the delays of `limiter`.
    pub const fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for WithMaxWait<L> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        self.limiter.when(now, key).min(self.max)
    }

    fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.limiter.num_requeues(key)
    }

    fn tracked(&self) -> usize {
        self.limiter.tracked()
    }
}
