//! The rules by which a set is free to create and delete pods where upstream is held back by what it expects, and the one by which it is held back
//! where upstream is free.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::super::Check;
use super::super::world::{list, text};
use super::before::Before;

/// A cache that has come as far as what was written meets expectations; upstream waits for events.
pub(in super::super) const MET_BY_VERSION: &str = "met-by-version";
/// Expectations belong to the uid of a set; upstream's to its name.
pub(in super::super) const BY_UID: &str = "expectations-belong-to-a-uid";

/// A set whose pods fail at once, or that is gone on the server, makes no more of them for a while.
pub(super) const SLOWED_DOWN: &str = "a-rejected-set-is-slowed-down";
/// The requests that create and delete pods.
const MANAGING: [&str; 2] = ["create_pod", "delete_pod"];

/// The set is not held back by what it expects, as upstream is: it creates or deletes what it lacks or has too many, and does all else as upstream does.
pub(super) fn check_not_held_back(
    before: &Before,
    burst: usize,
    place: &str,
    want: &Value,
    got: &Value,
    check: &mut Check,
) {
    for field in ["creates", "deletes", "events"] {
        check.same(&format!("{place}{field} upstream"), &Value::Null, &want[field]);
    }
    let mut phases: Vec<&Value> = list(&got["phases"]).filter(|phase| !MANAGING.contains(&text(phase))).collect();
    phases.dedup();
    check.same(&format!("{place}other phases"), &want["phases"], &json!(phases));
    for field in ["patches", "gets", "statusUpdates"] {
        check.same(&format!("{place}{field}"), &want[field], &got[field]);
    }
    let written = list(&want["statusUpdates"]).next().map(|update| &update["body"]["status"]);
    let pods = written.unwrap_or(&before.status)["replicas"].as_u64().unwrap_or(0);
    let most = |count: u64| count.min(u64::try_from(burst).unwrap_or(u64::MAX));
    let (lacking, surplus) = (most(before.replicas.saturating_sub(pods)), most(pods.saturating_sub(before.replicas)));
    let deleted = list(&got["deletes"]["pods"]).count();
    check.same(&format!("{place}deletes"), &json!(surplus), &json!(deleted));
    // A refusal ends the slow start.
    let refused = list(&got["events"]).any(|event| event["reason"] == "FailedCreate");
    let created = got["creates"]["count"].as_u64().unwrap_or(0);
    if created > lacking || (created < lacking && !refused) {
        check.fail(format!("{place}creates: wanted {lacking}, got {created}"));
    }
    if list(&got["events"]).all(|event| event["type"] == "Normal") {
        let told: u64 = list(&got["events"]).filter_map(|event| event["count"].as_u64()).sum();
        check.same(&format!("{place}events"), &json!(lacking + surplus), &json!(told));
        check.same(&format!("{place}queue"), &want["queue"], &got["queue"]);
        for (field, expected) in [("adds", lacking), ("dels", surplus)] {
            check.same(&format!("{place}expectations.{field}"), &json!(expected), &got["expectations"][field]);
        }
    }
}

/// The set makes no pods, and is looked at again after its pause; all else is as upstream does it.
pub(super) fn check_slowed_down(
    before: &Before,
    pause: Duration,
    place: &str,
    want: &Value,
    got: &Value,
    check: &mut Check,
) {
    for field in ["deletes", "patches"] {
        check.same(&format!("{place}{field}"), &want[field], &got[field]);
    }
    check.same(&format!("{place}events"), &Value::Null, &got["events"]);
    check.same(&format!("{place}expectations"), &before.expectations(), &got["expectations"]);
    if list(&want["events"]).all(|event| event["type"] == "Normal") {
        // Nothing of what upstream tries fails, so the status is the same.
        let phases: Vec<&Value> = list(&want["phases"]).filter(|phase| **phase != "create_pod").collect();
        check.same(&format!("{place}phases"), &json!(phases), &got["phases"]);
        for field in ["gets", "statusUpdates"] {
            check.same(&format!("{place}{field}"), &want[field], &got[field]);
        }
        let failed =
            want["queue"].as_array().is_some_and(|queue| queue.iter().any(|op| op["op"] == "add_rate_limited"));
        let after = json!({"op": "add_after", "afterNs": u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX)});
        let queue = if failed { want["queue"].clone() } else { json!([after, {"op": "forget"}]) };
        check.same(&format!("{place}queue"), &queue, &got["queue"]);
    }
}
