//! The store: every object once, one version counter, and a bounded history of what changed.
//!
//! A watch is a cursor into the history of its table, so a slow watcher costs nothing: when the
//! history has moved on, its version is too old. A snapshot of an older version is the present
//! state with the history undone.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hashbrown::HashMap;
use serde_json::{Map, Value};

/// How many values of objects are kept.
const RECENT: usize = 256;

/// An object as a JSON map without `kind` and `apiVersion`.
pub(crate) type Obj = Map<String, Value>;

/// Namespace and name. Objects without a namespace have an empty one.
///
/// Ordered as `namespace/name`, which is how etcd orders them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.namespace == other.namespace {
            return self.name.cmp(&other.name);
        }
        let (a, b) = (self.namespace.as_bytes(), other.namespace.as_bytes());
        match a.iter().zip(b).find(|(a, b)| a != b) {
            Some((a, b)) => a.cmp(b),
            // One is the beginning of the other: its slash decides.
            None if a.len() < b.len() => b'/'.cmp(&b[a.len()]),
            None => a[b.len()].cmp(&b'/'),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One version of an object: its bytes, and what selectors and the garbage collector look at.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) key: Key,
    pub(crate) rv: u64,
    pub(crate) uid: Arc<str>,
    /// JSON without `kind` and `apiVersion`.
    pub(crate) json: Box<[u8]>,
    /// The same as a value, as long as the store keeps it.
    pub(crate) value: Weak<Obj>,
    pub(crate) labels: Vec<(Box<str>, Box<str>)>,
    /// The values of the kind's selectable fields, in its order.
    pub(crate) fields: Vec<Box<str>>,
    /// The uids of the owners.
    pub(crate) owners: Vec<Arc<str>>,
    /// It has a deletionTimestamp.
    pub(crate) deleting: bool,
}

impl Object {
    /// The object as a value: that of a recent write is at hand, others are read anew.
    pub(crate) fn value(&self) -> Arc<Obj> {
        let read = || serde_json::from_slice(&self.json).expect("the store holds JSON objects it wrote itself");
        self.value.upgrade().unwrap_or_else(|| Arc::new(read()))
    }
}

/// A representation of an event that several watchers may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameKey {
    /// `b'A'`, `b'M'` or `b'D'`.
    pub(crate) event: u8,
    /// The id of the kind (an object may be served as more than one).
    pub(crate) kind: u32,
    /// Which encoding.
    pub(crate) form: u8,
}

/// A change of one object.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) rv: u64,
    /// When it happened, on the monotonic clock.
    pub(crate) at: Duration,
    /// The new state, or of a deleted object its last state with the version of the deletion.
    pub(crate) object: Arc<Object>,
    pub(crate) previous: Option<Arc<Object>>,
    pub(crate) deleted: bool,
    frames: Vec<(FrameKey, Arc<[u8]>)>,
}

impl Event {
    /// The frame of that form, encoded once.
    pub(crate) fn frame(&mut self, key: FrameKey, encode: impl FnOnce(&Object) -> Vec<u8>) -> Arc<[u8]> {
        if let Some((_, frame)) = self.frames.iter().find(|(k, _)| *k == key) {
            return frame.clone();
        }
        let frame: Arc<[u8]> = encode(&self.object).into();
        self.frames.push((key, frame.clone()));
        frame
    }
}

/// The objects of one kind.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) objects: BTreeMap<Key, Arc<Object>>,
    history: VecDeque<Event>,
    /// How many events were dropped from the front of the history.
    dropped: u64,
    /// No watch can begin before this version.
    watch_floor: u64,
    /// No snapshot is known of a version before this one.
    snapshot_floor: u64,
}

impl Table {
    /// The position after the last event.
    pub(crate) fn end(&self) -> u64 {
        self.dropped + self.history.len() as u64
    }

    /// The version of the last event.
    pub(crate) fn newest(&self) -> u64 {
        self.history.back().map_or(self.watch_floor, |e| e.rv)
    }

    /// The position of the first event after version `rv`; `Err` with the oldest version a
    /// watch can begin at.
    pub(crate) fn position_after(&self, rv: u64) -> Result<u64, u64> {
        if rv < self.watch_floor {
            return Err(self.watch_floor);
        }
        Ok(self.dropped + self.history.partition_point(|e| e.rv <= rv) as u64)
    }

    /// The events after version `rv` that are known.
    pub(crate) fn events_after(&self, rv: u64) -> impl Iterator<Item = &Event> {
        self.history.range(self.history.partition_point(|e| e.rv <= rv)..)
    }

    /// The event at a position; `Err` if it is no longer known.
    pub(crate) fn event(&mut self, position: u64) -> Result<Option<&mut Event>, u64> {
        match position.checked_sub(self.dropped) {
            None => Err(self.watch_floor),
            Some(i) => Ok(usize::try_from(i).ok().and_then(|i| self.history.get_mut(i))),
        }
    }

    /// The oldest version of which a snapshot is known.
    pub(crate) fn oldest_snapshot(&self) -> u64 {
        self.snapshot_floor
    }

    /// The oldest version that a watch can begin at: a cache that begins anew begins there.
    pub(crate) fn oldest_watch(&self) -> u64 {
        self.watch_floor
    }

    /// An object as it was at version `rv`, which is no older than [`Self::oldest_snapshot`].
    pub(crate) fn object_at(&self, key: &Key, rv: u64) -> Option<&Arc<Object>> {
        let later = self.history.iter().rev().take_while(|e| e.rv > rv).filter(|e| e.object.key == *key);
        later.last().map_or_else(|| self.objects.get(key), |first| first.previous.as_ref())
    }

    /// The objects of a namespace (or of all, if it is empty) after `start`, as they were at
    /// version `rv` (or are, if it is `None`). `Err` if that version is forgotten.
    pub(crate) fn snapshot(
        &self,
        namespace: &str,
        start: Option<&Key>,
        rv: Option<u64>,
    ) -> Result<Vec<Arc<Object>>, ()> {
        let first = Key::new(namespace, "");
        let bound = match start {
            Some(key) => Bound::Excluded(key),
            None => Bound::Included(&first),
        };
        let within = |key: &Key| namespace.is_empty() || &*key.namespace == namespace;
        let present = self.objects.range::<Key, _>((bound, Bound::Unbounded)).take_while(|(k, _)| within(k));
        let Some(rv) = rv else {
            return Ok(present.map(|(_, o)| o.clone()).collect());
        };
        if rv < self.snapshot_floor {
            return Err(());
        }
        let mut undone: BTreeMap<&Key, Option<&Arc<Object>>> = BTreeMap::new();
        for event in self.history.iter().rev().take_while(|e| e.rv > rv) {
            let key = &event.object.key;
            if within(key) && start.is_none_or(|s| key > s) {
                undone.insert(key, event.previous.as_ref());
            }
        }
        if undone.is_empty() {
            return Ok(present.map(|(_, o)| o.clone()).collect());
        }
        let mut objects: BTreeMap<&Key, &Arc<Object>> = present.collect();
        for (key, state) in undone {
            match state {
                Some(o) => objects.insert(key, o),
                None => objects.remove(key),
            };
        }
        Ok(objects.into_values().cloned().collect())
    }
}

/// All tables.
#[derive(Debug)]
pub(crate) struct Store {
    rv: u64,
    tables: Vec<Table>,
    history_bound: usize,
    /// Objects by uid.
    uids: HashMap<Arc<str>, (usize, Key)>,
    /// Dependents by the uid of their owner.
    dependents: HashMap<Arc<str>, BTreeSet<(usize, Key)>>,
    /// The values of the objects that were written last, so that what is written again and again need not be read each time.
    recent: VecDeque<Arc<Obj>>,
    /// The time of the writes that come.
    now: Duration,
}

impl Store {
    pub(crate) fn new(tables: usize, first_version: u64, history_bound: usize) -> Self {
        let table = || Table { watch_floor: first_version, snapshot_floor: first_version, ..Table::default() };
        Self {
            rv: first_version,
            tables: std::iter::repeat_with(table).take(tables).collect(),
            history_bound: history_bound.max(1),
            uids: HashMap::new(),
            dependents: HashMap::new(),
            recent: VecDeque::new(),
            now: Duration::ZERO,
        }
    }

    /// The version of the last write.
    pub(crate) fn rv(&self) -> u64 {
        self.rv
    }

    /// Takes the version that the next write will have.
    pub(crate) fn next_rv(&mut self) -> u64 {
        self.rv += 1;
        self.rv
    }

    /// Keeps the value of an object that is written, until some more have been.
    pub(crate) fn keep(&mut self, value: Obj) -> Weak<Obj> {
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        let value = Arc::new(value);
        let kept = Arc::downgrade(&value);
        self.recent.push_back(value);
        kept
    }

    pub(crate) fn table(&self, table: usize) -> &Table {
        &self.tables[table]
    }

    pub(crate) fn table_mut(&mut self, table: usize) -> &mut Table {
        &mut self.tables[table]
    }

    pub(crate) fn get(&self, table: usize, key: &Key) -> Option<&Arc<Object>> {
        self.tables[table].objects.get(key)
    }

    pub(crate) fn by_uid(&self, uid: &str) -> Option<&(usize, Key)> {
        self.uids.get(uid)
    }

    /// Where objects live that name this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(usize, Key)> {
        self.dependents.get(uid).map(|set| set.iter().cloned().collect()).unwrap_or_default()
    }

    /// Puts a new version of an object, whose `rv` came from [`Self::next_rv`].
    pub(crate) fn put(&mut self, table: usize, object: Object) -> Arc<Object> {
        let object = Arc::new(object);
        let previous = self.tables[table].objects.insert(object.key.clone(), object.clone());
        if let Some(old) = &previous {
            self.unlink(table, old);
        }
        self.uids.insert(object.uid.clone(), (table, object.key.clone()));
        for owner in &object.owners {
            self.dependents.entry(owner.clone()).or_default().insert((table, object.key.clone()));
        }
        self.record(table, object.clone(), previous, false);
        object
    }

    /// Removes an object; `last` is its last state with the version of the deletion.
    pub(crate) fn remove(&mut self, table: usize, last: Object) -> Arc<Object> {
        let last = Arc::new(last);
        let previous = self.tables[table].objects.remove(&last.key);
        if let Some(old) = &previous {
            self.unlink(table, old);
        }
        self.record(table, last.clone(), previous, true);
        last
    }

    fn unlink(&mut self, table: usize, old: &Object) {
        self.uids.remove(&old.uid);
        for owner in &old.owners {
            if let Some(set) = self.dependents.get_mut(owner) {
                set.remove(&(table, old.key.clone()));
                if set.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }

    fn record(&mut self, table: usize, object: Arc<Object>, previous: Option<Arc<Object>>, deleted: bool) {
        let t = &mut self.tables[table];
        t.history.push_back(Event { rv: object.rv, at: self.now, object, previous, deleted, frames: Vec::new() });
        while t.history.len() > self.history_bound {
            if let Some(gone) = t.history.pop_front() {
                t.dropped += 1;
                t.watch_floor = t.watch_floor.max(gone.rv);
                t.snapshot_floor = t.snapshot_floor.max(gone.rv);
            }
        }
    }

    /// Sets the time of the writes that come.
    pub(crate) fn set_now(&mut self, now: Duration) {
        self.now = now;
    }

    /// Forgets versions before `rv` for snapshots; watches are not touched.
    pub(crate) fn forget_snapshots(&mut self, rv: u64) {
        for t in &mut self.tables {
            t.snapshot_floor = t.snapshot_floor.max(rv);
        }
    }

    /// Forgets versions before the present one for watches, as a restarted watch cache has.
    pub(crate) fn forget_watches(&mut self) {
        for t in &mut self.tables {
            t.watch_floor = self.rv;
        }
    }

    /// Makes a table ready for another kind; it has no objects.
    pub(crate) fn clear(&mut self, table: usize) {
        self.tables.resize_with(self.tables.len().max(table + 1), Table::default);
        self.expire(table);
    }

    /// Drops the whole history of one table: no open watch can go on.
    pub(crate) fn expire(&mut self, table: usize) {
        let t = &mut self.tables[table];
        t.dropped += t.history.len() as u64 + 1;
        t.history.clear();
        t.watch_floor = self.rv;
        t.snapshot_floor = self.rv;
    }
}
