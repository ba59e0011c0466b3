use alloc::string::String;

use super::*;
use crate::testing::{Thing, thing};

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

#[test]
fn of_two_indexes_with_one_name_the_second_is_refused() {
    assert_eq!(store().add_index("tags", tags()).unwrap_err(), Misuse::IndexExists);
}
