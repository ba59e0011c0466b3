//! Rate limiters: how long a key that failed has to wait.
//!
//! Mirrors client-go `util/workqueue/default_rate_limiters.go`.

mod bucket;
mod combine;
mod item;

use alloc::boxed::Box;
use core::hash::Hash;
use core::time::Duration;

pub use bucket::{Bucket, Reservation};
pub use combine::{MaxOf, WithMaxWait};
pub use item::PerItem;

use crate::time::Instant;

/// Says how long a key has to wait after a failure, and remembers failures.
///
/// A limiter belongs to one queue: shared by two it would mix their failures.
pub trait RateLimiter<K> {
    /// Counts a failure of a key, and says how long it has to wait. [`NEVER`] and more is for ever.
    fn when(&mut self, now: Instant, key: &K) -> Duration;

    /// Forgets the failures of a key.
    fn forget(&mut self, key: &K);

    /// The number of failures of a key since it was forgotten.
    fn num_requeues(&self, key: &K) -> u32;

    /// The number of keys whose failures are remembered, which is what a limiter's memory grows with.
    fn tracked(&self) -> usize;
}

/// The delay of what will never be allowed: the longest duration of Go, some 292 years.
pub const NEVER: Duration = Duration::from_nanos(i64::MAX as u64);

/// The limiter that controllers use: see [`default_controller`].
pub type DefaultController<K> = MaxOf<PerItem<K>, Bucket>;

/// The limiter that controllers use: for each key 5 ms, doubled with each failure up to 1000 s; over all keys 10 a
/// second in bursts of up to 100.
///
/// When many keys fail at once the bucket makes the last of them wait for long. To bound its part of the delay build
/// the limiter with `WithMaxWait::new(Bucket::new(10.0, 100), most)` instead of the plain bucket.
///
/// Mirrors `DefaultTypedControllerRateLimiter`.
pub fn default_controller<K: Clone + Eq + Hash>() -> DefaultController<K> {
    MaxOf::new(PerItem::exponential(Duration::from_millis(5), Duration::from_secs(1000)), Bucket::new(10.0, 100))
}

/// For each key 1 ms, doubled with each failure up to 1000 s.
///
/// Mirrors `DefaultTypedItemBasedRateLimiter`.
pub fn default_item_based<K: Clone + Eq + Hash>() -> PerItem<K> {
    PerItem::exponential(Duration::from_millis(1), Duration::from_secs(1000))
}

/// No limit, and nothing counted.
impl<K> RateLimiter<K> for () {
    fn when(&mut self, _now: Instant, _key: &K) -> Duration {
        Duration::ZERO
    }

    fn forget(&mut self, _key: &K) {}

    fn num_requeues(&self, _key: &K) -> u32 {
        0
    }

    fn tracked(&self) -> usize {
        0
    }
}

impl<K, L: RateLimiter<K> + ?Sized> RateLimiter<K> for Box<L> {
    fn when(&mut self, now: Instant, key: &K) -> Duration {
        (**self).when(now, key)
    }

    fn forget(&mut self, key: &K) {
        (**self).forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        (**self).num_requeues(key)
    }

    fn tracked(&self) -> usize {
        (**self).tracked()
    }
}

#[cfg(test)]
mod tests;
