//! Rejections: a set whose pods fail at once, again and again, is slowed down.

use core::time::Duration;

use hashbrown::HashMap;

use super::predicates::is_active;
use crate::object::{Phase, Pod};
use crate::time::{Instant, Now};
use crate::uid::Uid;

/// How young a pod is that was not given a chance: 30 s.
const AT_ONCE_NANOS: i64 = 30_000_000_000;
/// The pause after the second round of rejections; each further round doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// For each set, how often in a row its new pods have failed at once, and until when it makes no more.
///
/// A node agent that refuses each pod makes Kubernetes' controller replace it without a pause (kubernetes/kubernetes#72593), and so does a
/// cache of sets that lags behind the end of a set, whose pods are collected as fast as they are made. Here a set pauses 1 s after the second
/// round of creations that came to nothing, then 2 s, 4 s and so on up to 5 min, until one of its pods is ready; and from the first time on that
/// the server says the set is gone. One record a set at most, and only for sets with rejections.
#[derive(Debug, Default)]
pub struct Rejections {
    records: HashMap<Uid, Record>,
}

#[derive(Debug)]
struct Record {
    rounds: u32,
    /// Whether pods were created since the last round was counted.
    created: bool,
    until: Instant,
}

impl Record {
    fn pause(&mut self, now: Instant) {
        let rounds = self.rounds.saturating_sub(1).min(16);
        self.until = now + FIRST_PAUSE.saturating_mul(1 << rounds).min(LONGEST_PAUSE);
    }
}

impl Rejections {
    /// Takes a new pod of the set `owner`, or a change of one.
    pub(super) fn handle_pod(&mut self, owner: &Uid, old: Option<&Pod>, new: &Pod, now: Now) {
        if is_active(new) && new.is_ready() {
            self.records.remove(owner);
        } else if new.phase() == Phase::Failed
            && old.is_none_or(|old| old.phase() != Phase::Failed && !old.is_ready())
            && new.creation().is_some_and(|creation| now.wall.nanos_since(creation) <= AT_ONCE_NANOS)
        {
            self.handle_rejected(owner, now.instant);
        }
    }

    fn handle_rejected(&mut self, owner: &Uid, now: Instant) {
        let record =
            self.records.entry(owner.clone()).or_insert(Record { rounds: 0, created: true, until: Instant::ZERO });
        if core::mem::take(&mut record.created) {
            if record.rounds > 0 {
                record.pause(now);
            }
            record.rounds = record.rounds.saturating_add(1);
        }
    }

    /// Notes that the server does not have the set any more, though the cache shows it: the garbage collector takes what it makes.
    pub(super) fn handle_gone(&mut self, owner: &Uid, now: Instant) {
        let first = Record { rounds: 0, created: false, until: Instant::ZERO };
        let record = self.records.entry(owner.clone()).or_insert(first);
        record.rounds = record.rounds.saturating_add(1);
        record.pause(now);
    }

    /// Notes that a set creates pods.
    pub(super) fn handle_creation(&mut self, owner: &Uid) {
        if let Some(record) = self.records.get_mut(owner) {
            record.created = true;
        }
    }

    /// How long the set has to wait before it makes more pods.
    pub fn pause(&self, owner: &Uid, now: Instant) -> Option<Duration> {
        let left = self.records.get(owner)?.until.since(now);
        (!left.is_zero()).then_some(left)
    }

    /// The number of sets that have a record.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no set has a record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Forgets a set.
    pub(super) fn delete(&mut self, owner: &Uid) {
        self.records.remove(owner);
    }
}

#[cfg(test)]
mod tests;
