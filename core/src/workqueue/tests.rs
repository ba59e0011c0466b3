use alloc::vec::Vec;

use super::rate::{Bucket, MaxOf, PerItem, WithMaxWait, default_controller};
use super::*;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

type Key = &'static str;

fn queue() -> WorkQueue<Key> {
    WorkQueue::new(default_controller())
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// All that can be taken now, finished with success.
fn drain<K: Clone + Eq + Hash, L: RateLimiter<K>>(queue: &mut WorkQueue<K, L>, now: Instant) -> Vec<K> {
    let mut keys = Vec::new();
    while let Get::Item(key) = queue.poll_get(now) {
        queue.done(now, &key);
        keys.push(key);
    }
    keys
}

#[test]
fn of_two_reminders_the_earlier_counts() {
    let mut queue = queue();
    queue.add_after(at(0), "a", 5 * HOUR);
    queue.add_after(at(0), "a", Duration::from_millis(10));
    queue.add_after(at(0), "b", 3 * SECOND);
    queue.add_after(at(0), "b", 5 * SECOND);
    assert_eq!(queue.next_deadline(), Some(at(10)));
    assert_eq!(drain(&mut queue, at(10)), ["a"]);
    assert_eq!(drain(&mut queue, at(3_000)), ["b"]);
    assert_eq!((queue.next_deadline(), queue.waiting()), (None, 0));
}

#[test]
fn a_reminder_survives_an_immediate_add() {
    let mut queue = queue();
    queue.add_after(at(0), "a", 5 * HOUR);
    queue.add(at(0), "a");
    assert_eq!(drain(&mut queue, at(0)), ["a"]);
    assert_eq!(drain(&mut queue, at(0) + 5 * HOUR), ["a"]);
}

#[test]
fn a_reminder_survives_a_retry() {
    let mut queue = queue();
    queue.add_after(at(0), "a", 5 * HOUR);
    queue.add_rate_limited(at(0), "a");
    assert_eq!(drain(&mut queue, at(5)), ["a"]);
    assert_eq!(drain(&mut queue, at(0) + 5 * HOUR), ["a"]);
}

#[test]
fn a_reminder_can_be_cancelled() {
    let mut queue = queue();
    queue.add_after(at(0), "a", SECOND);
    queue.add_rate_limited(at(0), "a");
    assert!(queue.cancel_after(&"a"));
    assert!(!queue.cancel_after(&"a"));
    assert_eq!(drain(&mut queue, at(5)), ["a"], "the retry stays");
    assert_eq!(queue.poll_get(at(5_000)), Get::Empty { until: None });
}

#[test]
fn a_key_added_many_times_while_it_waits_for_its_retry_takes_one_token() {
    let mut queue = WorkQueue::new(MaxOf::new(PerItem::exponential(SECOND, HOUR), Bucket::new(10.0, 2)));
    for _ in 0..1_000 {
        queue.add_rate_limited(at(0), "hot");
    }
    assert_eq!(queue.num_requeues(&"hot"), 1);
    // The second token is still there; a third one would make its key wait.
    queue.add_rate_limited(at(0), "other");
    assert_eq!(drain(&mut queue, at(1_000)), ["hot", "other"]);
}

#[test]
fn the_part_of_the_bucket_in_a_delay_can_be_capped() {
    let capped = WithMaxWait::new(Bucket::new(10.0, 100), 30 * SECOND);
    let mut queue = WorkQueue::new(MaxOf::new(PerItem::exponential(Duration::from_millis(5), 1_000 * SECOND), capped));
    for key in 0..10_000 {
        queue.add_rate_limited(at(0), key);
    }
    assert_eq!(drain(&mut queue, at(30_000)).len(), 10_000);
}

#[test]
fn early_runs_within_a_wait_do_not_make_it_longer() {
    let mut queue = queue();
    let outage_ends = at(60_000);
    // Twenty events in the first two seconds; each runs the key early.
    let mut events = (0..20).map(|event| at(event * 100)).peekable();
    let mut now = at(0);
    let mut escalated_at = now;
    let succeeded = loop {
        while events.next_if(|event| *event <= now).is_some() {
            queue.add(now, "set");
        }
        let Get::Item(key) = queue.poll_get(now) else {
            now = queue.next_deadline().into_iter().chain(events.peek().copied()).min().unwrap();
            continue;
        };
        if now >= outage_ends {
            queue.finish(now, &key, Finish::Done);
            break now;
        }
        let before = queue.num_requeues(&key);
        queue.finish(now, &key, Finish::Retry);
        if queue.num_requeues(&key) > before {
            let waited = now.since(escalated_at);
            let due = if before == 0 { 0 } else { 5 << (before - 1) };
            assert!(waited >= Duration::from_millis(due), "failure {} came after {waited:?}", before + 1);
            escalated_at = now;
        }
    };
    // The waits add up to less than twice the last one, which began during the outage.
    assert!(succeeded < at(2 * 60_000 + 10), "{succeeded:?}");
    assert_eq!(queue.tracked(), 0);
}

#[test]
fn in_the_manner_of_client_go_every_add_escalates() {
    let mut queue = queue().with_retries(Retries::ClientGo);
    queue.add_after(at(0), "a", 5 * HOUR);
    for _ in 0..3 {
        queue.add_rate_limited(at(0), "a");
    }
    assert_eq!((queue.num_requeues(&"a"), queue.waiting()), (3, 1));
    assert_eq!(drain(&mut queue, at(5)), ["a"]);
    assert_eq!(queue.next_deadline(), None);
}

#[test]
fn a_failure_after_a_success_waits_from_the_start_again() {
    let mut queue = WorkQueue::new(PerItem::exponential(SECOND, HOUR));
    let fail = |queue: &mut WorkQueue<Key, _>, now| {
        queue.add(now, "a");
        assert_eq!(queue.poll_get(now), Get::Item("a"));
        queue.finish(now, &"a", Finish::Retry);
    };
    let mut now = at(0);
    for _ in 0..6 {
        fail(&mut queue, now);
        now = queue.next_deadline().unwrap();
    }
    fail(&mut queue, now);
    assert!(queue.next_deadline() > Some(now + 60 * SECOND));
    // An event makes it succeed early, another one makes it fail again.
    queue.add(now, "a");
    assert_eq!(queue.poll_get(now), Get::Item("a"));
    queue.finish(now, &"a", Finish::Done);
    fail(&mut queue, now);
    assert_eq!(queue.next_deadline(), Some(now + SECOND));
}

#[test]
fn after_the_shutdown_every_get_says_so() {
    let mut queue = queue();
    queue.add(at(0), "x");
    queue.shut_down(at(0));
    assert_eq!(queue.poll_get(at(0)), Get::Item("x"));
    for _ in 0..4 {
        assert_eq!(queue.poll_get(at(0)), Get::ShutDown);
    }
}

#[test]
fn a_drain_waits_for_what_is_queued_and_for_what_was_added_meanwhile() {
    let mut queue = queue();
    queue.add(at(0), "a");
    queue.add(at(0), "b");
    queue.add_after(at(0), "later", SECOND);
    assert_eq!(queue.poll_get(at(0)), Get::Item("a"));
    queue.add(at(0), "a");
    queue.shut_down_with_drain(at(0));
    queue.add(at(0), "c");
    queue.finish(at(0), &"a", Finish::Done);
    assert_eq!((queue.processing(), queue.is_draining()), (0, true), "client-go's drain would end here");
    for want in ["b", "a"] {
        assert_eq!(queue.poll_get(at(2_000)), Get::Item(want));
        assert!(queue.is_draining());
        queue.finish(at(2_000), &want, Finish::Done);
    }
    assert!(!queue.is_draining() && queue.is_shutting_down());
    assert_eq!(queue.poll_get(at(2_000)), Get::ShutDown);
}

#[test]
fn a_plain_shutdown_ends_a_drain() {
    let mut queue = queue();
    queue.add(at(0), "a");
    assert_eq!(queue.poll_get(at(0)), Get::Item("a"));
    queue.shut_down_with_drain(at(0));
    assert!(queue.is_draining());
    queue.shut_down(at(0));
    assert!(!queue.is_draining());
}

#[test]
fn a_hundred_thousand_waiting_keys_have_one_deadline() {
    let mut queue = WorkQueue::new(());
    for key in 0..100_000_u64 {
        queue.add_after(at(0), key, Duration::from_millis(100_000 - key));
    }
    assert_eq!((queue.waiting(), queue.next_deadline()), (100_000, Some(at(1))));
    assert_eq!(drain(&mut queue, at(2)), [99_999, 99_998]);
    assert_eq!(queue.next_deadline(), Some(at(3)));
    assert!(drain(&mut queue, at(100_000)).is_sorted_by(|a, b| a > b));
    assert_eq!((queue.waiting(), queue.next_deadline()), (0, None));
}

#[test]
fn keys_that_succeed_leave_no_counters_behind() {
    let mut queue = WorkQueue::new(default_controller());
    for key in 0..100_000 {
        queue.add(at(0), key);
        assert_eq!(queue.poll_get(at(0)), Get::Item(key));
        queue.finish(at(0), &key, Finish::Retry);
    }
    assert_eq!(queue.tracked(), 200_000);
    let now = at(0) + 10 * HOUR;
    while let Get::Item(key) = queue.poll_get(now) {
        // A key whose object is gone is done as well.
        queue.finish(now, &key, if key % 2 == 0 { Finish::Done } else { Finish::After(HOUR) });
    }
    assert_eq!((queue.tracked(), queue.waiting()), (0, 50_000));
}

#[test]
fn every_key_of_low_priority_is_served_within_its_share() {
    let mut queue = WorkQueue::new(());
    for key in 1..=100 {
        queue.add_with(at(0), key, Priority::Low);
    }
    queue.add(at(0), 0);
    let mut served = Vec::new();
    for get in 1..=400 {
        let Get::Item(key) = queue.poll_get(at(get)) else { panic!("the queue is never empty") };
        queue.finish(at(get), &key, Finish::Done);
        if key == 0 {
            queue.add(at(get), 0);
        } else {
            served.push(key);
            assert!(get <= 4 * key, "key {key} came with get {get}");
        }
    }
    assert!(served.into_iter().eq(1..=100));
}

#[test]
fn a_fresh_key_overtakes_those_of_low_priority_and_so_does_one_that_becomes_urgent() {
    let mut queue = WorkQueue::new(());
    for key in ["a", "b", "c", "d"] {
        queue.add_with(at(0), key, Priority::Low);
    }
    queue.add(at(1), "fresh");
    queue.add(at(2), "c");
    queue.add_with(at(3), "fresh", Priority::Low);
    assert_eq!(queue.oldest_age(at(5)), Some(Duration::from_millis(5)));
    assert_eq!(drain(&mut queue, at(5)), ["fresh", "c", "a", "b", "d"]);
}

#[test]
fn the_oldest_age_is_that_of_the_key_that_waits_longest() {
    let mut queue = queue();
    assert_eq!(queue.oldest_age(at(9)), None);
    queue.add(at(10), "a");
    queue.add(at(20), "b");
    assert_eq!(queue.oldest_age(at(30)), Some(Duration::from_millis(20)));
    assert_eq!(queue.poll_get(at(30)), Get::Item("a"));
    assert_eq!(queue.oldest_age(at(30)), Some(Duration::from_millis(10)));
}

#[test]
fn finishing_a_key_that_nobody_works_on_does_nothing() {
    let mut queue = queue();
    queue.add(at(0), "a");
    assert!(!queue.finish(at(0), &"a", Finish::Retry));
    assert!(!queue.done(at(0), &"zz"));
    assert_eq!((queue.len(), queue.waiting(), queue.tracked()), (1, 0, 0));
    assert_eq!(drain(&mut queue, at(0)), ["a"]);
}

#[test]
fn equal_times_come_in_the_order_in_which_they_were_set() {
    let mut queue = WorkQueue::new(());
    for key in ["c", "a", "b", "a"] {
        queue.add_after(at(0), key, SECOND);
    }
    assert_eq!(drain(&mut queue, at(1_000)), ["c", "a", "b"]);
}
