//! What sets wait for.

use std::time::Duration;

use sanskube::key::Key;
use sanskube::replicaset::expectations::{Expectation, Expectations};
use sanskube::resource_version::ResourceVersion;
use sanskube::time::Instant;
use sanskube::uid::Uid;
use serde_json::{Value, json};

use super::super::Check;
use super::{number, ops};

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let mut expectations = Expectations::new();
    let mut now = Instant::from_millis(1_000_000_000);
    for (i, op) in ops(case, check).iter().enumerate() {
        let (name, args) = (op["op"].as_str().unwrap_or_default(), &op["args"]);
        // The key of a set stands for its uid.
        let owner = Uid::new(args["key"].as_str().unwrap_or_default());
        let count = |field: &str| args[field].as_i64().unwrap_or(0);
        let pod = || Key::explicit(args["podKey"].as_str().unwrap_or_default());
        match name {
            "advance" => now += Duration::from_nanos(args["ns"].as_u64().unwrap_or(0)),
            "creation_observed" => expectations.creation_observed(&owner),
            "delete" => expectations.delete(&owner),
            "deletion_observed" => expectations.deletion_observed(&owner, &pod()),
            "expect_creations" => expectations.expect_creations(&owner, number(&args["adds"]), now),
            "expect_deletions" => {
                let pods =
                    args["podKeys"].as_array().into_iter().flatten().filter_map(Value::as_str).map(Key::explicit);
                expectations.expect_deletions(&owner, pods, now);
            }
            "lower" => expectations.lower(&owner, count("adds"), count("dels")),
            "raise" => expectations.raise(&owner, count("adds"), count("dels")),
            "satisfied" => {}
            "set" => {
                expectations.set(&owner, count("adds"), count("dels"), now);
            }
            _ => check.fail(format!("unknown op {name}")),
        }
        if op["want"].is_null() {
            if name != "advance" {
                check.fail(format!("op {i} {name}: nothing is wanted"));
            }
        } else {
            let satisfied = expectations.are_satisfied(&owner, &ResourceVersion::NONE, now);
            check.same(&format!("op {i} {name}: satisfied"), &op["want"]["satisfied"], &json!(satisfied));
            let state = expectations.get(&owner).map_or(Value::Null, describe);
            let place = format!("op {i} {name}: state");
            check.same(&place, &op["want"]["state"], &state);
            // No record and one with nothing in it are not the same.
            if op["want"]["state"].is_null() != state.is_null() {
                check.fail(format!("{place}: wanted {}, got {state}", op["want"]["state"]));
            }
        }
    }
}

/// A record as the vectors describe it.
pub(super) fn describe(record: &Expectation) -> Value {
    json!({"adds": record.creations, "dels": record.deletions, "podKeys": record.pods.as_ref().map(|pods| {
        pods.iter().map(Key::as_str).collect::<Vec<_>>()
    })})
}
