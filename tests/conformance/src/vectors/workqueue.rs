//! The rate-limiting work queue.
//!
//! Each case is replayed twice: with retries as client-go has them, and as this project has them by default.

use std::collections::HashMap;
use std::time::Duration;

use sanskube::time::Instant;
use sanskube::workqueue::{Get, Retries, Timer, WorkQueue};
use serde_json::{Value, json};

use super::Check;
use super::rate_limiter::{self, Limiter};
use super::recorded::op;

/// `done` for a queued key that was never taken does nothing. In client-go the key is then queued twice, so what
/// its queue answers from there on is not compared; what does not depend on the queued keys still is.
const STRAY_DONE: &str = "a-stray-done-is-ignored";

/// A key that already waits is rate-limited, or one that waits for its retry is added with a delay: in client-go these share a
/// timer and each counts as a failure; here they do not.
const OWN_TIMER: &str = "a-retry-is-a-timer-of-its-own";

pub(super) fn replay(case: &Value, check: &mut Check) {
    if let Err(e) = rate_limiter::build(&case["config"]["limiter"]) {
        return check.fail(e);
    }
    for retries in [Retries::ClientGo, Retries::Windowed] {
        replay_with(retries, case, check);
    }
}

fn replay_with(retries: Retries, case: &Value, check: &mut Check) {
    let mut player = Player::at(case, 0, retries);
    let mut at = 0;
    while let Some((place, name, op, want)) = op(case, at) {
        let place = format!("{place}, retries {retries:?}");
        let item = player.names.ours(op["item"].as_str().unwrap_or_default());
        let before = Timers::of(&player, &item);
        let (want, got) = player.apply(name, op, want);
        if player.strayed {
            check.apply_rule(STRAY_DONE);
            check.skip_ops(1, "a key was done that was never taken, and client-go has queued it twice");
        }
        check.same(&place, &want, &got);
        at += 1;
        if retries == Retries::Windowed && before.differ(name) {
            check.apply_rule(OWN_TIMER);
            let delay = delay(op);
            let theirs = Timers::of(&Player::at(case, at, Retries::ClientGo), &item);
            before.check(name, delay, &Timers::of(&player, &item), &theirs, &place, check);
            player = Player::at(case, at, retries);
        }
    }
}

/// The timers of a key.
struct Timers {
    now: Instant,
    retry: Option<Instant>,
    reminder: Option<Instant>,
    failures: u32,
}

impl Timers {
    fn of(player: &Player, item: &String) -> Self {
        let deadline = |timer| player.queue.deadline(item, timer);
        Self {
            now: player.now,
            retry: deadline(Timer::Retry),
            reminder: deadline(Timer::Reminder),
            failures: player.queue.num_requeues(item),
        }
    }

    /// Whether an operation does something else in client-go, where these share one timer.
    fn differ(&self, name: &str) -> bool {
        match name {
            "add_rate_limited" => self.retry.is_some() || self.reminder.is_some(),
            "add_after" => self.retry.is_some(),
            _ => false,
        }
    }

    /// Checks what an operation has made of these timers, and client-go of its one.
    fn check(&self, name: &str, delay: Duration, after: &Self, theirs: &Self, place: &str, check: &mut Check) {
        let of = |timer: Option<Instant>| json!(timer.map(Instant::as_nanos));
        let mut same = |what: &str, want: Value, got: Value| check.same(&format!("{place}: {what}"), &want, &got);
        if name == "add_after" {
            // No delay is an add.
            let wanted = self.reminder.into_iter().chain((!delay.is_zero()).then(|| self.now + delay)).min();
            same("reminder", of(wanted), of(after.reminder));
            same("retry", of(self.retry), of(after.retry));
            return;
        }
        same("reminder", of(self.reminder), of(after.reminder));
        match self.retry {
            // It waits already, so it is no new failure, unless the last one was forgotten meanwhile.
            Some(_) if self.failures > 0 => {
                same("retry", of(self.retry), of(after.retry));
                same("failures", json!(self.failures), json!(after.failures));
            }
            // The limiter has been asked as often as in client-go, so the earlier of the two timers is client-go's one.
            _ => {
                let earliest = after.retry.into_iter().chain(after.reminder).min();
                same("earliest timer", of(theirs.reminder), of(earliest));
                same("failures", json!(theirs.failures), json!(after.failures));
            }
        }
    }
}

/// A delay; a negative one is over.
fn delay(op: &Value) -> Duration {
    Duration::from_nanos(u64::try_from(op["delay_ns"].as_i64().unwrap_or_default()).unwrap_or_default())
}

/// A queue and whoever works with it.
struct Player {
    queue: WorkQueue<String, Limiter>,
    now: Instant,
    order_unspecified: bool,
    /// A drain that somebody waits for: client-go's ends when nothing is being processed.
    drain_waits: bool,
    strayed: bool,
    names: Names,
}

impl Player {
    /// A queue that is where client-go's is after so many operations, and has retries in this way from then on.
    fn at(case: &Value, count: usize, retries: Retries) -> Self {
        let limiter = rate_limiter::build(&case["config"]["limiter"]).expect("it was built before");
        let mut player = Self {
            queue: WorkQueue::new(limiter).with_retries(Retries::ClientGo),
            now: Instant::ZERO,
            order_unspecified: case["config"]["order_unspecified"] == true,
            drain_waits: false,
            strayed: false,
            names: Names::default(),
        };
        for at in 0..count {
            let (_, name, op, want) = op(case, at).expect("it was done before");
            player.apply(name, op, want);
        }
        player.queue = player.queue.with_retries(retries);
        player
    }

    /// Does one operation. What is wanted is told in our names of keys.
    fn apply(&mut self, name: &str, op: &Value, want: &Value) -> (Value, Value) {
        let mut want = want.clone();
        let item = self.names.ours(op["item"].as_str().unwrap_or_default());
        let Self { queue, now, .. } = self;
        let now = *now;
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
                self.strayed |= queue.contains(&item);
                queue.done(now, &item);
                json!({})
            }
            "forget" => {
                queue.forget(&item);
                json!({})
            }
            "add_after" => {
                queue.add_after(now, item, delay(op));
                json!({})
            }
            "add_rate_limited" => {
                queue.add_rate_limited(now, item);
                json!({})
            }
            "num_requeues" => json!({"n": queue.num_requeues(&item)}),
            "len" => json!({}),
            "advance" => {
                self.now = now + Duration::from_nanos(op["ns"].as_u64().unwrap_or_default());
                queue.handle_timeout(self.now);
                json!({})
            }
            "shut_down" => {
                queue.shut_down(now);
                if self.drain_waits { json!({"drain_returned": true}) } else { json!({}) }
            }
            "shut_down_with_drain" => {
                queue.shut_down_with_drain(now);
                let returned = queue.processing() == 0;
                self.drain_waits = !returned;
                json!({"returned": returned})
            }
            "shutting_down" => json!({"value": queue.is_shutting_down()}),
            _ => json!({"err": "unknown op"}),
        };
        if name == "shut_down" {
            self.drain_waits = false;
        } else if self.drain_waits && queue.processing() == 0 {
            self.drain_waits = false;
            got["drain_returned"] = json!(true);
        }
        got["len"] = json!(queue.len());
        if self.strayed {
            for depends in ["len", "item", "would_block", "shutdown", "returned", "drain_returned"] {
                got[depends] = want[depends].clone();
            }
        }
        if let (true, Some(theirs), Some(ours)) = (self.order_unspecified, want["item"].as_str(), got["item"].as_str())
        {
            self.names.swap(theirs, ours);
            want["item"] = json!(ours);
        }
        (want, got)
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

#[cfg(test)]
mod tests;
