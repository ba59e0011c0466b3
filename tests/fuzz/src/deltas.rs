//! Both delta queues beside a list of entries.

use std::sync::Arc;

use sanskube::delta::{Deletion, Delta, DeltaFifo, InOrderFifo, Queue};
use sanskube::key::Key;
use sanskube::object::Object;
use sanskube::resource_version::ResourceVersion;
use sanskube::store::Store;

use crate::choices::Choices;
use crate::thing::Thing;

/// Whatever is pushed and popped, the queue that gathers holds what a list of entries holds.
pub fn delta_fifo(input: &[u8]) {
    run(input, Queue::DeltaFifo(DeltaFifo::new(None, None)), true);
}

/// The same of the queue that keeps each change on its own.
pub fn in_order_fifo(input: &[u8]) {
    run(input, Queue::InOrder(InOrderFifo::new(None, None)), false);
}

fn run(input: &[u8], mut queue: Queue<Thing>, gathers: bool) {
    let mut choices = Choices::new(input);
    let mut behind = Store::new();
    let mut model = Model { gathers, ..Model::default() };
    let mut step = 0;
    while !choices.is_empty() {
        step += 1;
        let operation = choices.below(16);
        let object = Thing::choose(&mut choices, step);
        let key = object.key().to_string();
        match operation {
            0..3 => {
                model.populated = true;
                model.push(write("Added", &key, step));
                queue.add(object).expect("nothing refuses a thing");
            }
            3..6 => {
                model.populated = true;
                model.push(write("Updated", &key, step));
                queue.update(object).expect("nothing refuses a thing");
            }
            6..8 => {
                model.delete(&key, step, &behind);
                queue.delete(object, &behind).expect("nothing refuses a thing");
            }
            8 => {
                let list = Thing::choose_list(&mut choices, 7, step);
                model.replace(&list, &behind);
                queue.replace(list, ResourceVersion::new("1"), &behind).expect("nothing refuses a thing");
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
                let popped = popped.expect("nothing refuses a thing");
                let (_, changes) = model.entries.remove(0);
                model.initial_left = model.initial_left.saturating_sub(1);
                assert!(popped.deltas.iter().map(written).eq(changes), "step {step}");
                assert_eq!(popped.initial, initial);
                popped.deltas.iter().for_each(|delta| apply(delta, &mut behind));
            }
        }
        assert_eq!(queue.len(), model.entries.len(), "step {step}");
        assert_eq!(queue.has_synced(), model.has_synced(), "step {step}");
        if let Queue::DeltaFifo(queue) = &queue {
            assert!(queue.keys().map(Key::as_str).eq(model.entries.iter().map(|(key, _)| key.as_str())));
        }
    }
}

/// Does to what is behind the queue what a change says.
fn apply(delta: &Delta<Thing>, behind: &mut Store<Thing>) {
    match delta {
        Delta::Deleted(Deletion::Missed(tombstone)) => drop(behind.remove(tombstone.key.as_str())),
        Delta::Deleted(Deletion::Observed(object)) => drop(behind.remove(object.key().as_str())),
        other => {
            let object = other.object().expect("lists are queued object by object");
            let _ = behind.add_shared(Arc::clone(object)).expect("nothing refuses a thing");
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
            let last = changes.last().expect("an entry has a change").0.clone();
            let both_end = ["Deleted", "Tombstone"].contains(&last.as_str())
                && ["Deleted", "Tombstone"].contains(&change.0.as_str());
            match (both_end, last.as_str()) {
                (true, "Deleted") => {}
                (true, _) => *changes.last_mut().expect("an entry has a change") = change,
                (false, _) => changes.push(change),
            }
            return;
        }
        self.entries.push((key, vec![change]));
    }

    fn delete(&mut self, key: &str, version: u64, behind: &Store<Thing>) {
        self.populated = true;
        if !self.gathers || behind.get(key).is_some() || self.newest(key).is_some() {
            self.push(write("Deleted", key, version));
        }
    }

    fn replace(&mut self, list: &[Thing], behind: &Store<Thing>) {
        let listed: Vec<String> = list.iter().map(|object| object.key().to_string()).collect();
        let mut missing = Vec::new();
        for (key, changes) in &self.entries {
            let newest = self.newest(key).unwrap_or(&changes[0]);
            let gone = ["Deleted", "Tombstone"].contains(&newest.0.as_str());
            if !listed.contains(key) && (self.gathers || !gone) && !missing.iter().any(|(k, _)| k == key) {
                missing.push((key.clone(), newest.2));
            }
        }
        for (key, object) in behind.keys().map(Key::to_string).zip(behind.iter()) {
            if !listed.contains(&key) && self.newest(&key).is_none() {
                missing.push((key, object.version));
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

    fn resync(&mut self, behind: &Store<Thing>) {
        for (key, object) in behind.keys().map(Key::to_string).zip(behind.iter()) {
            if self.newest(&key).is_none() {
                self.push(write("Sync", &key, object.version));
            }
        }
    }

    fn has_synced(&self) -> bool {
        self.populated && self.initial_left == 0
    }
}
