//! Whole syncs, one or several with events between them.

mod before;
mod held_back;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sanskube::key::Key;
use sanskube::recorder::Event;
use sanskube::replicaset::{Caches, Finish};
use sanskube::request::{Method, Outcome, Request};
use serde_json::{Value, json};

use super::super::Check;
use super::world::{World, list, text};
use super::{body_of, ops};
use before::Before;
pub(super) use held_back::{BY_UID, MET_BY_VERSION};
use rules::{Next, compare};

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
        if matches!(name, "advance" | "api") && !op["want"].is_null() {
            check.fail(format!("op {i} {name}: nothing here compares {}", op["want"]));
        }
        match name {
            "advance" => world.now = world.now.after(Duration::from_nanos(args["ns"].as_u64().unwrap_or(0))),
            "api" => world.api.handle_others(args),
            "sync" => {
                let place = format!("op {i} sync: ");
                sync(&mut world, api, &place, text(&args["key"]), &op["want"], check);
            }
            _ if world.handle_event(i, op, check) => {}
            _ => check.fail(format!("unknown op {name}")),
        }
    }
}

/// Does a sync and compares. Where a rule has led away from upstream, all is then put where upstream is.
fn sync(world: &mut World, api: &Value, place: &str, key: &str, want: &Value, check: &mut Check) {
    let before = Before::of(world, key);
    let synced = run(world, key);
    let got = describe(&synced, world, key);
    if compare(&before, &synced, (world, api), place, want, got, check) == Next::Elsewhere {
        before.put_in_line(world, want);
    }
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

#[cfg(test)]
mod tests;
