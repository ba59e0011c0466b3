use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

use super::*;
use crate::object::Object;
use crate::testing::{Random, Thing, thing};

/// The objects behind a queue, by rising key.
#[derive(Default)]
struct Behind(BTreeMap<String, Arc<Thing>>);

impl KnownObjects<Thing> for Behind {
    fn keys(&self) -> impl Iterator<Item = Key> {
        self.0.keys().map(|key| Key::explicit(key))
    }

    fn get(&self, key: &str) -> Result<Option<Arc<Thing>>, Unavailable> {
        Ok(self.0.get(key).cloned())
    }
}

impl Behind {
    fn take(&mut self, delta: &Delta<Thing>) {
        match delta {
            Delta::Deleted(Deletion::Missed(tombstone)) => drop(self.0.remove(tombstone.key.as_str())),
            Delta::Deleted(Deletion::Observed(object)) => drop(self.0.remove(object.key().as_str())),
            Delta::ReplacedAll { objects, .. } => {
                self.0 = objects.iter().map(|object| (object.key().to_string(), Arc::clone(object))).collect();
            }
            Delta::SyncAll | Delta::Bookmark(_) => {}
            other => {
                let object = other.object().unwrap();
                self.0.insert(object.key().to_string(), Arc::clone(object));
            }
        }
    }
}

/// A change as the models write it: kind, key, version of the object.
type Written = (String, String, u64);

fn written(delta: &Delta<Thing>) -> Written {
    let key = match delta {
        Delta::Deleted(Deletion::Missed(tombstone)) => tombstone.key.to_string(),
        other => other.object().map(|object| object.key().to_string()).unwrap_or_default(),
    };
    let version = delta.object().map_or(0, |object| object.version);
    let mut kind = format!("{delta:?}");
    kind.truncate(kind.find('(').unwrap_or(kind.len()));
    (kind, key, version)
}

fn write(kind: &str, key: &str, version: u64) -> Written {
    (kind.into(), key.into(), version)
}

/// A queue as one would write it down: entries of one key each, oldest first.
#[derive(Default)]
struct Model {
    entries: Vec<(String, Vec<Written>)>,
    /// Whether the changes of a key gather in one entry.
    gathers: bool,
    populated: bool,
    initial_left: usize,
}

impl Model {
    fn newest(&self, key: &str) -> Option<&Written> {
        self.entries.iter().rev().find(|(k, _)| k == key).and_then(|(_, changes)| changes.last())
    }

    fn push(&mut self, change: Written) {
        let key = change.1.clone();
        if self.gathers
            && let Some((_, changes)) = self.entries.iter_mut().find(|(k, _)| *k == key)
        {
            let last = changes.last().unwrap().0.clone();
            let both_end = ["Deleted", "Tombstone"].contains(&last.as_str())
                && ["Deleted", "Tombstone"].contains(&change.0.as_str());
            match (both_end, last.as_str()) {
                (true, "Deleted") => {}
                (true, _) => *changes.last_mut().unwrap() = change,
                (false, _) => changes.push(change),
            }
            return;
        }
        self.entries.push((key, vec![change]));
    }

    fn delete(&mut self, key: &str, version: u64, behind: &Behind) {
        self.populated = true;
        if !self.gathers || behind.0.contains_key(key) || self.newest(key).is_some() {
            self.push(write("Deleted", key, version));
        }
    }

    fn replace(&mut self, list: &[Thing], behind: &Behind) {
        let listed: Vec<String> = list.iter().map(|object| object.key().to_string()).collect();
        let mut missing = Vec::new();
        for (key, changes) in &self.entries {
            let newest = self.newest(key).unwrap_or(&changes[0]);
            let gone = ["Deleted", "Tombstone"].contains(&newest.0.as_str());
            if !listed.contains(key) && (self.gathers || !gone) && !missing.iter().any(|(k, _)| k == key) {
                missing.push((key.clone(), newest.2));
            }
        }
        for (key, object) in &behind.0 {
            if !listed.contains(key) && self.newest(key).is_none() {
                missing.push((key.clone(), object.version));
            }
        }
        let missing: Vec<Written> = missing.iter().map(|(key, version)| write("Tombstone", key, *version)).collect();
        let listed: Vec<Written> = list.iter().map(|o| write("Replaced", o.key().as_str(), o.version)).collect();
        let mut keys: Vec<&str> = listed.iter().map(|(_, key, _)| key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        let count = keys.len() + missing.len();
        let (first, second) = if self.gathers { (listed, missing) } else { (missing, listed) };
        first.into_iter().chain(second).for_each(|change| self.push(change));
        if !self.populated {
            self.populated = true;
            self.initial_left = if self.gathers { count } else { self.entries.len() };
        }
    }

    fn resync(&mut self, behind: &Behind) {
        for (key, object) in &behind.0 {
            if self.newest(key).is_none() {
                self.push(write("Sync", key, object.version));
            }
        }
    }

    fn has_synced(&self) -> bool {
        self.populated && self.initial_left == 0
    }
}

fn random_operations(seed: u64, mut queue: Queue<Thing>, gathers: bool) {
    let mut random = Random::new(seed);
    let mut behind = Behind::default();
    let mut model = Model { gathers, ..Model::default() };
    for step in 1..150 {
        let object = random.thing(step);
        let key = object.key().to_string();
        match random.below(16) {
            0..3 => {
                model.populated = true;
                model.push(write("Added", &key, step));
                queue.add(object).unwrap();
            }
            3..6 => {
                model.populated = true;
                model.push(write("Updated", &key, step));
                queue.update(object).unwrap();
            }
            6..8 => {
                model.delete(&key, step, &behind);
                queue.delete(object, &behind).unwrap();
            }
            8 => {
                let list: Vec<Thing> = (0..random.below(8)).map(|_| random.thing(step)).collect();
                model.replace(&list, &behind);
                queue.replace(list, ResourceVersion::new("1"), &behind).unwrap();
            }
            9 => {
                model.resync(&behind);
                queue.resync(&behind);
            }
            _ => {
                let popped = queue.pop();
                let initial = !model.has_synced();
                if model.entries.is_empty() {
                    assert!(popped.is_none());
                    continue;
                }
                let popped = popped.unwrap();
                let (_, changes) = model.entries.remove(0);
                model.initial_left = model.initial_left.saturating_sub(1);
                assert!(popped.deltas.iter().map(written).eq(changes), "seed {seed} step {step}");
                assert_eq!(popped.initial, initial);
                popped.deltas.iter().for_each(|delta| behind.take(delta));
            }
        }
        assert_eq!(queue.len(), model.entries.len(), "seed {seed} step {step}");
        assert_eq!(queue.has_synced(), model.has_synced(), "seed {seed} step {step}");
        if let Queue::DeltaFifo(queue) = &queue {
            assert!(queue.keys().map(Key::as_str).eq(model.entries.iter().map(|(key, _)| key.as_str())));
        }
    }
}

#[test]
fn random_operations_leave_the_classic_queue_as_a_naive_model_has_it() {
    for seed in 0..60 {
        random_operations(seed, Queue::DeltaFifo(DeltaFifo::new(None, None)), true);
    }
}

#[test]
fn random_operations_leave_the_in_order_queue_as_a_naive_model_has_it() {
    for seed in 0..60 {
        random_operations(seed, Queue::InOrder(InOrderFifo::new(None, None)), false);
    }
}

fn both() -> [Queue<Thing>; 2] {
    [Queue::DeltaFifo(DeltaFifo::new(None, None)), Queue::InOrder(InOrderFifo::new(None, None))]
}

/// Pops everything into the objects behind, and tells what was popped.
fn pop_all(queue: &mut Queue<Thing>, behind: &mut Behind) -> Vec<Written> {
    let mut all = Vec::new();
    while let Some(popped) = queue.pop() {
        for delta in popped.deltas {
            behind.take(&delta);
            all.push(written(&delta));
        }
    }
    all
}

/// D-01
#[test]
fn an_object_that_is_only_queued_and_not_in_a_list_is_deleted_with_its_queued_state() {
    for mut queue in both() {
        let mut behind = Behind::default();
        queue.add(thing("n/o", 5, &[])).unwrap();
        queue.replace(Vec::<Thing>::new(), ResourceVersion::new("9"), &behind).unwrap();
        let popped = pop_all(&mut queue, &mut behind);
        assert_eq!(popped, [write("Added", "n/o", 5), write("Tombstone", "n/o", 5)]);
        assert!(behind.0.is_empty());
    }
}

/// D-02
#[test]
fn a_deletion_of_an_object_that_is_only_queued_is_not_lost() {
    for mut queue in both() {
        let mut behind = Behind::default();
        queue.add(thing("n/a", 1, &[])).unwrap();
        queue.delete(thing("n/a", 2, &[]), &behind).unwrap();
        assert_eq!(pop_all(&mut queue, &mut behind), [write("Added", "n/a", 1), write("Deleted", "n/a", 2)]);
        assert!(behind.0.is_empty());
    }
}

/// D-06
#[test]
fn a_resync_does_not_bring_back_what_is_queued_as_deleted() {
    for mut queue in both() {
        let mut behind = Behind::default();
        queue.add(thing("n/x", 1, &[])).unwrap();
        pop_all(&mut queue, &mut behind);
        queue.delete(thing("n/x", 2, &[]), &behind).unwrap();
        queue.resync(&behind);
        assert_eq!(pop_all(&mut queue, &mut behind), [write("Deleted", "n/x", 2)]);
        queue.resync(&behind);
        assert!(queue.pop().is_none());
    }
}

#[test]
fn what_was_queued_for_a_moment_leaves_no_memory_behind() {
    for mut queue in both() {
        let list: Vec<Thing> = (0..10_000).map(|i| thing(&format!("n/{i}"), i, &[])).collect();
        queue.replace(list, ResourceVersion::new("1"), &()).unwrap();
        let mut behind = Behind::default();
        pop_all(&mut queue, &mut behind);
        assert!(queue.has_synced());
        match queue {
            Queue::DeltaFifo(queue) => assert!(queue.capacity() < 100, "{}", queue.capacity()),
            Queue::InOrder(queue) => assert!(queue.capacity() < 100, "{}", queue.capacity()),
        }
    }
}
