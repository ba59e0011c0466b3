//! The store.

use sanskube::error::Refused;
use sanskube::key::Key;
use sanskube::object::Object;
use sanskube::resource_version::ResourceVersion;
use sanskube::store::{Store, namespace_index};
use sanskube::uid::Uid;

use crate::counting::allocated;

const OBJECTS: usize = 100_000;

/// An object that is little more than its key.
struct Small {
    key: Key,
}

impl Object for Small {
    fn namespace(&self) -> &str {
        self.key.namespace()
    }

    fn name(&self) -> &str {
        self.key.name()
    }

    fn uid(&self) -> Uid {
        Uid::new("")
    }

    fn resource_version(&self) -> ResourceVersion {
        ResourceVersion::ZERO
    }

    fn key(&self) -> Key {
        self.key.clone()
    }
}

fn small(number: usize) -> Small {
    Small { key: Key::new(&format!("namespace-{number}"), "web") }
}

/// A store with an index of as many values as objects, one of a single value, and one of two values an object.
fn store() -> Store<Small> {
    let mut store = Store::new();
    store.add_index("namespace", namespace_index()).unwrap();
    let name = |object: &Small, value: &mut dyn FnMut(&str)| -> Result<(), Refused> {
        value(object.name());
        Ok(())
    };
    store.add_index("name", Box::new(name)).unwrap();
    let both = |object: &Small, value: &mut dyn FnMut(&str)| -> Result<(), Refused> {
        value(object.namespace());
        value(object.name());
        Ok(())
    };
    store.add_index("both", Box::new(both)).unwrap();
    store
}

#[test]
fn as_many_objects_as_came_and_went_in_as_many_namespaces_leave_the_store_at_its_starting_size() {
    let mut store = store();
    let start = allocated();
    for number in 0..OBJECTS {
        let _ = store.add(small(number)).unwrap();
    }
    let full = allocated() - start;
    // In another order than they came.
    for number in (0..OBJECTS).map(|number| number * 7919 % OBJECTS) {
        store.remove(&format!("namespace-{number}/web")).expect("each is there once");
    }
    assert!(store.is_empty());
    assert_eq!(store.index_values("namespace"), [""; 0]);
    assert_eq!(allocated() - start, 0);
    // Only now: what a test prints is held in memory.
    println!("{} bytes an object with its key and four index values", full / OBJECTS as isize);
}

#[test]
fn memory_falls_with_the_number_of_objects() {
    let mut store = store();
    let start = allocated();
    for number in 0..OBJECTS {
        let _ = store.add(small(number)).unwrap();
    }
    let full = allocated() - start;
    for number in (0..OBJECTS).filter(|number| number % 100 != 0) {
        store.remove(&format!("namespace-{number}/web")).expect("each is there once");
    }
    assert_eq!(store.len(), OBJECTS / 100);
    assert!((allocated() - start) * 20 < full, "{} of {full} bytes are left", allocated() - start);
}

#[test]
fn a_replacement_by_nothing_leaves_the_store_at_its_starting_size() {
    let mut store = store();
    let start = allocated();
    drop(store.replace((0..1000).map(small), ResourceVersion::ZERO).unwrap());
    drop(store.replace([], ResourceVersion::ZERO).unwrap());
    assert_eq!(allocated() - start, 0);
}
