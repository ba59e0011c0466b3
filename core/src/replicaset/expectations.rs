//! Expectations: which of a set's creations and deletions the cache has not shown yet.

use alloc::collections::BTreeSet;
use core::time::Duration;

use hashbrown::HashMap;

use crate::key::Key;
use crate::resource_version::ResourceVersion;
use crate::time::Instant;
use crate::uid::Uid;

/// How long an expectation holds a set back at most (`ExpectationsTimeout`).
const TIMEOUT: Duration = Duration::from_secs(300);

/// What each set waits for before it creates or deletes pods again.
///
/// A set that has created pods must not count before it sees them, or it would create them once more. Deletions are
/// awaited pod by pod, since a pod that is being deleted may show several times.
///
/// Records belong to the uid of a set, so that a set made anew under an old name does not wait for what its namesake did. They are as many as
/// there are sets; the pods awaited by one are at most the burst.
///
/// Mirrors `pkg/controller/controller_utils.go`, `UIDTrackingControllerExpectations`, and adds the version of what was written: a cache that has
/// come that far has shown everything, even if a pod came and went unseen.
#[derive(Debug, Default)]
pub struct Expectations {
    records: HashMap<Uid, Expectation>,
}

/// What one set waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Creations not seen yet. Below zero when more were seen than were expected.
    pub creations: i64,
    /// Deletions not seen yet. Below zero when more were seen than were expected.
    pub deletions: i64,
    /// Pods whose deletion is awaited; none when no deletions were ever expected.
    pub pods: Option<BTreeSet<Key>>,
    /// When the expectation was set.
    pub since: Instant,
    /// The newest version that a write has given a pod; none once a write came back without one.
    written: Written,
}

/// How far a cache must have come to show everything that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Written {
    #[default]
    Nothing,
    At(ResourceVersion),
    Unknown,
}

impl Expectations {
    /// No expectations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects `count` creations in place of what counts were expected before. Pods awaited from earlier deletions stay awaited.
    ///
    /// Mirrors `ExpectCreations`.
    pub fn expect_creations(&mut self, owner: &Uid, count: usize, now: Instant) {
        self.set(owner, count_of(count), 0, now);
    }

    /// Expects these pods to be deleted, in place of all that was expected before.
    ///
    /// Mirrors `ExpectDeletions`.
    pub fn expect_deletions(&mut self, owner: &Uid, pods: impl IntoIterator<Item = Key>, now: Instant) {
        let pods: BTreeSet<Key> = pods.into_iter().collect();
        let record = self.set(owner, 0, count_of(pods.len()), now);
        record.pods = Some(pods);
    }

    /// Expects these numbers in place of those expected before.
    ///
    /// Mirrors `SetExpectations`.
    pub fn set(&mut self, owner: &Uid, creations: i64, deletions: i64, now: Instant) -> &mut Expectation {
        let record = self.records.entry(owner.clone()).or_default();
        record.creations = creations;
        record.deletions = deletions;
        record.since = now;
        record.written = Written::Nothing;
        record
    }

    /// A creation was seen, or will not be.
    pub fn creation_observed(&mut self, owner: &Uid) {
        self.lower(owner, 1, 0);
    }

    /// The deletion of a pod was seen, or will not be. Nothing happens if it is not awaited.
    pub fn deletion_observed(&mut self, owner: &Uid, pod: &Key) {
        let awaited = self.records.get_mut(owner).and_then(|record| record.pods.as_mut());
        if awaited.is_some_and(|pods| pods.remove(pod)) {
            self.lower(owner, 0, 1);
        }
    }

    /// Expects so many fewer.
    pub fn lower(&mut self, owner: &Uid, creations: i64, deletions: i64) {
        self.raise(owner, creations.saturating_neg(), deletions.saturating_neg());
    }

    /// Expects so many more.
    pub fn raise(&mut self, owner: &Uid, creations: i64, deletions: i64) {
        if let Some(record) = self.records.get_mut(owner) {
            record.creations = record.creations.saturating_add(creations);
            record.deletions = record.deletions.saturating_add(deletions);
        }
    }

    /// A write that is expected to be seen gave its pod this version ([none](ResourceVersion::NONE) if the answer did not tell).
    pub fn wrote_at(&mut self, owner: &Uid, version: &ResourceVersion) {
        let Some(record) = self.records.get_mut(owner) else { return };
        record.written = match &record.written {
            Written::Nothing if !version.is_none() => Written::At(version.clone()),
            Written::At(newest) => match version.compare(newest) {
                Ok(core::cmp::Ordering::Less) => return,
                Ok(_) => Written::At(version.clone()),
                Err(_) => Written::Unknown,
            },
            _ => Written::Unknown,
        };
    }

    /// Whether a set may create and delete pods: nothing is awaited, or it was for too long, or a pod cache that has come to `cache` has shown
    /// it all.
    ///
    /// The last is stricter knowledge than upstream's `SatisfiedExpectations` has; pass [none](ResourceVersion::NONE) to go without.
    pub fn are_satisfied(&self, owner: &Uid, cache: &ResourceVersion, now: Instant) -> bool {
        self.records.get(owner).is_none_or(|record| {
            (record.creations <= 0 && record.deletions <= 0)
                || now.since(record.since) > TIMEOUT
                || matches!(&record.written, Written::At(version) if cache.compare(version).is_ok_and(|order| order.is_ge()))
        })
    }

    /// Forgets what a set awaits.
    pub fn delete(&mut self, owner: &Uid) {
        self.records.remove(owner);
    }

    /// What a set awaits; none if it never awaited anything.
    pub fn get(&self, owner: &Uid) -> Option<&Expectation> {
        self.records.get(owner)
    }

    /// The number of sets that have a record.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no set has a record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

fn count_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
