//! The store beside a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use sanskube::error::{Refused, UserFunction};
use sanskube::key::Key;
use sanskube::object::Object;
use sanskube::resource_version::ResourceVersion;
use sanskube::store::{IndexFunction, Store, Write, namespace_index};

use crate::choices::Choices;
use crate::thing::Thing;

/// A store as one would write it down: each thing by its key.
type Model = BTreeMap<String, Thing>;

/// Whatever is done to a store, it and its indexes hold what a map holds, in an order that depends on the operations alone.
pub fn stores(input: &[u8]) {
    let mut choices = Choices::new(input);
    let (mut store, mut twin) = (indexed(Store::new()), indexed(Store::new()));
    let mut late = Store::new();
    let mut model = Model::new();
    let mut version = 0;
    while !choices.is_empty() {
        version += 1;
        let operation = Operation::choose(&mut choices, version);
        let old = operation.apply_to_model(&mut model);
        for store in [&mut store, &mut twin, &mut late] {
            assert_eq!(operation.apply(store), old, "{operation:?}");
        }
        compare(&store, &model);
        assert!(store.keys().eq(twin.keys()), "the order is a function of the operations");
        let found =
            |store: &Store<Thing>| store.keys_by_index("tags", "a").map(|keys| keys.cloned().collect::<Vec<_>>());
        assert_eq!(found(&store), found(&twin));
    }
    compare(&indexed(late), &model);
}

#[derive(Debug)]
enum Operation {
    Add(Thing),
    Delete(Thing),
    Remove(Thing),
    Replace(Vec<Thing>),
    Transaction(Vec<(bool, Thing)>),
}

impl Operation {
    fn choose(choices: &mut Choices<'_>, version: u64) -> Self {
        match choices.below(20) {
            0..12 => Self::Add(Thing::choose(choices, version)),
            12..15 => Self::Remove(Thing::choose(choices, version)),
            15..18 => Self::Delete(Thing::choose(choices, version)),
            18 => Self::Replace(Thing::choose_list(choices, 11, version)),
            _ => {
                let puts: [bool; 4] = core::array::from_fn(|_| choices.percent(50));
                Self::Transaction(puts.into_iter().map(|put| (put, Thing::choose(choices, version))).collect())
            }
        }
    }

    /// Returns what was there, where the store tells: of one object, or of each listed and then of each that is not.
    fn apply(&self, store: &mut Store<Thing>) -> Vec<Option<Thing>> {
        let told = |old: Option<Arc<Thing>>| vec![old.as_deref().cloned()];
        match self {
            Self::Add(thing) => told(store.add(thing.clone()).expect("nothing refuses a thing").old),
            Self::Delete(thing) => told(store.delete(thing).expect("nothing refuses a thing")),
            Self::Remove(thing) => told(store.remove(thing.key().as_str())),
            Self::Replace(list) => {
                let replaced = store.replace(list.clone(), ResourceVersion::new("9")).expect("nothing refuses a thing");
                let mut removed: Vec<_> = replaced.removed.into_iter().map(|(_, old)| Some((*old).clone())).collect();
                removed.sort_by_key(|old| old.as_ref().map(Thing::key));
                replaced.old.into_iter().map(|old| old.as_deref().cloned()).chain(removed).collect()
            }
            Self::Transaction(writes) => {
                let write = |(put, thing): &(bool, Thing)| {
                    let thing = Arc::new(thing.clone());
                    if *put { Write::Put(thing) } else { Write::Delete(thing) }
                };
                store.transaction(writes.iter().map(write).collect()).expect("nothing refuses a thing");
                Vec::new()
            }
        }
    }

    fn apply_to_model(&self, model: &mut Model) -> Vec<Option<Thing>> {
        let key = |thing: &Thing| thing.key().to_string();
        match self {
            Self::Add(thing) => vec![model.insert(key(thing), thing.clone())],
            Self::Delete(thing) | Self::Remove(thing) => vec![model.remove(&key(thing))],
            Self::Replace(list) => {
                let mut old: Vec<_> = list.iter().map(|thing| model.get(&key(thing)).cloned()).collect();
                let before = core::mem::take(model);
                model.extend(list.iter().map(|thing| (key(thing), thing.clone())));
                old.extend(before.into_iter().filter(|(key, _)| !model.contains_key(key)).map(|(_, old)| Some(old)));
                old
            }
            Self::Transaction(writes) => {
                for (put, thing) in writes {
                    if *put {
                        model.insert(key(thing), thing.clone());
                    } else {
                        model.remove(&key(thing));
                    }
                }
                Vec::new()
            }
        }
    }
}

/// The store with an index by tag, which refuses what has a bad one, and an index by namespace.
fn indexed(mut store: Store<Thing>) -> Store<Thing> {
    let tags: IndexFunction<Thing> = Box::new(|thing, value| {
        thing.tags.iter().for_each(|tag| value(tag));
        if thing.tags.contains(&"bad") {
            return Err(Refused::new(UserFunction::Index, "a bad tag"));
        }
        Ok(())
    });
    store.add_index("tags", tags).expect("the index is new");
    store.add_index("namespace", namespace_index()).expect("the index is new");
    store
}

/// Compares everything a store can be asked with what the model says.
fn compare(store: &Store<Thing>, model: &Model) {
    assert_eq!(store.len(), model.len());
    let mut stored: Vec<_> = store.keys().zip(store.iter()).map(|(key, o)| (key.to_string(), (**o).clone())).collect();
    stored.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(stored.iter().map(|(k, o)| (k, o)).eq(model));
    for (key, object) in model {
        assert_eq!(store.get(key).map(|o| &**o), Some(object));
    }
    assert_eq!(store.get("n0/none"), None);
    let mut tags: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut namespaces: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, object) in model {
        namespaces.entry(object.namespace).or_default().push(key);
        let mut values = object.tags.clone();
        values.sort_unstable();
        values.dedup();
        for value in values.into_iter().filter(|_| !object.tags.contains(&"bad")) {
            tags.entry(value).or_default().push(key);
        }
    }
    for (index, model) in [("tags", tags), ("namespace", namespaces)] {
        assert!(store.index_values(index).iter().eq(model.keys()), "{index}");
        for (value, keys) in model {
            let mut found: Vec<&str> =
                store.keys_by_index(index, value).expect("there is such an index").map(Key::as_str).collect();
            found.sort_unstable();
            assert_eq!(found, keys, "{index} {value}");
        }
    }
}
