//! The rate-limiting work queue.
//!
//! Each case is replayed twice: with retries as client-go has them, and as this project has them by default, up to the first operation
//! where that makes a difference.

use std::collections::HashMap;
use std::time::Duration;

use sanskube::time::Instant;
use sanskube::workqueue::{Get, Retries, Timer, WorkQueue};
use serde_json::{Value, json};

use super::recorded::ops;
use super::{Check, rate_limiter};

/// `done` for a queued key that was never taken does nothing. In client-go the key is then queued twice, so what
/// its queue answers from there on is not compared; what does not depend on the queued keys still is.
const STRAY_DONE: &str = "a-stray-done-is-ignored";

/// A key that already waits is rate-limited, or one that waits for its retry is added with a delay: in client-go these share a
/// timer and each counts as a failure. Here they do not, so that the waits are others from there on.
const OWN_TIMER: &str = "a-retry-is-a-timer-of-its-own";

pub(super) fn replay(case: &Value, check: &mut Check) {
    for retries in [Retries::ClientGo, Retries::Windowed] {
        replay_with(retries, case, check);
    }
}

fn replay_with(retries: Retries, case: &Value, check: &mut Check) {
    let limiter = match rate_limiter::build(&case["config"]["limiter"]) {
        Ok(limiter) => limiter,
        Err(e) => return check.fail(e),
    };
    let mut queue = WorkQueue::new(limiter).with_retries(retries);
    let order_unspecified = case["config"]["order_unspecified"] == true;
    let mut now = Instant::ZERO;
    // A drain that somebody waits for: client-go's ends when nothing is being processed.
    let mut drain_waits = false;
    let mut strayed = false;
    let mut names = Names::default();

    for (place, name, op, want) in ops(case) {
        let item = names.ours(op["item"].as_str().unwrap_or_default());
        let waits = |timer| queue.deadline(&item, timer).is_some();
        let differs = match name {
            "add_rate_limited" => waits(Timer::Retry) || waits(Timer::Reminder),
            "add_after" => waits(Timer::Retry),
            _ => false,
        };
        if retries == Retries::Windowed && differs {
            return check.apply_rule(OWN_TIMER);
        }
        let mut want = want.clone();
        let mut got = match name {
            "add" => {
                queue.add(now, item);
                json!({})
            }
            "get" => match queue.poll_get(now) {
                Get::Item(key) => json!({"item": key}),
                Get::Empty { .. } => json!({"would_block": true}),
                Get::ShutDown => json!({"shutdown": true}),
            },
            "done" => {
                strayed |= queue.contains(&item);
                queue.done(now, &item);
                json!({})
            }
            "forget" => {
                queue.forget(&item);
                json!({})
            }
            "add_after" => {
                // A negative delay is over.
                let delay = u64::try_from(op["delay_ns"].as_i64().unwrap_or_default()).unwrap_or_default();
                queue.add_after(now, item, Duration::from_nanos(delay));
                json!({})
            }
            "add_rate_limited" => {
                queue.add_rate_limited(now, item);
                json!({})
            }
            "num_requeues" => json!({"n": queue.num_requeues(&item)}),
            "len" => json!({}),
            "advance" => {
                now += Duration::from_nanos(op["ns"].as_u64().unwrap_or_default());
                queue.handle_timeout(now);
                json!({})
            }
            "shut_down" => {
                queue.shut_down(now);
                if drain_waits { json!({"drain_returned": true}) } else { json!({}) }
            }
            "shut_down_with_drain" => {
                queue.shut_down_with_drain(now);
                let returned = queue.processing() == 0;
                drain_waits = !returned;
                json!({"returned": returned})
            }
            "shutting_down" => json!({"value": queue.is_shutting_down()}),
            _ => json!({"err": "unknown op"}),
        };
        if name == "shut_down" {
            drain_waits = false;
        } else if drain_waits && queue.processing() == 0 {
            drain_waits = false;
            got["drain_returned"] = json!(true);
        }
        got["len"] = json!(queue.len());
        if strayed {
            check.apply_rule(STRAY_DONE);
            for depends in ["len", "item", "would_block", "shutdown", "returned", "drain_returned"] {
                got[depends] = want[depends].clone();
            }
        }
        if let (true, Some(theirs), Some(ours)) = (order_unspecified, want["item"].as_str(), got["item"].as_str()) {
            names.swap(theirs, ours);
            want["item"] = json!(ours);
        }
        check.same(&format!("{place}, retries {retries:?}"), &want, &got);
    }
}

/// Which key of ours plays the part of which key of the case, where the case does not say which of some keys comes first.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    fn ours(&self, theirs: &str) -> String {
        self.0.get(theirs).map_or(theirs, |ours| ours).to_owned()
    }

    /// Our key `ours` plays the part of `theirs`, and the other way round.
    fn swap(&mut self, theirs: &str, ours: &str) {
        let before = self.ours(theirs);
        let other = self.0.iter().find(|(_, played)| *played == ours).map_or(ours, |(other, _)| other).to_owned();
        self.0.insert(other, before);
        self.0.insert(theirs.to_owned(), ours.to_owned());
    }
}
