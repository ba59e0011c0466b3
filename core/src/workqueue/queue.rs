//! The queue proper: first in, first out, each key once, and no key with two workers.

use alloc::collections::{BTreeMap, VecDeque};
use core::hash::Hash;
use core::num::NonZeroU32;
use core::time::Duration;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::shrink;
use crate::time::Instant;

/// How urgent a key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Something that was there before: a key of the initial list, of a resync. Waits for normal keys, within a bound.
    Low,
    /// Something that changed.
    #[default]
    Normal,
}

/// Keys to be worked on: in order, each at most once, and never one that is being worked on.
///
/// A key added while it is queued stays where it is; one added while it is being processed is queued again when it is
/// done. Every call takes constant time, but where a key of low priority moves: logarithmic in the number of these.
///
/// Mirrors client-go `util/workqueue/queue.go`, `Typed`.
#[derive(Clone, Debug)]
pub struct Queue<K> {
    /// Where each known key is. Only looked up, never walked.
    states: HashMap<K, State>,
    /// Keys of normal priority, and since when they are queued.
    normal: VecDeque<(K, Instant)>,
    /// Keys of low priority by their tickets, so that one that becomes urgent can leave from the middle.
    low: BTreeMap<u64, (K, Instant)>,
    next_ticket: u64,
    /// One get of so many takes a key of low priority, if there is one.
    low_every: NonZeroU32,
    /// Keys of normal priority taken in a row while one of low priority waited.
    passed: u32,
    processing: usize,
    /// How often a key was queued.
    adds: u64,
    shutdown: Shutdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    QueuedLow {
        ticket: u64,
    },
    Processing,
    /// Being processed, and added meanwhile.
    Dirty(Priority),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shutdown {
    No,
    Now,
    Draining,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue. While keys of both priorities wait, one get of `low_every` takes one of low priority; with one,
    /// those go first.
    pub fn new(low_every: NonZeroU32) -> Self {
        Self {
            states: HashMap::new(),
            normal: VecDeque::new(),
            low: BTreeMap::new(),
            next_ticket: 0,
            low_every,
            passed: 0,
            processing: 0,
            adds: 0,
            shutdown: Shutdown::No,
        }
    }

    /// Adds a key. Ignored after the shutdown. A key that is queued with low priority moves to the end of the normal
    /// ones if it is added with normal priority.
    pub fn add(&mut self, now: Instant, key: K, priority: Priority) {
        if self.is_shutting_down() {
            return;
        }
        match self.states.entry(key) {
            Entry::Vacant(entry) => {
                let key = entry.key().clone();
                let state = queued(&mut self.next_ticket, priority);
                entry.insert(state);
                self.adds = self.adds.saturating_add(1);
                self.push(now, key, state);
            }
            Entry::Occupied(mut entry) => match (*entry.get(), priority) {
                (State::Processing, _) => {
                    entry.insert(State::Dirty(priority));
                    self.adds = self.adds.saturating_add(1);
                }
                (State::Dirty(Priority::Low), Priority::Normal) => {
                    entry.insert(State::Dirty(priority));
                }
                (State::QueuedLow { ticket }, Priority::Normal) => {
                    entry.insert(State::Queued);
                    let key = self.low.remove(&ticket).map(|(key, _)| key);
                    self.push(now, key.expect("a key queued with low priority holds its ticket"), State::Queued);
                }
                (State::Queued | State::QueuedLow { .. } | State::Dirty(_), _) => {}
            },
        }
    }

    /// Takes the next key, and says since when it was queued; it is being processed until it is [`done`](Self::done).
    pub fn poll_get(&mut self) -> Option<(K, Instant)> {
        let low_first = self.passed >= self.low_every.get() - 1 || self.normal.is_empty();
        let low = if low_first { self.low.pop_first() } else { None };
        let taken = if let Some((_, taken)) = low {
            self.passed = 0;
            taken
        } else {
            self.passed = if self.low.is_empty() { 0 } else { self.passed + 1 };
            let taken = self.normal.pop_front()?;
            shrink::queue(&mut self.normal);
            taken
        };
        self.states.insert(taken.0.clone(), State::Processing);
        self.processing += 1;
        Some(taken)
    }

    /// Says that a key is not being processed any more. If it was added meanwhile, it is queued again, even after the
    /// shutdown. Returns whether it was being processed; if not, nothing happens.
    pub fn done(&mut self, now: Instant, key: &K) -> bool {
        match self.states.get_mut(key) {
            Some(State::Processing) => {
                self.states.remove(key);
                shrink::map(&mut self.states);
            }
            Some(state @ State::Dirty(_)) => {
                let State::Dirty(priority) = *state else { return false };
                *state = queued(&mut self.next_ticket, priority);
                let state = *state;
                self.push(now, key.clone(), state);
            }
            Some(State::Queued | State::QueuedLow { .. }) | None => return false,
        }
        self.processing -= 1;
        true
    }

    /// Ignores further adds. What is queued can still be taken. Ends a drain.
    pub fn shut_down(&mut self) {
        self.shutdown = Shutdown::Now;
    }

    /// As [`shut_down`](Self::shut_down), and waits until all is done: see [`is_draining`](Self::is_draining).
    pub fn shut_down_with_drain(&mut self) {
        self.shutdown = Shutdown::Draining;
    }

    /// Whether the queue was shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.shutdown != Shutdown::No
    }

    /// Whether a drain was asked for, not ended by a plain shutdown, and is not complete: keys are
    /// queued or being processed.
    pub fn is_draining(&self) -> bool {
        self.shutdown == Shutdown::Draining && !self.states.is_empty()
    }

    /// The number of queued keys; those being processed are not among them.
    pub fn len(&self) -> usize {
        self.normal.len() + self.low.len()
    }

    /// Whether no key is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a key is queued.
    pub fn contains(&self, key: &K) -> bool {
        matches!(self.states.get(key), Some(State::Queued | State::QueuedLow { .. }))
    }

    /// The number of keys being processed.
    pub fn processing(&self) -> usize {
        self.processing
    }

    /// How often a key was added that was not queued already.
    pub fn adds(&self) -> u64 {
        self.adds
    }

    /// How long the key that waits longest has been queued, or queued with normal priority if it became urgent.
    pub fn oldest_age(&self, now: Instant) -> Option<Duration> {
        let normal = self.normal.front().map(|(_, since)| *since);
        let low = self.low.first_key_value().map(|(_, (_, since))| *since);
        normal.into_iter().chain(low).min().map(|since| now.since(since))
    }

    fn push(&mut self, now: Instant, key: K, state: State) {
        match state {
            State::QueuedLow { ticket } => {
                self.low.insert(ticket, (key, now));
            }
            _ => self.normal.push_back((key, now)),
        }
    }
}

fn queued(next_ticket: &mut u64, priority: Priority) -> State {
    match priority {
        Priority::Normal => State::Queued,
        Priority::Low => {
            *next_ticket += 1;
            State::QueuedLow { ticket: *next_ticket }
        }
    }
}
