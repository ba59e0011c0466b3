//! The consistency guard: a set is not synced from a cache that is older than what its last sync wrote.

use core::cmp::Ordering;
use core::fmt;

use hashbrown::HashMap;

use crate::key::Key;
use crate::resource_version::ResourceVersion;
use crate::uid::Uid;

/// Which cache a write shows up in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cache {
    /// That of the pods.
    Pods,
    /// That of the sets.
    Sets,
}

/// The newest versions that syncs have written, by the key of the set, until the caches have come as far.
///
/// Reading one's own writes keeps a cache that lags from making a set create its pods twice, however long it lags; expectations alone do so for five minutes.
/// One record a set at most.
///
/// Mirrors `pkg/controller/util/consistency/consistency.go` (`ConsistencyStore`), KEP-5647.
#[derive(Debug, Default)]
pub struct ConsistencyGuard {
    records: HashMap<Key, Record>,
}

/// What syncs of one set have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The uid of the set.
    pub uid: Uid,
    /// The newest version written to a pod.
    pub pods: Option<ResourceVersion>,
    /// The newest version written to the set.
    pub sets: Option<ResourceVersion>,
}

/// A cache is older than what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// Which cache.
    pub cache: Cache,
    /// The version that the cache has come to.
    pub read: ResourceVersion,
    /// The version that was written.
    pub written: ResourceVersion,
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the cache is at version {} and behind our own write at {}", self.read, self.written)
    }
}

impl ConsistencyGuard {
    /// A guard that knows of no writes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a write for the set `owner` with this uid. A write under another uid begins a new record. An older version than the one
    /// noted changes nothing; one that cannot be compared with it takes its place.
    pub fn wrote_at(&mut self, owner: &Key, uid: &Uid, cache: Cache, version: ResourceVersion) {
        let fresh = || Record { uid: uid.clone(), pods: None, sets: None };
        let record = self.records.entry(owner.clone()).or_insert_with(fresh);
        if record.uid != *uid {
            *record = fresh();
        }
        let noted = match cache {
            Cache::Pods => &mut record.pods,
            Cache::Sets => &mut record.sets,
        };
        if !noted.as_ref().is_some_and(|noted| version.compare(noted) == Ok(Ordering::Less)) {
            *noted = Some(version);
        }
    }

    /// Whether caches that have come to these versions show all that was written for the set `owner`; then the record is dropped.
    /// A version that is unknown or no number never holds a set back.
    ///
    /// # Errors
    /// A cache is behind; the record stays.
    pub fn ensure_ready(&mut self, owner: &Key, pods: &ResourceVersion, sets: &ResourceVersion) -> Result<(), Behind> {
        let Some(record) = self.records.get(owner) else { return Ok(()) };
        for (cache, read, written) in [(Cache::Pods, pods, &record.pods), (Cache::Sets, sets, &record.sets)] {
            if let Some(written) = written
                && read.compare(written) == Ok(Ordering::Less)
            {
                return Err(Behind { cache, read: read.clone(), written: written.clone() });
            }
        }
        self.records.remove(owner);
        Ok(())
    }

    /// Drops the record of a set, of whatever uid it is.
    pub fn clear(&mut self, owner: &Key) {
        self.records.remove(owner);
    }

    /// Drops the record of a set if it is of this uid.
    pub fn clear_uid(&mut self, owner: &Key, uid: &Uid) {
        if self.records.get(owner).is_some_and(|record| record.uid == *uid) {
            self.records.remove(owner);
        }
    }

    /// Whether it is known that something was written to a pod for the set `owner` after this version.
    pub fn has_written_after(&self, owner: &Key, version: &ResourceVersion) -> bool {
        let written = self.records.get(owner).and_then(|record| record.pods.as_ref());
        written.is_some_and(|written| version.compare(written) == Ok(Ordering::Less))
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The record of a set.
    pub fn get(&self, owner: &Key) -> Option<&Record> {
        self.records.get(owner)
    }
}
