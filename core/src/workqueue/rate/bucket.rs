//! A limit over all keys together.

use core::time::Duration;

use super::{NEVER, RateLimiter};
use crate::time::Instant;

const NANOS_PER_SECOND: f64 = 1e9;

/// A token bucket: so many a second on average, so many at once. Full at first.
///
/// Tokens can be reserved ahead of time: a request that comes too early is told how long to wait, and the
/// bucket is in debt. It computes in doubles, in the order in which Go does, and so waits equal to the nanosecond.
///
/// Mirrors `golang.org/x/time/rate`, `Limiter`, and as a rate limiter client-go's `TypedBucketRateLimiter`.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: f64,
    burst: u32,
    tokens: f64,
    /// When `tokens` was right.
    last: Instant,
    /// When the latest reservation comes true.
    last_event: Instant,
}

/// Tokens that were set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    tokens: u32,
    at: Instant,
}

impl Reservation {
    /// When what the tokens are for may happen.
    pub const fn at(&self) -> Instant {
        self.at
    }
}

impl Bucket {
    /// `rate` tokens a second, at most `burst` at once. An infinite rate limits nothing; with a rate that is not above
    /// zero the first burst is all there is.
    pub fn new(rate: f64, burst: u32) -> Self {
        let rate = if rate > 0.0 { rate } else { 0.0 };
        Self { rate, burst, tokens: f64::from(burst), last: Instant::ZERO, last_event: Instant::ZERO }
    }

    /// Sets `n` tokens apart, however long that takes. `None` if there are never as many.
    pub fn reserve(&mut self, now: Instant, n: u32) -> Option<Reservation> {
        self.take(now, n, NEVER)
    }

    /// Takes `n` tokens if they are there. Returns whether they were.
    pub fn allow(&mut self, now: Instant, n: u32) -> bool {
        self.take(now, n, Duration::ZERO).is_some()
    }

    fn take(&mut self, now: Instant, n: u32, longest_wait: Duration) -> Option<Reservation> {
        if self.rate.is_infinite() {
            return Some(Reservation { tokens: n, at: now });
        }
        let tokens = self.tokens_at(now) - f64::from(n);
        let wait = if tokens < 0.0 { self.time_for(-tokens) } else { Duration::ZERO };
        if n > self.burst || wait > longest_wait {
            return None;
        }
        self.last = now;
        self.tokens = tokens;
        self.last_event = now + wait;
        Some(Reservation { tokens: n, at: self.last_event })
    }

    /// Gives the tokens of a reservation back, except those that later reservations have built upon. Nothing happens
    /// if its time has passed.
    ///
    /// Mirrors `Reservation.CancelAt`.
    pub fn cancel(&mut self, now: Instant, reservation: Reservation) {
        if self.rate.is_infinite() || reservation.tokens == 0 || reservation.at < now {
            return;
        }
        let later = self.tokens_in(self.last_event.since(reservation.at));
        let restored = f64::from(reservation.tokens) - later;
        if restored <= 0.0 {
            return;
        }
        self.tokens = (self.tokens_at(now) + restored).min(f64::from(self.burst));
        self.last = now;
        if reservation.at == self.last_event {
            let before = self.time_for(f64::from(reservation.tokens)).as_nanos();
            let before = u128::from(reservation.at.as_nanos()).checked_sub(before);
            if let Some(nanos) = before.and_then(|nanos| u64::try_from(nanos).ok()).filter(|n| *n >= now.as_nanos()) {
                self.last_event = Instant::from_nanos(nanos);
            }
        }
    }

    fn tokens_at(&self, now: Instant) -> f64 {
        (self.tokens + self.tokens_in(now.since(self.last))).min(f64::from(self.burst))
    }

    fn tokens_in(&self, time: Duration) -> f64 {
        (time.as_secs() as f64 + f64::from(time.subsec_nanos()) / NANOS_PER_SECOND) * self.rate
    }

    fn time_for(&self, tokens: f64) -> Duration {
        if self.rate <= 0.0 {
            return NEVER;
        }
        // The conversion cuts to an integer, and a value out of range to the largest.
        Duration::from_nanos(((tokens / self.rate) * NANOS_PER_SECOND) as u64).min(NEVER)
    }
}

impl<K> RateLimiter<K> for Bucket {
    fn when(&mut self, now: Instant, _key: &K) -> Duration {
        self.reserve(now, 1).map_or(NEVER, |reservation| reservation.at().since(now))
    }

    fn forget(&mut self, _key: &K) {}

    fn num_requeues(&self, _key: &K) -> u32 {
        0
    }

    fn tracked(&self) -> usize {
        0
    }
}
