//! The work queue and selectors.

use std::time::Duration;

use sanskube::key::Key;
use sanskube::object::Labels;
use sanskube::object::selector::Selector;
use sanskube::time::Instant;
use sanskube::workqueue::{Finish, Get, WorkQueue, rate};

use crate::counting::{allocated, allocations};

const KEYS: usize = 100_000;

#[test]
fn as_many_keys_as_came_failed_and_went_leave_the_queue_at_its_starting_size() {
    let mut queue = WorkQueue::new(rate::default_controller());
    let start = allocated();
    let mut now = Instant::ZERO;
    for number in 0..KEYS {
        queue.add(now, Key::new("shop", &number.to_string()));
    }
    while let Get::Item(key) = queue.poll_get(now) {
        queue.finish(now, &key, Finish::Retry);
    }
    let full = allocated() - start;
    while let Some(until) = queue.next_deadline() {
        now = until;
        while let Get::Item(key) = queue.poll_get(now) {
            queue.finish(now, &key, Finish::Done);
        }
    }
    assert!(now > Instant::ZERO + Duration::from_secs(60), "the keys have waited");
    let left = allocated() - start;
    assert!(left < 4096, "{left} of {full} bytes are left");
    println!("{} bytes a key that waits for its retry", full / KEYS as isize);
}

#[test]
fn matching_labels_does_not_allocate() {
    let selector = Selector::parse("app=web,tier in (front,back),release!=canary,!debug,weight>5").unwrap();
    let labels: Labels = [("app", "web"), ("tier", "back"), ("weight", "7")].into_iter().collect();
    let before = allocations();
    let matches = (0..1_000).filter(|_| selector.matches(&labels) && selector.clone().matches(&labels)).count();
    assert_eq!((matches, allocations() - before), (1_000, 0));
}
