use serde_json::{Value, json};

use super::*;
use crate::replicaset::testing::{now, set, set_json};

/// The failure condition of a set that shows one already, after another failure.
fn shown(before: Value, active: usize, failure: Option<&str>) -> Option<Condition> {
    let set = set(&set_json(2, json!({"status": {"conditions": [before]}})));
    let pods: Vec<Arc<Pod>> =
        (0..active).map(|i| Arc::new(crate::replicaset::testing::pod(&alloc::format!("p{i}"), json!({})))).collect();
    calculate_status(&set, &pods, Some(0), failure, now().wall).condition(REPLICA_FAILURE).cloned()
}

fn failure(status: &str, reason: &str, message: &str, since: &str) -> Value {
    json!({"type": REPLICA_FAILURE, "status": status, "reason": reason, "message": message, "lastTransitionTime": since})
}

const JUST_NOW: &str = "2026-03-14T09:26:10Z";
const LONG_AGO: &str = "2026-03-14T09:00:00Z";

#[test]
fn a_failure_of_another_reason_is_shown_at_once() {
    let new = shown(failure("True", "FailedCreate", "quota", JUST_NOW), 3, Some("forbidden")).unwrap();
    assert_eq!((&*new.reason, &*new.message), ("FailedDelete", "forbidden"));
    let new = shown(failure("False", "FailedCreate", "quota", JUST_NOW), 1, Some("quota")).unwrap();
    assert_eq!((&*new.status, new.last_transition_time), ("True", Some(now().wall)));
}

#[test]
fn a_failure_of_other_words_is_shown_after_a_minute() {
    let quota = failure("True", "FailedCreate", "exceeded quota", JUST_NOW);
    assert_eq!(shown(quota, 1, Some("no such class")).unwrap().message, "exceeded quota");
    let quota = failure("True", "FailedCreate", "exceeded quota", LONG_AGO);
    assert_eq!(shown(quota, 1, Some("no such class")).unwrap().message, "no such class");
}

#[test]
fn another_name_or_number_is_no_news() {
    let before = r#"pods "web-abcde" is forbidden: exceeded quota: q, used: pods=2"#;
    let after = r#"pods "web-zzzzz" is forbidden: exceeded quota: q, used: pods=17"#;
    let shown = shown(failure("True", "FailedCreate", before, LONG_AGO), 1, Some(after)).unwrap();
    assert_eq!(shown.message, before);
}

#[test]
fn without_a_failure_the_condition_goes_and_others_stay() {
    assert_eq!(shown(failure("True", "FailedCreate", "quota", LONG_AGO), 1, None), None);
    let custom = json!({"type": "Custom", "status": "True", "extra": {"kept": [1]}});
    let set = set(&set_json(2, json!({"status": {"conditions": [custom.clone()]}})));
    let status = calculate_status(&set, &[], None, Some("quota"), now().wall);
    let written: Value = serde_json::to_value(&status).unwrap();
    assert_eq!(written["conditions"][0]["extra"], custom["extra"]);
    assert_eq!(written["conditions"][1]["type"], REPLICA_FAILURE);
}
