//! What stores, queues and selectors cost, counted by the allocator.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use sanskube::error::Refused;
use sanskube::key::Key;
use sanskube::object::selector::Selector;
use sanskube::object::{Labels, Object};
use sanskube::resource_version::ResourceVersion;
use sanskube::store::{Store, namespace_index};
use sanskube::time::Instant;
use sanskube::uid::Uid;
use sanskube::workqueue::{Finish, Get, WorkQueue, rate};

thread_local! {
    /// The bytes that this thread has allocated and not freed.
    static ALLOCATED: Cell<isize> = const { Cell::new(0) };
    /// How often this thread has allocated.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is left to the system's allocator; beside that a number is kept, without allocating.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size() as isize);
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.set(ALLOCATED.get() - layout.size() as isize);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
    let start = ALLOCATED.get();
    for number in 0..OBJECTS {
        let _ = store.add(small(number)).unwrap();
    }
    let full = ALLOCATED.get() - start;
    // In another order than they came.
    for number in (0..OBJECTS).map(|number| number * 7919 % OBJECTS) {
        store.remove(&format!("namespace-{number}/web")).expect("each is there once");
    }
    assert!(store.is_empty());
    assert_eq!(store.index_values("namespace"), [""; 0]);
    assert_eq!(ALLOCATED.get() - start, 0);
    // Only now: what a test prints is held in memory.
    println!("{} bytes an object with its key and four index values", full / OBJECTS as isize);
}

#[test]
fn memory_falls_with_the_number_of_objects() {
    let mut store = store();
    let start = ALLOCATED.get();
    for number in 0..OBJECTS {
        let _ = store.add(small(number)).unwrap();
    }
    let full = ALLOCATED.get() - start;
    for number in (0..OBJECTS).filter(|number| number % 100 != 0) {
        store.remove(&format!("namespace-{number}/web")).expect("each is there once");
    }
    assert_eq!(store.len(), OBJECTS / 100);
    assert!((ALLOCATED.get() - start) * 20 < full, "{} of {full} bytes are left", ALLOCATED.get() - start);
}

#[test]
fn a_replacement_by_nothing_leaves_the_store_at_its_starting_size() {
    let mut store = store();
    let start = ALLOCATED.get();
    drop(store.replace((0..1000).map(small), ResourceVersion::ZERO).unwrap());
    drop(store.replace([], ResourceVersion::ZERO).unwrap());
    assert_eq!(ALLOCATED.get() - start, 0);
}

#[test]
fn as_many_keys_as_came_failed_and_went_leave_the_queue_at_its_starting_size() {
    let mut queue = WorkQueue::new(rate::default_controller());
    let start = ALLOCATED.get();
    let mut now = Instant::ZERO;
    for number in 0..OBJECTS {
        queue.add(now, small(number).key());
    }
    while let Get::Item(key) = queue.poll_get(now) {
        queue.finish(now, &key, Finish::Retry);
    }
    let full = ALLOCATED.get() - start;
    while let Some(until) = queue.next_deadline() {
        now = until;
        while let Get::Item(key) = queue.poll_get(now) {
            queue.finish(now, &key, Finish::Done);
        }
    }
    assert!(now > Instant::ZERO + Duration::from_secs(60), "the keys have waited");
    let left = ALLOCATED.get() - start;
    assert!(left < 4096, "{left} of {full} bytes are left");
    println!("{} bytes a key that waits for its retry", full / OBJECTS as isize);
}

#[test]
fn matching_labels_does_not_allocate() {
    let selector = Selector::parse("app=web,tier in (front,back),release!=canary,!debug,weight>5").unwrap();
    let labels: Labels = [("app", "web"), ("tier", "back"), ("weight", "7")].into_iter().collect();
    let before = ALLOCATIONS.get();
    let matches = (0..1_000).filter(|_| selector.matches(&labels) && selector.clone().matches(&labels)).count();
    assert_eq!((matches, ALLOCATIONS.get() - before), (1_000, 0));
}
