//! The rules for whole syncs.

use std::collections::BTreeMap;

use sanskube::key::Key;
use sanskube::replicaset::guard::Behind;
use sanskube::replicaset::template::TemplateFault;
use sanskube::replicaset::{CallFailure, SyncFailure};
use serde_json::{Value, json};

use super::super::super::{Check, same};
use super::super::stale_guard;
use super::super::status::{FailureShown, another_uid_read, check_retry};
use super::super::world::{World, list, text};
use super::before::Before;
use super::held_back::{MET_BY_VERSION, SLOWED_DOWN, check_not_held_back, check_slowed_down};
use super::{Synced, sort_events};

/// Where a sync has led.
#[derive(PartialEq)]
pub(super) enum Next {
    /// To where upstream is.
    InLine,
    /// Elsewhere, by a rule.
    Elsewhere,
}

/// Compares what a sync did with what is wanted, once the rules are applied.
pub(super) fn compare(
    before: &Before,
    synced: &Synced,
    (world, api): (&World, &Value),
    place: &str,
    want: &Value,
    mut got: Value,
    check: &mut Check,
) -> Next {
    let mut want = want.clone();
    let key = before.key.as_str();
    if let Some(events) = want["events"].as_array_mut() {
        sort_events(events);
    }
    let mut cached = before.pods.clone();
    for (name, version) in &world.api.patched {
        if let Some(pod) = cached.get_mut(&format!("{}/{name}", before.key.namespace())) {
            pod["resourceVersion"] = version.clone();
        }
    }
    if took_delete_preconditions(&mut got, &cached, key, check) {
        check.apply_rule("delete-preconditions");
    }
    if synced.causes.contains("NamespaceTerminating") {
        check.apply_rule("namespace-ending");
        let created = synced.events.iter().filter(|event| event.reason == "SuccessfulCreate").count();
        check_namespace_ending(place, &want, &got, &before.status, created, check);
        let replaced = matches!(synced.finish.result, Err(SyncFailure::Status(CallFailure::Replaced { .. })));
        if same(&want["events"], &got["events"]) && !replaced {
            // Upstream has made and been refused the same, so it ends the same.
            check.same(&format!("{place}queue"), &want["queue"], &got["queue"]);
            same_failure(place, &want["error"], &synced.finish.result, check);
            if list(&got["events"]).all(|event| event["reason"] != "FailedCreate") {
                for field in ["statusUpdates", "phases", "guard"] {
                    check.same(&format!("{place}{field}"), &want[field], &got[field]);
                }
            }
        }
        return Next::Elsewhere;
    }
    let mut next = Next::InLine;
    if !synced.conflicts.is_empty() {
        check.apply_rule("stale-pod-is-no-failure");
        forget_conflicts(place, synced, &before.status, &mut want, &mut got, check);
        next = Next::Elsewhere;
    }
    if let Some(pause) = before.pause.filter(|_| got["creates"].is_null() && !want["creates"].is_null()) {
        check.apply_rule(SLOWED_DOWN);
        check_slowed_down(before, pause, place, &want, &got, check);
        return Next::Elsewhere;
    }
    if let Some(rule) = before.freed_by {
        if got["phases"] != want["phases"] {
            check.apply_rule(rule);
            check_not_held_back(before, world.controller.options().burst, place, &want, &got, check);
            if list(&got["events"]).all(|event| event["type"] == "Normal") {
                same_failure(place, &want["error"], &synced.finish.result, check);
            }
            return Next::Elsewhere;
        }
        if rule != MET_BY_VERSION {
            check.apply_rule(rule);
            want["expectations"].take();
            next = Next::Elsewhere;
        }
    }
    let verbs: Vec<&str> = list(&want["phases"]).filter_map(Value::as_str).collect();
    let uid = world.sets.get(key).map(|set| set.meta().uid.to_string()).unwrap_or_default();
    let uid_differs = another_uid_read(uid, api, &verbs);
    if uid_differs {
        check.apply_rule("status-retry-checks-uid");
        next = Next::Elsewhere;
        if !matches!(synced.finish.result, Err(SyncFailure::Status(CallFailure::Replaced { .. }))) {
            check.fail(format!("{place}the status of another set was written"));
        }
        if let Some(updates) = want["statusUpdates"].as_array_mut() {
            if let [.., first, second] = &updates[..] {
                check_retry(&first["body"], &second["body"], check);
            }
            updates.pop();
        }
        if let Some(phases) = want["phases"].as_array_mut() {
            phases.pop();
        }
        for field in ["guard", "queue"] {
            want[field].take();
            got[field].take();
        }
    }
    let mut happened: Vec<String> = Vec::new();
    for event in &synced.events {
        happened.extend(event.message.strip_prefix("Error creating: ").map(str::to_owned));
        happened.extend(event.message.strip_prefix("Error deleting: ").map(|e| format!("unable to delete pods: {e}")));
    }
    if let Err(SyncFailure::Manage(failure)) = &synced.finish.result {
        happened.push(failure.clone());
    }
    if world.sets.get(key).is_some_and(|set| set.template_labels().is_empty()) {
        happened.push(TemplateFault::NoLabels.to_string());
    }
    let status = |of: &Value| of["statusUpdates"][0]["body"]["status"].clone();
    let shown = FailureShown::new(
        &before.status,
        happened,
        &if status(&want).is_null() { before.status.clone() } else { status(&want) },
        &status(&got),
    );
    if shown.differs && !status(&got).is_null() {
        check.apply_rule("newer-failure-is-shown");
        shown.check(check);
        for update in list(&want["statusUpdates"]) {
            shown.check_kept(&update["body"]["status"], check);
        }
        next = Next::Elsewhere;
        if status(&want).is_null() {
            // What is shown has changed, so it is written; else all is the same.
            for field in ["statusUpdates", "phases", "guard", "gets"] {
                want[field].take();
                got[field].take();
            }
        }
        for side in [&mut want, &mut got] {
            for update in side["statusUpdates"].as_array_mut().into_iter().flatten() {
                update["body"]["status"] = shown.rest(&update["body"]["status"]);
            }
        }
    }
    for field in
        ["creates", "deletes", "patches", "gets", "statusUpdates", "phases", "events", "queue", "expectations", "guard"]
    {
        check.same(&format!("{place}{field}"), &want[field], &got[field]);
    }
    if !uid_differs {
        same_failure(place, &want["error"], &synced.finish.result, check);
    }
    next
}

/// Each deletion names the uid and the version of the pod in the cache; taken out, the rest is upstream's.
fn took_delete_preconditions(got: &mut Value, cached: &BTreeMap<String, Value>, key: &str, check: &mut Check) -> bool {
    let deletes = &mut got["deletes"];
    if deletes.is_null() {
        return false;
    }
    let namespace = Key::explicit(key).namespace().to_owned();
    let bodies = deletes["bodies"].take();
    for (name, body) in bodies.as_object().into_iter().flatten() {
        let wanted = cached.get(&format!("{namespace}/{name}")).unwrap_or(&Value::Null);
        if !same(wanted, &body["preconditions"]) {
            check.fail(format!("preconditions for {name}: wanted {wanted}, got {}", body["preconditions"]));
        }
    }
    if let Some(body) = deletes["body"].as_object_mut() {
        body.remove("preconditions");
    }
    true
}

/// The namespace is ending: no more is tried after the batch that was told so, and only what was created is expected.
fn check_namespace_ending(place: &str, want: &Value, got: &Value, before: &Value, created: usize, check: &mut Check) {
    let count = |of: &Value| of["creates"]["count"].as_u64().unwrap_or(0);
    if count(got) == 0 || count(got) > count(want) {
        check.fail(format!("{place}creates: wanted 1 to {}, got {}", count(want), count(got)));
    }
    for field in ["path", "body", "bodiesDiffer"] {
        check.same(&format!("{place}creates.{field}"), &want["creates"][field], &got["creates"][field]);
    }
    for field in ["deletes", "patches", "gets"] {
        check.same(&format!("{place}{field}"), &want[field], &got[field]);
    }
    check.same(&format!("{place}last status"), &last_status(want, before), &last_status(got, before));
    // What upstream goes on to try may succeed or fail in other ways; nothing is told here that it does not tell.
    for event in list(&got["events"]) {
        let told = list(&want["events"]).any(|other| {
            other["reason"] == event["reason"]
                && other["message"] == event["message"]
                && other["count"].as_u64() >= event["count"].as_u64()
        });
        if !told {
            check.fail(format!("{place}events: {event} is not among {}", want["events"]));
        }
    }
    check.same(&format!("{place}expectations.adds"), &json!(created), &got["expectations"]["adds"]);
    for field in ["dels", "podKeys"] {
        let (want, got) = (&want["expectations"][field], &got["expectations"][field]);
        check.same(&format!("{place}expectations.{field}"), want, got);
    }
}

/// Takes out all that upstream says about pods that were not as in the cache: an event for each, and a condition.
fn forget_conflicts(
    place: &str,
    synced: &Synced,
    before: &Value,
    want: &mut Value,
    got: &mut Value,
    check: &mut Check,
) {
    if let Some(events) = want["events"].as_array_mut() {
        events.retain(|event| {
            let message = text(&event["message"]).strip_prefix("Error deleting: ");
            !message.is_some_and(|message| synced.conflicts.contains(message))
        });
    }
    // The status is the same but for the condition, and that alone may be why one side writes it, or the other does.
    check.same(&format!("{place}last status"), &last_status(want, before), &last_status(got, before));
    if matches!(synced.finish.result, Err(SyncFailure::StalePods)) && got.to_string().contains("ReplicaFailure") {
        check.fail(format!("{place}a pod that has changed is shown as a failure"));
    }
    for field in ["statusUpdates", "phases", "guard", "gets"] {
        want[field].take();
        got[field].take();
    }
}

/// The status that was written last, or else the one `before`, without what it shows of failures.
fn last_status(of: &Value, before: &Value) -> Value {
    let written = list(&of["statusUpdates"]).last().map(|update| &update["body"]["status"]);
    let mut status = written.unwrap_or(before).clone();
    status["observedGeneration"].take();
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.retain(|condition| condition["type"] != "ReplicaFailure");
    }
    status
}

fn same_failure(place: &str, want: &Value, got: &Result<(), SyncFailure>, check: &mut Check) {
    let guard = &want["staleGuardOneOf"];
    match got {
        Ok(()) if want.is_null() => {}
        // Where both caches are behind, either may be named.
        Err(SyncFailure::Behind(behind)) if list(guard).any(|text| names(text, behind)) => {}
        Err(failure) if guard.is_null() && !want.is_null() && !matches!(failure, SyncFailure::Behind(_)) => {}
        got => check.fail(format!("{place}error: wanted {want}, got {got:?}")),
    }
}

/// Whether upstream's words are about what is behind here.
fn names(words: &Value, Behind { cache, read, written }: &Behind) -> bool {
    let resource = stale_guard::resource(*cache);
    *words == format!("read version: {read} is not as new as written version: {written} for group resource {resource}")
}
