//! Keys that wait for a time.

use alloc::collections::BTreeMap;
use core::hash::Hash;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::shrink;
use crate::time::Instant;

/// What a key waits for. Each key has at most one timer of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// To be looked at again, because the last look said so.
    Reminder,
    /// To be tried again after a failure.
    Retry,
}

/// Timers of keys, as data: no clock and no thread, but one [`next_deadline`](Self::next_deadline) for all of them.
///
/// Of equal times the one that was set first comes first. Every call takes time logarithmic in the number of timers.
///
/// Mirrors client-go `util/workqueue/delaying_queue.go`, `waitForPriorityQueue`.
#[derive(Clone, Debug)]
pub struct Delays<K> {
    /// What is due when.
    waiting: BTreeMap<At, (K, Timer)>,
    /// The timers of each key. Only looked up, never walked.
    timers: HashMap<K, Timers>,
    next_ticket: u64,
}

/// A time, and a ticket that orders equal times.
type At = (Instant, u64);

#[derive(Clone, Copy, Debug, Default)]
struct Timers {
    reminder: Option<At>,
    retry: Option<At>,
}

impl Timers {
    const fn of(&mut self, timer: Timer) -> &mut Option<At> {
        match timer {
            Timer::Reminder => &mut self.reminder,
            Timer::Retry => &mut self.retry,
        }
    }

    const fn is_empty(&self) -> bool {
        self.reminder.is_none() && self.retry.is_none()
    }
}

impl<K: Clone + Eq + Hash> Delays<K> {
    /// No timers.
    pub fn new() -> Self {
        Self { waiting: BTreeMap::new(), timers: HashMap::new(), next_ticket: 0 }
    }

    /// Sets a timer of a key. If it runs already the earlier time counts.
    pub fn set(&mut self, key: K, timer: Timer, instant: Instant) {
        let at = (instant, self.next_ticket);
        let slot = self.timers.entry(key.clone()).or_default().of(timer);
        if slot.is_some_and(|(running, _)| running <= instant) {
            return;
        }
        self.next_ticket += 1;
        if let Some(replaced) = slot.replace(at) {
            self.waiting.remove(&replaced);
        }
        self.waiting.insert(at, (key, timer));
    }

    /// Cancels a timer of a key. Returns whether it ran.
    pub fn cancel(&mut self, key: &K, timer: Timer) -> bool {
        let Some(timers) = self.timers.get_mut(key) else { return false };
        let Some(at) = timers.of(timer).take() else { return false };
        if timers.is_empty() {
            self.timers.remove(key);
            shrink::map(&mut self.timers);
        }
        self.waiting.remove(&at);
        true
    }

    /// The next key whose time has come, and the timer, which is gone then.
    pub fn poll_due(&mut self, now: Instant) -> Option<(K, Timer)> {
        if self.next_deadline()? > now {
            return None;
        }
        let (_, (key, timer)) = self.waiting.pop_first()?;
        if let Entry::Occupied(mut entry) = self.timers.entry(key.clone()) {
            *entry.get_mut().of(timer) = None;
            if entry.get().is_empty() {
                entry.remove();
                shrink::map(&mut self.timers);
            }
        }
        Some((key, timer))
    }

    /// When the next timer is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((instant, _), _)| *instant)
    }

    /// When a timer of a key is due.
    pub fn deadline(&self, key: &K, timer: Timer) -> Option<Instant> {
        let mut timers = *self.timers.get(key)?;
        timers.of(timer).map(|(instant, _)| instant)
    }

    /// The number of timers.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether there are no timers.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Cancels all timers.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.timers = HashMap::new();
    }
}

impl<K: Clone + Eq + Hash> Default for Delays<K> {
    fn default() -> Self {
        Self::new()
    }
}
