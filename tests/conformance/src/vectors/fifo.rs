//! `delta_fifo` and `real_fifo`: the delta queues, and what popped changes make of a store.

use std::collections::BTreeMap;
use std::sync::Arc;

use sanskube::delta::{Deletion, Delta, DeltaFifo, InOrderFifo, KnownObjects, Popped, Queue, Tombstone, Unavailable};
use sanskube::error::Refused;
use sanskube::informer::{Change, Recreated, process_deltas};
use sanskube::key::Key;
use sanskube::store::Store;
use serde_json::{Value, json};

use super::Check;
use super::recorded::{Objects, Recorded, class, key_function, ops, transform};
use super::recreated::{RECREATED, Stored, split};

pub(super) fn replay_classic(case: &Value, check: &mut Check) {
    let config = &case["config"];
    replay(case, check, || {
        let queue = DeltaFifo::new(key_function(&config["key_func"]), transform(&config["transform"]));
        Queue::DeltaFifo(if config["emit_replaced"] == true { queue } else { queue.without_replaced() })
    });
}

pub(super) fn replay_in_order(case: &Value, check: &mut Check) {
    let config = &case["config"];
    replay(case, check, || {
        let mut queue = InOrderFifo::new(key_function(&config["key_func"]), transform(&config["transform"]));
        if config["atomic_events"] == true {
            queue = queue.with_atomic_lists();
        }
        if config["emit_bookmarks"] == true {
            queue = queue.with_bookmarks();
        }
        Queue::InOrder(queue)
    });
}

/// Replays a case twice: with objects that were created anew as client-go tells of them, and as this project does by default.
fn replay(case: &Value, check: &mut Check, queue: impl Fn() -> Queue<Recorded>) {
    for recreated in [Recreated::Update, Recreated::DeleteAndAdd] {
        replay_with(recreated, case, queue(), check);
    }
}

fn replay_with(recreated: Recreated, case: &Value, queue: Queue<Recorded>, check: &mut Check) {
    let mut player = Player::new(recreated, case, queue);
    for (place, name, op, want) in ops(case) {
        let stored = player.stored();
        let mut got = player.apply(name, op);
        if got != json!({"would_block": true}) {
            got["synced"] = json!(player.queue.has_synced());
            match &player.queue {
                Queue::DeltaFifo(queue) => got["queue"] = queue.keys().map(|key| json!(key.as_str())).collect(),
                Queue::InOrder(queue) => got["len"] = json!(queue.len()),
            }
        }
        let mut want = want.clone();
        if let (Recreated::DeleteAndAdd, Some(told)) = (recreated, want["notify"].as_array().cloned()) {
            let (mut told, initial) = (told, want["initial"] == true);
            let key = |object: &_| player.store.key_of(object).expect("it was stored by a key").to_string();
            if split(&mut told, &player.objects, key, stored, initial) {
                check.apply_rule(RECREATED);
                want["notify"] = json!(told);
            }
        }
        if want["unordered"] == true {
            for side in [&mut want, &mut got] {
                sort(&mut side["notify"]);
            }
        }
        want.as_object_mut().expect("a map").remove("unordered");
        check.same(&format!("{place}, with {recreated:?}"), &want, &got);
    }
}

/// Everything one case works on.
struct Player {
    recreated: Recreated,
    objects: Objects,
    queue: Queue<Recorded>,
    store: Store<Recorded>,
    consults_store: bool,
    faults: BTreeMap<String, bool>,
    batch_size: usize,
}

/// The store as the queue is told of it: by rising key, with lookups that fail or find nothing where the case says so.
struct Known<'a> {
    store: Option<&'a Store<Recorded>>,
    /// Keys that are listed but not found; whether that is because the lookup fails.
    faults: &'a BTreeMap<String, bool>,
}

impl KnownObjects<Recorded> for Known<'_> {
    fn keys(&self) -> impl Iterator<Item = Key> {
        let Some(store) = self.store else { return Vec::new().into_iter() };
        let mut keys: Vec<Key> = store.keys().cloned().collect();
        keys.extend(self.faults.keys().map(|key| Key::explicit(key)));
        keys.sort();
        keys.dedup();
        keys.into_iter()
    }

    fn get(&self, key: &str) -> Result<Option<Arc<Recorded>>, Unavailable> {
        match (self.store, self.faults.get(key)) {
            (None, _) | (_, Some(false)) => Ok(None),
            (_, Some(true)) => Err(Unavailable),
            (Some(store), None) => Ok(store.get(key).cloned()),
        }
    }
}

impl Player {
    fn new(recreated: Recreated, case: &Value, queue: Queue<Recorded>) -> Self {
        let config = &case["config"];
        let mut store = Store::new();
        if let Some(function) = key_function(&config["key_func"]) {
            store = store.with_key_function(function);
        }
        let objects = Objects::of(case);
        for object in objects.list(&config["initial_known"]) {
            let _ = store.add(object).expect("the key function takes it");
        }
        let faults = config["known_faults"].as_object().into_iter().flatten();
        Self {
            recreated,
            objects,
            queue,
            store,
            consults_store: config["known_objects"] == true,
            faults: faults.map(|(key, fault)| (key.clone(), fault == "error")).collect(),
            batch_size: config["batch_size"].as_u64().map_or(1, |size| size as usize),
        }
    }

    /// What is stored.
    fn stored(&self) -> Stored {
        let names = self.store.iter().map(|object| self.objects.name(object));
        self.store.keys().map(ToString::to_string).zip(names).collect()
    }

    fn apply(&mut self, name: &str, op: &Value) -> Value {
        let known = Known { store: self.consults_store.then_some(&self.store), faults: &self.faults };
        let one = || self.objects.object(&op["obj"]);
        let rv = || op["rv"].as_str().expect("a resource version").into();
        let result = match name {
            "add" => self.queue.add(one()),
            "update" => self.queue.update(one()),
            "delete" => match op.get("tombstone") {
                Some(tombstone) => {
                    let key = Key::explicit(tombstone["key"].as_str().expect("a tombstone has a key"));
                    let object =
                        (!tombstone["obj"].is_null()).then(|| Arc::new(self.objects.object(&tombstone["obj"])));
                    self.queue.delete_missed(Tombstone { key, object }, &known);
                    Ok(())
                }
                None => self.queue.delete(one(), &known),
            },
            "replace" => self.queue.replace(self.objects.list(&op["objs"]), rv(), &known),
            "resync" => {
                self.queue.resync(&known);
                Ok(())
            }
            "bookmark" => {
                self.queue.bookmark(rv());
                Ok(())
            }
            "close" => {
                self.queue.close();
                Ok(())
            }
            "pop" | "pop_batch" => return self.pop(name == "pop_batch", op["process_error"] == true),
            _ => panic!("unknown operation {name}"),
        };
        result.map_or_else(|e| json!({"err": class(&e)}), |()| json!({}))
    }

    fn pop(&mut self, batch: bool, fails: bool) -> Value {
        let popped = if batch { self.queue.pop_batch(self.batch_size) } else { self.queue.pop() };
        let Some(popped) = popped else {
            return if self.queue.is_closed() { json!({"err": "closed"}) } else { json!({"would_block": true}) };
        };
        let deltas: Vec<Value> = popped.deltas.iter().map(|delta| self.delta(delta)).collect();
        let mut got = json!({"deltas": deltas, "initial": popped.initial, "synced_in_process": popped.synced});
        if batch {
            got["single"] = json!(popped.deltas.len() == 1);
        }
        if fails {
            got["err"] = json!("process");
            return got;
        }
        let (notify, result) = self.process(popped);
        got["notify"] = notify.iter().map(|change| self.objects.change(change)).collect();
        got["store"] = self.objects.sorted(self.store.iter());
        if let Err(e) = result {
            got["err"] = json!(class(&e));
        }
        got
    }

    fn process(&mut self, popped: Popped<Recorded>) -> (Vec<Change<Recorded>>, Result<(), Refused>) {
        let mut changes = Vec::new();
        let result = process_deltas(&mut self.store, popped, self.recreated, |told| changes.push(told.change));
        (changes, result)
    }

    fn delta(&self, delta: &Delta<Recorded>) -> Value {
        let name = |object| self.objects.name(object);
        match delta {
            Delta::Added(object) => json!({"type": "Added", "obj": name(object)}),
            Delta::Updated(object) => json!({"type": "Updated", "obj": name(object)}),
            Delta::Replaced(object) => json!({"type": "Replaced", "obj": name(object)}),
            Delta::Sync(object) => json!({"type": "Sync", "obj": name(object)}),
            Delta::Deleted(deletion) => {
                let mut value = self.objects.deletion(deletion);
                value["type"] = json!("Deleted");
                value
            }
            Delta::ReplacedAll { objects, resource_version } => {
                let names: Vec<_> = objects.iter().map(|object| name(object)).collect();
                json!({"type": "ReplacedAll", "objs": names, "rv": resource_version.to_string()})
            }
            Delta::SyncAll => json!({"type": "SyncAll"}),
            Delta::Bookmark(version) => json!({"type": "Bookmark", "rv": version.to_string()}),
        }
    }
}

impl Objects {
    /// A change as the cases write what a handler is told.
    pub(super) fn change(&self, change: &Change<Recorded>) -> Value {
        match change {
            Change::Add { object, initial } => json!({"on": "add", "obj": self.name(object), "initial": initial}),
            Change::Update { old, new } => json!({"on": "update", "old": self.name(old), "new": self.name(new)}),
            Change::Delete(deletion) => {
                let mut value = self.deletion(deletion);
                value["on"] = json!("delete");
                value
            }
        }
    }

    fn deletion(&self, deletion: &Deletion<Recorded>) -> Value {
        match deletion {
            Deletion::Observed(object) => json!({"obj": self.name(object)}),
            Deletion::Missed(Tombstone { key, object }) => {
                let object = object.as_ref().map(|object| self.name(object));
                json!({"tombstone": {"key": key.as_str(), "obj": object}})
            }
        }
    }
}

/// Sorts the entries of a list whose order is not told.
pub(super) fn sort(list: &mut Value) {
    if let Some(entries) = list.as_array_mut() {
        entries.sort_by_cached_key(Value::to_string);
    }
}
