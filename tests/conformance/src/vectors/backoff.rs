//! `backoff.jsonl`: delays, and the loops that wait them out.

use std::collections::BTreeMap;
use std::time::Duration;

use sanskube::backoff::{Backoff, BackoffWithReset, ItemBackoff, Reset, RetryWithDeadline};
use sanskube::rand::SplitMix64;
use sanskube::time::Instant;
use serde_json::{Value, json};

use super::Check;

/// Late enough that "so long before now" is a time.
const START: Instant = Instant::from_nanos(1 << 60);

pub(super) fn replay(case: &Value, check: &mut Check) {
    let mut subject = Subject::new(&case["config"]);
    let mut now = START;
    for (index, op) in case["ops"].as_array().into_iter().flatten().enumerate() {
        let name = op["op"].as_str().unwrap_or_default();
        let got = if name == "advance" {
            now += nanos(&op["ns"]);
            json!({})
        } else if let Some(got) = subject.apply(name, op, &mut now) {
            got
        } else {
            return check.fail(format!("op {index}: nothing here does {name}"));
        };
        check.same(&format!("op {index} {name}"), &op["want"], &got);
    }
}

/// What a case is about.
enum Subject {
    Step(Backoff),
    /// `delay_func`, which never starts over, and `delay_with_reset`.
    Delays(Delays),
    Manager(BackoffWithReset),
    Retry(RetryWithDeadline),
    Items {
        initial: Duration,
        max: Duration,
        items: BTreeMap<String, ItemBackoff>,
    },
    Unknown,
}

enum Delays {
    Plain(Backoff),
    WithReset(BackoffWithReset),
}

impl Delays {
    fn next(&mut self, now: Instant) -> Duration {
        match self {
            Self::Plain(backoff) => backoff.step(&mut no_jitter()),
            Self::WithReset(backoff) => backoff.next_delay(now, &mut no_jitter()),
        }
    }
}

impl Subject {
    fn new(config: &Value) -> Self {
        let backoff = Backoff {
            duration: nanos(&config["duration_ns"]),
            factor: config["factor"].as_f64().unwrap_or(0.0),
            jitter: 0.0,
            steps: config["steps"].as_i64().and_then(|steps| u32::try_from(steps).ok()).unwrap_or(0),
            cap: nanos(&config["cap_ns"]),
        };
        let reset = nanos(&config["reset_ns"]);
        match config["kind"].as_str() {
            Some("step" | "run") => Self::Step(backoff),
            Some("delay_func") => Self::Delays(Delays::Plain(backoff)),
            Some("delay_with_reset") => {
                Self::Delays(Delays::WithReset(BackoffWithReset::new(backoff, reset, Reset::SinceReset, START)))
            }
            Some("exponential_manager") => {
                let (duration, cap) = (nanos(&config["initial_ns"]), nanos(&config["max_ns"]));
                let backoff = Backoff { duration, cap, steps: u32::MAX, ..backoff };
                Self::Manager(BackoffWithReset::new(backoff, reset, Reset::SinceUse, START))
            }
            Some("retry_with_deadline") => {
                Self::Retry(RetryWithDeadline::new(nanos(&config["max_retry_ns"]), nanos(&config["min_reset_ns"])))
            }
            Some("flow_backoff") => Self::Items {
                initial: nanos(&config["initial_ns"]),
                max: nanos(&config["max_ns"]),
                items: BTreeMap::new(),
            },
            _ => Self::Unknown,
        }
    }

    fn apply(&mut self, name: &str, op: &Value, now: &mut Instant) -> Option<Value> {
        Some(match (self, name) {
            (Self::Step(backoff), "step") => {
                let delay = backoff.step(&mut no_jitter());
                json!({"delay_ns": int(delay), "duration_ns": int(backoff.duration), "steps": backoff.steps})
            }
            (Self::Step(backoff), "run_exponential_backoff") => run(*backoff, &op["outcomes"], now),
            (Self::Delays(delays), "next") => json!({"delay_ns": int(delays.next(*now))}),
            (Self::Delays(delays), "until") => until(delays, op, now),
            (Self::Manager(backoff), "backoff") => {
                let delay = backoff.next_delay(*now, &mut no_jitter());
                *now += delay;
                json!({"delay_ns": int(delay)})
            }
            (Self::Retry(retry), "after") => {
                if op["error"] == "internal" {
                    retry.handle_error(*now);
                }
                json!({})
            }
            (Self::Retry(retry), "should_retry") => json!({"value": retry.should_retry(*now)}),
            (Self::Items { max, items, .. }, "gc") => {
                items.retain(|_, item| !item.is_expired(*max, *now));
                json!({})
            }
            (Self::Items { initial, max, items }, _) => {
                let key = op["item"].as_str()?;
                let ago = op["event_ago_ns"].as_u64().unwrap_or(0);
                let event = Instant::from_nanos(now.as_nanos().saturating_sub(ago));
                let item = items.get_mut(key);
                match name {
                    "next_for" => {
                        match item {
                            Some(item) => item.handle_failure(*initial, *max, event, *now),
                            None => _ = items.insert(key.to_owned(), ItemBackoff::new(*initial, *now)),
                        }
                        json!({"backoff_ns": int(items[key].delay())})
                    }
                    "get_for" => json!({"backoff_ns": item.map_or(0, |item| int(item.delay()))}),
                    "is_in_backoff_since" => {
                        json!({"value": item.is_some_and(|item| item.is_in_backoff_since(*max, event, *now))})
                    }
                    "is_in_backoff_since_update" => {
                        json!({"value": item.is_some_and(|item| item.is_in_backoff_since_update(*max, event))})
                    }
                    "reset" => {
                        items.remove(key);
                        json!({})
                    }
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}

/// Calls a condition after each delay until it is met, fails, or the steps are used up (`wait.ExponentialBackoff`).
fn run(mut backoff: Backoff, outcomes: &Value, now: &mut Instant) -> Value {
    let start = *now;
    let mut calls = Vec::new();
    let mut result = "timeout";
    while backoff.steps > 0 {
        calls.push(int(now.since(start)));
        match outcomes[calls.len() - 1].as_str() {
            None | Some("again") => {}
            Some(outcome) => {
                result = outcome;
                break;
            }
        }
        if backoff.steps == 1 {
            break;
        }
        *now += backoff.step(&mut no_jitter());
    }
    json!({"calls_ns": calls, "result": result, "ended_ns": int(now.since(start))})
}

/// Runs a condition at the given delays until it is met or fails (`DelayFunc.Until`): the delay counts from the end of a
/// run where it slides, else from its start.
fn until(delays: &mut Delays, op: &Value, now: &mut Instant) -> Value {
    let start = *now;
    let sliding = op["sliding"] == true;
    let mut calls = Vec::new();
    let mut due = if op["immediate"] == true { *now } else { *now + delays.next(*now) };
    // A delay that does not slide has begun before an immediate first run; it is that of the second one.
    let mut running = (!sliding && op["immediate"] == true).then(|| *now + delays.next(*now));
    let mut result = "";
    for run in op["runs"].as_array().into_iter().flatten() {
        *now = due.max(*now);
        calls.push(int(now.since(start)));
        let next = running.take().or_else(|| (!sliding).then(|| *now + delays.next(*now)));
        *now += nanos(&run["takes_ns"]);
        result = run["outcome"].as_str().unwrap_or_default();
        if result != "again" {
            break;
        }
        due = next.unwrap_or_else(|| *now + delays.next(*now));
    }
    json!({"calls_ns": calls, "result": result, "ended_ns": int(now.since(start))})
}

fn no_jitter() -> SplitMix64 {
    SplitMix64::new(0)
}

fn nanos(value: &Value) -> Duration {
    Duration::from_nanos(value.as_u64().unwrap_or(0))
}

fn int(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
