//! Whole syncs, one or several with events between them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sanskube::key::Key;
use sanskube::recorder::Event;
use sanskube::replicaset::template::TemplateFault;
use sanskube::replicaset::{Caches, CallFailure, Finish, SyncFailure};
use sanskube::request::{Method, Outcome, Request};
use serde_json::{Value, json};

use super::super::{Check, same};
use super::status::{FailureShown, another_uid_read, check_retry};
use super::world::{World, list, text};
use super::{body_of, ops};

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let mut world = World::new(&case["input"]);
    let api = &case["input"]["api"];
    if case["ops"].is_null() && case["want"].is_object() {
        sync(&mut world, api, "", text(&case["input"]["key"]), &case["want"], check);
        return;
    }
    let ops = ops(case, check);
    for (i, op) in ops.iter().enumerate() {
        let (name, args) = (text(&op["op"]), &op["args"]);
        match name {
            "advance" => world.now = world.now.after(Duration::from_nanos(args["ns"].as_u64().unwrap_or(0))),
            "api" => world.api.handle_others(args),
            "sync" => {
                let place = format!("op {i} sync: ");
                if sync(&mut world, api, &place, text(&args["key"]), &op["want"], check) == Comparable::No {
                    check.skip_ops(ops.len() - i - 1);
                    return;
                }
            }
            _ if world.handle_event(i, op, check) => {}
            _ => check.fail(format!("unknown op {name}")),
        }
    }
}

/// Whether what follows in the case is comparable.
#[derive(PartialEq)]
enum Comparable {
    Yes,
    /// A rule has led to another state than upstream's.
    No,
}

/// What a sync did.
pub(super) struct Synced {
    finish: Finish,
    pub(super) events: Vec<Event>,
    requests: Vec<(&'static str, Request)>,
    /// The causes that refusals told.
    causes: BTreeSet<String>,
    /// What was told where the pod to be deleted was not as in the cache.
    conflicts: BTreeSet<String>,
}

pub(super) fn run(world: &mut World, key: &str) -> Synced {
    let caches = Caches { pods: &world.pods, sets: &world.sets };
    let mut sync = world.controller.begin_sync(&Key::explicit(key), caches, world.now);
    let logged_before = world.api.log.len();
    world.api.patched.clear();
    let (mut causes, mut conflicts) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let round: Vec<_> = std::iter::from_fn(|| sync.poll_request()).collect();
        if round.is_empty() {
            break;
        }
        // The calls of a round wait together.
        let outcomes: Vec<_> =
            round.into_iter().map(|(ticket, request)| (ticket, request.method, world.api.handle(&request))).collect();
        let delay = outcomes.iter().map(|(_, _, (_, delay))| *delay).max().unwrap_or_default();
        world.now = world.now.after(delay);
        for (ticket, method, (outcome, _)) in outcomes {
            if let Outcome::Response(response) = &outcome {
                let status: Value = serde_json::from_slice(&response.body).unwrap_or_default();
                causes.extend(list(&status["details"]["causes"]).map(|cause| text(&cause["reason"]).to_owned()));
                if method == Method::Delete && response.head.status == 409 {
                    conflicts.insert(text(&status["message"]).to_owned());
                }
            }
            sync.handle_outcome(&mut world.controller, caches, ticket, outcome, world.now);
        }
    }
    let events = std::iter::from_fn(|| sync.poll_event()).collect();
    let finish = sync.finish().expect("nothing is in flight, so the sync has ended").clone();
    Synced { finish, events, requests: world.api.log[logged_before..].to_vec(), causes, conflicts }
}

fn sync(world: &mut World, api: &Value, place: &str, key: &str, want: &Value, check: &mut Check) -> Comparable {
    let before = world.sets.get(key).map_or(Value::Null, |set| json!(set.status()));
    let mut cached: BTreeMap<String, Value> = world
        .pods
        .iter()
        .map(|pod| {
            use sanskube::object::Object;
            let conditions =
                json!({"uid": pod.uid().to_string(), "resourceVersion": pod.resource_version().to_string()});
            (pod.key().to_string(), conditions)
        })
        .collect();
    let met_by_version = world.is_met_by_version(key);
    let synced = run(world, key);
    let mut want = want.clone();
    if let Some(events) = want["events"].as_array_mut() {
        sort_events(events);
    }
    let mut got = describe(&synced, world, key);

    for (name, version) in &world.api.patched {
        if let Some(pod) = cached.get_mut(&format!("{}/{name}", Key::explicit(key).namespace())) {
            pod["resourceVersion"] = version.clone();
        }
    }
    if took_delete_preconditions(&mut got, &cached, key, check) {
        check.apply_rule("delete-preconditions");
    }
    if synced.causes.contains("NamespaceTerminating") {
        check.apply_rule("namespace-ending");
        let created = synced.events.iter().filter(|event| event.reason == "SuccessfulCreate").count();
        check_namespace_ending(place, &want, &got, &before, created, check);
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
        return Comparable::No;
    }
    let mut comparable = Comparable::Yes;
    if !synced.conflicts.is_empty() {
        check.apply_rule("stale-pod-is-no-failure");
        forget_conflicts(place, &synced, &before, &mut want, &mut got, check);
        comparable = Comparable::No;
    }
    if met_by_version && got["phases"] != want["phases"] {
        check.apply_rule("met-by-version");
        check.skip_ops(1);
        return Comparable::No;
    }
    if world.expected_without_set(key) {
        check.apply_rule("expectations-belong-to-a-uid");
        if got["phases"] != want["phases"] {
            check.skip_ops(1);
            return Comparable::No;
        }
        want["expectations"].take();
    }
    let verbs: Vec<&str> = list(&want["phases"]).filter_map(Value::as_str).collect();
    let uid = world.sets.get(key).map(|set| set.meta().uid.to_string()).unwrap_or_default();
    let uid_differs = another_uid_read(uid, api, &verbs);
    if uid_differs {
        check.apply_rule("status-retry-checks-uid");
        comparable = Comparable::No;
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
        &before,
        happened,
        &if status(&want).is_null() { before.clone() } else { status(&want) },
        &status(&got),
    );
    if shown.differs && !status(&got).is_null() {
        check.apply_rule("newer-failure-is-shown");
        shown.check(check);
        for update in list(&want["statusUpdates"]) {
            shown.check_kept(&update["body"]["status"], check);
        }
        comparable = Comparable::No;
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
    comparable
}

/// What a sync did, as the vectors describe it.
fn describe(synced: &Synced, world: &World, key: &str) -> Value {
    let of = |verb: &'static str| synced.requests.iter().filter(move |(v, _)| *v == verb).map(|(_, request)| request);
    let creates = of("create_pod").next().map(|first| {
        let bodies_differ = of("create_pod").any(|request| request.body != first.body);
        json!({"body": body_of(first), "count": of("create_pod").count(), "path": first.path, "bodiesDiffer": bodies_differ.then_some(true)})
    });
    let deletes = of("delete_pod").next().map(|first| {
        let (prefix, _) = first.path.rsplit_once('/').unwrap_or_default();
        let pods: BTreeSet<&str> = of("delete_pod").filter_map(|request| request.path.rsplit('/').next()).collect();
        let bodies: BTreeMap<&str, Value> =
            of("delete_pod").filter_map(|request| Some((request.path.rsplit('/').next()?, body_of(request)))).collect();
        json!({"body": body_of(first), "pathPrefix": format!("{prefix}/"), "pods": pods, "bodies": bodies})
    });
    let mut patches: Vec<Value> = of("patch_pod")
        .map(|request| {
            let text = String::from_utf8_lossy(&request.body);
            json!({"pod": request.path.rsplit('/').next(), "path": request.path, "contentType": request.content_type, "bodyText": text})
        })
        .collect();
    patches.sort_by_key(|patch| patch["pod"].as_str().map(str::to_owned));
    let updates: Vec<Value> =
        of("update_status").map(|request| json!({"path": request.path, "body": body_of(request)})).collect();
    let mut phases: Vec<&str> = synced.requests.iter().map(|(verb, _)| *verb).collect();
    phases.dedup();
    let mut queue = Vec::new();
    if let Some(after) = synced.finish.again_after {
        queue.push(json!({"op": "add_after", "afterNs": u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)}));
    }
    queue.push(json!({"op": if synced.finish.result.is_ok() { "forget" } else { "add_rate_limited" }}));
    json!({"creates": creates, "deletes": deletes, "patches": patches, "gets": of("get_rs").count(), "statusUpdates": updates,
        "phases": phases, "events": describe_events(&synced.events, &world.api.names), "queue": queue,
        "expectations": world.expectations_of(key), "guard": world.guard_of(key)})
}

pub(super) fn describe_events(events: &[Event], made: &BTreeSet<String>) -> Value {
    let mut counts: BTreeMap<String, (Value, u64)> = BTreeMap::new();
    for event in events {
        let mut message = event.message.clone();
        if let Some(name) = message.strip_prefix("Created pod: ").filter(|name| made.contains(*name)) {
            message = message.replace(name, "<generated>");
        }
        let object = &event.object;
        let mut described = json!({"type": event.event_type.as_str(), "reason": event.reason, "message": message, "involvedObject": {
            "kind": object.kind, "namespace": object.namespace, "name": object.name, "uid": object.uid.to_string(),
            "apiVersion": object.api_version, "resourceVersion": object.resource_version}});
        // Go leaves empty texts out.
        if let Some(object) = described["involvedObject"].as_object_mut() {
            object.retain(|_, value| value != "");
        }
        counts.entry(described.to_string()).or_insert((described, 0)).1 += 1;
    }
    let mut events: Vec<Value> = counts
        .into_values()
        .map(|(mut event, count)| {
            event["count"] = json!(count);
            event
        })
        .collect();
    sort_events(&mut events);
    Value::Array(events)
}

fn sort_events(events: &mut [Value]) {
    events.sort_by_key(|event| format!("{}: {}", event["reason"], event["message"]));
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
    let guard = !want["staleGuardOneOf"].is_null();
    match got {
        Ok(()) if want.is_null() => {}
        Err(SyncFailure::Behind(_)) if guard => {}
        Err(failure) if !guard && !want.is_null() && !matches!(failure, SyncFailure::Behind(_)) => {}
        got => check.fail(format!("{place}error: wanted {want}, got {got:?}")),
    }
}
