use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use super::*;
use crate::testing::{Random, Thing, thing};

fn tags() -> IndexFunction<Thing> {
    Box::new(|thing, value| {
        thing.tags.iter().for_each(|tag| value(tag));
        if thing.tags.iter().any(|tag| tag == "bad") {
            return Err(Refused::new(crate::error::UserFunction::Index, "a bad tag"));
        }
        Ok(())
    })
}

fn store() -> Store<Thing> {
    let mut store = Store::new();
    store.add_index("tags", tags()).unwrap();
    store.add_index("namespace", namespace_index()).unwrap();
    store
}

fn found(store: &Store<Thing>, value: &str) -> Vec<String> {
    store.keys_by_index("tags", value).unwrap().map(|key| key.as_str().into()).collect()
}

#[test]
fn an_index_follows_when_values_come_and_go() {
    let mut store = store();
    for tags in [&["a"][..], &["a", "b"], &["a"], &["b"], &["a", "a"], &[], &["", "a"]] {
        let _ = store.add(thing("n/x", 1, tags)).unwrap();
        for value in ["a", "b", ""] {
            let want = usize::from(tags.contains(&value));
            assert_eq!(found(&store, value).len(), want, "{value:?} of {tags:?}");
        }
    }
}

#[test]
fn a_value_that_nothing_has_is_forgotten() {
    let mut store = store();
    let _ = store.add(thing("n/x", 1, &["a", "b"])).unwrap();
    let _ = store.add(thing("n/y", 2, &["b"])).unwrap();
    store.remove("n/x");
    assert_eq!(store.index_values("tags"), ["b"]);
    store.delete(&thing("n/y", 3, &[])).unwrap();
    assert_eq!(store.index_values("tags"), [""; 0]);
    assert_eq!(store.index_values("namespace"), [""; 0]);
    assert_eq!(store.resource_version(), &ResourceVersion::new("3"));
}

#[test]
fn a_refused_index_value_keeps_the_object_out_of_that_index_only() {
    let mut store = store();
    let _ = store.add(thing("n/x", 1, &["a"])).unwrap();
    let written = store.add(thing("n/x", 2, &["b", "bad"])).unwrap();
    assert_eq!(written.old.unwrap().version, 1);
    assert!(written.unindexed.is_some());
    assert_eq!(store.get("n/x").unwrap().version, 2);
    assert_eq!(store.index_values("tags"), [""; 0]);
    assert_eq!(store.by_index("namespace", "n").unwrap().len(), 1);
    assert!(store.add(thing("n/x", 3, &["b"])).unwrap().unindexed.is_none());
    assert_eq!(found(&store, "b"), ["n/x"]);
}

#[test]
fn a_replacement_tells_what_was_there() {
    let mut store = store();
    for (at, key) in ["n/a", "n/b", "n/c", "n/d"].into_iter().enumerate() {
        let _ = store.add(thing(key, at as u64, &["t"])).unwrap();
    }
    let list = [thing("n/c", 8, &["t"]), thing("n/e", 9, &["t"]), thing("n/c", 10, &["u"])];
    let replaced = store.replace(list, ResourceVersion::new("20")).unwrap();
    let old: Vec<_> = replaced.old.iter().map(|old| old.as_ref().map(|old| old.version)).collect();
    assert_eq!(old, [Some(2), None, Some(2)]);
    assert!(replaced.removed.iter().map(|(key, _)| key.as_str()).eq(["n/a", "n/b", "n/d"]));
    assert!(store.keys().map(Key::as_str).eq(["n/c", "n/e"]));
    assert_eq!(store.get("n/c").unwrap().version, 10);
    assert_eq!(found(&store, "t"), ["n/e"]);
    assert_eq!(store.resource_version(), &ResourceVersion::new("20"));
}

#[test]
fn a_reader_keeps_what_it_saw() {
    let mut store = store();
    let _ = store.add(thing("n/x", 1, &[])).unwrap();
    let seen = Arc::clone(store.get("n/x").unwrap());
    let _ = store.add(thing("n/x", 2, &[])).unwrap();
    assert_eq!((seen.version, store.get("n/x").unwrap().version), (1, 2));
}

#[test]
fn a_value_told_twice_does_not_hide_that_another_one_is_gone() {
    // Each store hashes with a seed of its own, and only some seeds make the values neighbours in the table.
    for _ in 0..2000 {
        let mut store = store();
        let _ = store.add(thing("n/x", 1, &["a", "", ""])).unwrap();
        let _ = store.add(thing("n/x", 2, &["", ""])).unwrap();
        assert_eq!(found(&store, "a").len(), 0);
        assert_eq!(found(&store, "").len(), 1);
    }
}

/// A store as one would write it down: each thing by its key.
type Model = BTreeMap<String, Thing>;

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
        namespaces.entry(object.namespace()).or_default().push(key);
        let mut values: Vec<&str> = object.tags.iter().map(String::as_str).collect();
        values.sort_unstable();
        values.dedup();
        for value in values.into_iter().filter(|_| !object.tags.iter().any(|tag| tag == "bad")) {
            tags.entry(value).or_default().push(key);
        }
    }
    for (index, model) in [("tags", tags), ("namespace", namespaces)] {
        assert!(store.index_values(index).iter().eq(model.keys()), "{index}");
        for (value, keys) in model {
            let mut found: Vec<&str> = store.keys_by_index(index, value).unwrap().map(Key::as_str).collect();
            found.sort_unstable();
            assert_eq!(found, keys, "{index} {value}");
        }
    }
}

#[test]
fn random_operations_leave_the_store_and_its_indexes_as_a_naive_model_has_them() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let (mut store, mut model, mut twin) = (store(), Model::new(), store());
        for step in 0..200 {
            let object = random.thing(step);
            match random.below(20) {
                0..12 => {
                    let old = store.add(object.clone()).unwrap().old;
                    let _ = twin.add(object.clone());
                    assert_eq!(old.as_deref(), model.insert(object.key().to_string(), object).as_ref());
                }
                12..15 => {
                    let old = store.remove(object.key().as_str());
                    twin.remove(object.key().as_str());
                    assert_eq!(old.as_deref(), model.remove(object.key().as_str()).as_ref());
                }
                15..18 => {
                    store.delete(&object).unwrap();
                    twin.delete(&object).unwrap();
                    model.remove(object.key().as_str());
                }
                18 => {
                    let list: Vec<Thing> = (0..random.below(12)).map(|_| random.thing(step)).collect();
                    let _ = store.replace(list.clone(), ResourceVersion::new("9")).unwrap();
                    let _ = twin.replace(list.clone(), ResourceVersion::new("9")).unwrap();
                    model = list.into_iter().map(|object| (object.key().to_string(), object)).collect();
                }
                _ => {
                    let writes: Vec<(bool, Thing)> =
                        (0..4).map(|_| (random.below(2) == 0, random.thing(step))).collect();
                    for store in [&mut store, &mut twin] {
                        let writes = writes.iter().map(|(put, object)| (*put, Arc::new(object.clone())));
                        let writes = writes.map(|(put, o)| if put { Write::Put(o) } else { Write::Delete(o) });
                        store.transaction(writes.collect()).unwrap();
                    }
                    for (put, object) in writes {
                        if put {
                            model.insert(object.key().to_string(), object);
                        } else {
                            model.remove(object.key().as_str());
                        }
                    }
                }
            }
            compare(&store, &model);
            // The order is a function of the operations alone: two stores hash with different seeds.
            assert!(store.keys().eq(twin.keys()));
            let order = |store: &Store<Thing>| found(store, "a");
            assert_eq!(order(&store), order(&twin));
        }
    }
}

#[test]
fn an_index_added_late_is_as_one_that_was_always_there() {
    let mut random = Random::new(7);
    let mut late = Store::new();
    let mut model = Model::new();
    for step in 0..50 {
        let object = random.thing(step);
        let _ = late.add(object.clone()).unwrap();
        model.insert(object.key().to_string(), object);
    }
    late.add_index("tags", tags()).unwrap();
    late.add_index("namespace", namespace_index()).unwrap();
    assert_eq!(late.add_index("tags", tags()).unwrap_err(), Misuse::IndexExists);
    compare(&late, &model);
}
