//! The work queue.

use std::time::Duration;

use sanskube::key::Key;
use sanskube::time::Instant;
use sanskube::workqueue::{Finish, Get, WorkQueue, rate};

use crate::counting::allocated;

const KEYS: usize = 100_000;

#[test]
fn as_many_keys_as_came_failed_and_went_leave_the_queue_at_its_starting_size() {
    let mut queue = WorkQueue::new(rate::default_controller());
    let start = allocated();
    let mut now = Instant::ZERO;
    for number in 0..KEYS {
        queue.add(now, Key::new(&format!("namespace-{number}"), "web"));
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
