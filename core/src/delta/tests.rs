use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};

use super::*;
use crate::object::Object;
use crate::testing::{Thing, thing};

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
