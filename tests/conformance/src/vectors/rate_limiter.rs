//! Rate limiters and the token bucket.

use std::time::Duration;

use sanskube::time::Instant;
use sanskube::workqueue::rate::{
    Bucket, MaxOf, NEVER, PerItem, RateLimiter, Reservation, WithMaxWait, default_controller, default_item_based,
};
use serde_json::{Value, json};

use super::Check;
use super::recorded::ops;

/// The most negative duration of Go: what its exponential limiter gives where it overflows.
const OVERFLOWN: i64 = i64::MIN;
/// There the longest delay is wanted instead.
const NEVER_FALLS: &str = "an-exponential-delay-never-falls";

/// A limiter as `config.limiter` describes it.
pub(super) type Limiter = Box<dyn RateLimiter<String>>;

pub(super) fn replay(case: &Value, check: &mut Check) {
    let config = &case["config"]["limiter"];
    // The operations on tokens are about a limiter that is nothing but a bucket.
    let mut bucket = bucket(config);
    let mut limiter = match build(config) {
        Ok(limiter) => limiter,
        Err(e) => return check.fail(e),
    };
    let mut reservations: Vec<Option<Reservation>> = Vec::new();
    let mut now = Instant::ZERO;
    for (place, name, op, want) in ops(case) {
        let item = op["item"].as_str().unwrap_or_default().to_owned();
        let n = u32::try_from(op["n"].as_u64().unwrap_or_default()).unwrap_or(u32::MAX);
        let limiter: &mut dyn RateLimiter<String> = match &mut bucket {
            Some(bucket) => bucket,
            None => &mut *limiter,
        };
        let mut want = want.clone();
        let got = match name {
            "when" | "when_times" => {
                let times = op["times"].as_u64().unwrap_or(1);
                let delay = (0..times).map(|_| limiter.when(now, &item)).last().unwrap_or_default();
                if want["delay_ns"] == OVERFLOWN {
                    check.apply_rule(NEVER_FALLS);
                    want = json!({"delay_ns": nanos(longest(config))});
                }
                json!({"delay_ns": nanos(delay)})
            }
            "forget" => {
                limiter.forget(&item);
                json!({})
            }
            "num_requeues" => json!({"n": limiter.num_requeues(&item)}),
            "advance" => {
                now += Duration::from_nanos(op["ns"].as_u64().unwrap_or_default());
                json!({})
            }
            "reserve_n" | "allow_n" | "cancel_reservation" if bucket.is_none() => json!({"err": "not a bucket"}),
            "reserve_n" => {
                let reservation = bucket.as_mut().and_then(|bucket| bucket.reserve(now, n));
                reservations.push(reservation);
                let delay = reservation.map_or(NEVER, |reservation| reservation.at().since(now));
                json!({"ok": reservation.is_some(), "delay_ns": nanos(delay)})
            }
            "allow_n" => json!({"ok": bucket.as_mut().is_some_and(|bucket| bucket.allow(now, n))}),
            "cancel_reservation" => {
                let index = op["index"].as_u64().and_then(|index| usize::try_from(index).ok());
                let reservation = index.and_then(|index| reservations.get(index).copied()).flatten();
                if let (Some(bucket), Some(reservation)) = (&mut bucket, reservation) {
                    bucket.cancel(now, reservation);
                }
                json!({})
            }
            _ => json!({"err": "unknown op"}),
        };
        check.same(&place, &want, &got);
    }
}

/// Builds the limiter that a `config.limiter` describes.
pub(super) fn build(config: &Value) -> Result<Limiter, String> {
    Ok(match config["kind"].as_str().unwrap_or_default() {
        "exponential" => Box::new(PerItem::exponential(duration(config, "base_ns"), duration(config, "max_ns"))),
        "fast_slow" => {
            let attempts = u32::try_from(config["max_fast_attempts"].as_i64().unwrap_or_default()).unwrap_or_default();
            Box::new(PerItem::fast_slow(duration(config, "fast_ns"), duration(config, "slow_ns"), attempts))
        }
        "bucket" => Box::new(bucket(config).ok_or("not a bucket")?),
        "max_of" => {
            let mut all: Limiter = Box::new(());
            for limiter in config["limiters"].as_array().into_iter().flatten() {
                all = Box::new(MaxOf::new(all, build(limiter)?));
            }
            all
        }
        "with_max_wait" => Box::new(WithMaxWait::new(build(&config["limiter"])?, duration(config, "max_ns"))),
        "default_controller" => Box::new(default_controller()),
        "default_item_based" => Box::new(default_item_based()),
        kind => return Err(format!("unknown limiter {kind:?}")),
    })
}

fn bucket(config: &Value) -> Option<Bucket> {
    if config["kind"] != "bucket" {
        return None;
    }
    let rate = if config["rate"] == "inf" { f64::INFINITY } else { config["rate"].as_f64()? };
    Some(Bucket::new(rate, u32::try_from(config["burst"].as_i64()?).unwrap_or_default()))
}

/// The longest delay of the part that overflows.
fn longest(config: &Value) -> Duration {
    match config["kind"].as_str().unwrap_or_default() {
        "exponential" if duration(config, "base_ns").is_zero() => Duration::ZERO,
        "exponential" => duration(config, "max_ns"),
        "default_controller" | "default_item_based" => Duration::from_secs(1000),
        "with_max_wait" => longest(&config["limiter"]).min(duration(config, "max_ns")),
        _ => config["limiters"].as_array().into_iter().flatten().map(longest).max().unwrap_or_default(),
    }
}

fn duration(config: &Value, field: &str) -> Duration {
    // Negative durations are delays that are over.
    Duration::from_nanos(u64::try_from(config[field].as_i64().unwrap_or_default()).unwrap_or_default())
}

fn nanos(delay: Duration) -> u64 {
    u64::try_from(delay.min(NEVER).as_nanos()).unwrap_or(u64::MAX)
}
