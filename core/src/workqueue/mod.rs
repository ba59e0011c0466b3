//! The work queue: which keys to reconcile, and when.
//!
//! Events say that something about an object changed; the queue makes of many events one run for its key, never gives one key
//! to two workers, runs a key again at a time it asked for, and makes one that fails wait longer each time. It is
//! plain data: time comes in with each call, and [`WorkQueue::next_deadline`] is the one moment to wait for.
//!
//! ```
//! use sanskube::time::Instant;
//! use sanskube::workqueue::{Finish, Get, WorkQueue, rate};
//!
//! let mut queue = WorkQueue::new(rate::default_controller());
//! let now = Instant::ZERO;
//! queue.add(now, "shop/web");
//! let Get::Item(key) = queue.poll_get(now) else { panic!("a key was added") };
//! // ... reconcile fails ...
//! queue.finish(now, &key, Finish::Retry);
//! assert_eq!(queue.poll_get(now), Get::Empty { until: Some(Instant::from_millis(5)) });
//! ```
//!
//! Mirrors client-go `util/workqueue`: `queue.go`, `delaying_queue.go`, `rate_limiting_queue.go`. The parts are usable
//! alone: [`queue`] (order, each key once), [`delay`] (times), [`rate`] (how long to wait).
//!
//! # Differences from client-go
//!
//! By default a key that fails escalates once a wait, a retry does not replace a reminder, finishing takes an outcome, and
//! keys can have a low priority. What that means, and why, stands in the crate's list of [`differences`](crate::differences).

pub mod delay;
pub mod queue;
pub mod rate;

use core::hash::Hash;
use core::num::NonZeroU32;
use core::time::Duration;

use hashbrown::HashMap;

pub use delay::Timer;
pub use queue::Priority;

use crate::metrics::Histogram;
use crate::shrink;
use crate::time::Instant;
use delay::Delays;
use queue::Queue;
use rate::RateLimiter;

/// One get in so many takes a key of low priority, unless told otherwise.
const LOW_EVERY: NonZeroU32 = NonZeroU32::new(4).expect("four is not zero");

/// A rate-limiting queue of keys.
///
/// Calls take time logarithmic in the number of timers, plus that for each timer that has become due. Memory is bounded by the
/// number of distinct keys, and given back when there are fewer.
#[derive(Clone, Debug)]
pub struct WorkQueue<K, L = rate::DefaultController<K>> {
    queue: Queue<K>,
    delays: Delays<K>,
    limiter: L,
    retries: Retries,
    /// Until when each key that failed waits. Only looked up, never walked.
    windows: HashMap<K, Instant>,
    retried: u64,
    queue_duration: Histogram,
}

/// What a rate-limited add means while an earlier one still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retries {
    /// Another failure, and an [`add_after`](WorkQueue::add_after) that shares its timer with others: the earliest counts.
    ClientGo,
    /// Nothing new: a key escalates at most once each time it waits. The timer is apart from that of reminders.
    #[default]
    Windowed,
}

/// How the work on a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It succeeded, and is to be looked at again after this time.
    After(Duration),
    /// It succeeded, or its object is gone.
    Done,
    /// It failed.
    Retry,
}

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Get<K> {
    /// Nothing, until a key is added or this time has come.
    Empty {
        /// When the next waiting key is due; `None` while none waits.
        until: Option<Instant>,
    },
    /// Work on this key, then say [`finish`](WorkQueue::finish).
    Item(K),
    /// Nothing, and there will never be anything: the queue was shut down.
    ShutDown,
}

impl<K: Clone + Eq + Hash, L: RateLimiter<K>> WorkQueue<K, L> {
    /// An empty queue.
    pub fn new(limiter: L) -> Self {
        Self {
            queue: Queue::new(LOW_EVERY),
            delays: Delays::new(),
            limiter,
            retries: Retries::default(),
            windows: HashMap::new(),
            retried: 0,
            queue_duration: Histogram::new(Histogram::WORKQUEUE),
        }
    }

    /// The queue with another meaning of rate-limited adds.
    #[must_use]
    pub fn with_retries(mut self, retries: Retries) -> Self {
        self.retries = retries;
        self
    }

    /// The queue, still empty, with another share of the keys of low priority: one get in `low_every`. Default 4.
    #[must_use]
    pub fn with_low_every(mut self, low_every: NonZeroU32) -> Self {
        self.queue = Queue::new(low_every);
        self
    }

    /// Adds a key, to be worked on as soon as possible. Like all adds it is ignored after the shutdown.
    ///
    /// Mirrors `Typed.Add`.
    pub fn add(&mut self, now: Instant, key: K) {
        self.add_with(now, key, Priority::Normal);
    }

    /// Adds a key with a priority.
    pub fn add_with(&mut self, now: Instant, key: K, priority: Priority) {
        self.handle_timeout(now);
        self.queue.add(now, key, priority);
    }

    /// Adds a key after a time: a reminder. A key has one at most, and the earliest counts. No delay is an add.
    ///
    /// Mirrors `delayingType.AddAfter`.
    pub fn add_after(&mut self, now: Instant, key: K, delay: Duration) {
        self.handle_timeout(now);
        self.set(now, key, Timer::Reminder, now + delay);
    }

    /// Cancels the reminder of a key. Returns whether there was one; one that is due already is a queued key.
    pub fn cancel_after(&mut self, key: &K) -> bool {
        self.delays.cancel(key, Timer::Reminder)
    }

    /// Adds a key that failed, as soon as the limiter allows. See [`Retries`].
    ///
    /// Mirrors `rateLimitingType.AddRateLimited`.
    pub fn add_rate_limited(&mut self, now: Instant, key: K) {
        self.handle_timeout(now);
        self.retried = self.retried.saturating_add(1);
        if self.retries == Retries::ClientGo || self.is_shutting_down() {
            let delay = self.limiter.when(now, &key);
            self.set(now, key, Timer::Reminder, now + delay);
            return;
        }
        let end = match self.windows.get(&key) {
            Some(end) if *end > now => *end,
            _ => {
                let end = now + self.limiter.when(now, &key);
                if end > now {
                    self.windows.insert(key.clone(), end);
                } else {
                    self.windows.remove(&key);
                }
                end
            }
        };
        self.set(now, key, Timer::Retry, end);
    }

    /// Forgets the failures of a key. A retry that waits already stays.
    ///
    /// Mirrors `rateLimitingType.Forget`.
    pub fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
        self.windows.remove(key);
        shrink::map(&mut self.windows);
    }

    /// The number of failures of a key since it was forgotten, as far as they made it wait longer.
    ///
    /// Mirrors `rateLimitingType.NumRequeues`.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.limiter.num_requeues(key)
    }

    /// Takes the next key. Nobody else gets it until it is finished.
    ///
    /// Mirrors `Typed.Get`.
    pub fn poll_get(&mut self, now: Instant) -> Get<K> {
        self.handle_timeout(now);
        match self.queue.poll_get() {
            Some((key, since)) => {
                self.queue_duration.observe(now.since(since));
                Get::Item(key)
            }
            None if self.queue.is_shutting_down() => Get::ShutDown,
            None => Get::Empty { until: self.next_deadline() },
        }
    }

    /// Says how the work on a key ended. If the key was added meanwhile, it is queued again, however it ended.
    /// Returns whether it was being processed; if not, nothing happens.
    pub fn finish(&mut self, now: Instant, key: &K, finish: Finish) -> bool {
        if !self.done(now, key) {
            return false;
        }
        match finish {
            Finish::Done => self.forget(key),
            Finish::Retry => self.add_rate_limited(now, key.clone()),
            Finish::After(delay) => {
                self.forget(key);
                self.add_after(now, key.clone(), delay);
            }
        }
        true
    }

    /// Says that the work on a key ended, and nothing about how. Returns whether it was being processed; if
    /// not, nothing happens.
    ///
    /// Mirrors `Typed.Done`; [`finish`](Self::finish) is what a controller wants.
    pub fn done(&mut self, now: Instant, key: &K) -> bool {
        self.handle_timeout(now);
        self.queue.done(now, key)
    }

    /// Queues the keys whose time has come, by their times. Every call that is told the time does so first.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((key, _)) = self.delays.poll_due(now) {
            self.queue.add(now, key, Priority::Normal);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) or any other call has something to do next. There is one time for all
    /// keys, so one timer is enough.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.delays.next_deadline()
    }

    /// Ignores further adds and drops all timers. What is queued can still be taken. Ends a drain.
    ///
    /// Mirrors `Typed.ShutDown`.
    pub fn shut_down(&mut self, now: Instant) {
        self.drop_timers(now);
        self.queue.shut_down();
    }

    /// As [`shut_down`](Self::shut_down), for those who want to wait until the last key is done: see
    /// [`is_draining`](Self::is_draining).
    ///
    /// Mirrors `Typed.ShutDownWithDrain`.
    pub fn shut_down_with_drain(&mut self, now: Instant) {
        self.drop_timers(now);
        self.queue.shut_down_with_drain();
    }

    /// When a timer of a key is due. With [`Retries::ClientGo`] all are [`Timer::Reminder`].
    pub fn deadline(&self, key: &K, timer: Timer) -> Option<Instant> {
        self.delays.deadline(key, timer)
    }

    /// Whether the queue was shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.queue.is_shutting_down()
    }

    /// Whether a drain was asked for, not ended by a plain shutdown, and is not complete: keys are queued or being
    /// processed.
    pub fn is_draining(&self) -> bool {
        self.queue.is_draining()
    }

    /// The number of queued keys. Those being processed and those that wait for a time are not among them.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no key is queued.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a key is queued.
    pub fn contains(&self, key: &K) -> bool {
        self.queue.contains(key)
    }

    /// The number of keys being processed.
    pub fn processing(&self) -> usize {
        self.queue.processing()
    }

    /// The number of timers that run: reminders and retries.
    pub fn waiting(&self) -> usize {
        self.delays.len()
    }

    /// The number of failure counters and waits that are remembered. Zero when every key that failed has succeeded.
    pub fn tracked(&self) -> usize {
        self.limiter.tracked() + self.windows.len()
    }

    /// How often a key was added that was not queued already (`workqueue_adds_total`).
    pub fn adds(&self) -> u64 {
        self.queue.adds()
    }

    /// How often a key that failed was added (`workqueue_retries_total`).
    pub fn retried(&self) -> u64 {
        self.retried
    }

    /// How long the keys that were taken had been queued (`workqueue_queue_duration_seconds`).
    pub fn queue_duration(&self) -> &Histogram {
        &self.queue_duration
    }

    /// How long the key that waits longest has been queued, or queued with normal priority if it became urgent.
    pub fn oldest_age(&self, now: Instant) -> Option<Duration> {
        self.queue.oldest_age(now)
    }

    fn drop_timers(&mut self, now: Instant) {
        self.handle_timeout(now);
        self.delays.clear();
        self.windows = HashMap::new();
    }

    fn set(&mut self, now: Instant, key: K, timer: Timer, at: Instant) {
        if at <= now {
            self.queue.add(now, key, Priority::Normal);
        } else if !self.queue.is_shutting_down() {
            self.delays.set(key, timer, at);
        }
    }
}

#[cfg(test)]
mod tests;
