//! Pods made from templates.

use sanskube::object::OwnerReference;
use sanskube::replicaset::template::{controller_reference, create_request, pod_from_template};
use serde_json::{Value, json};

use super::super::Check;
use super::manage_sync::{describe_events, run};
use super::world::World;
use super::{body_of, logged, same_error, set};

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let (input, want) = (&case["input"], &case["want"]);
    let set = set(&input["replicaSet"]);
    let owner = match &input["controllerRef"] {
        Value::Null if input["controllerRefIsNil"] == true => None,
        Value::Null => Some(controller_reference(&set)),
        reference => Some(reference_of(reference)),
    };
    let mut pod: Value = serde_json::from_slice(&pod_from_template(&set, owner.as_ref())).unwrap_or_default();
    // What every pod is; the vectors have the bare pod here.
    check.same("kind", &json!(["Pod", "v1"]), &json!([pod["kind"].take(), pod["apiVersion"].take()]));
    check.same("pod", &without_false_flags(&want["pod"]), &pod);

    let Some(owner) = owner else {
        // Here an owner reference cannot be absent: the types rule it out.
        check.apply_rule("owner-is-not-optional");
        same_error(check, "error", &want["error"], Some("no owner"));
        check.same("events", &want["events"], &Value::Null);
        check.same("request", &want["request"], &Value::Null);
        return;
    };
    let created = create_request(input["namespace"].as_str().unwrap_or_default(), &set, &owner);
    same_error(check, "error", &want["error"], created.as_ref().err().map(ToString::to_string).as_deref());
    match &created {
        Ok(request) => check.same("request", &want["request"], &logged("create_pod", request)),
        Err(_) => check.same("request", &want["request"], &Value::Null),
    }
    // A sync is always for the set's own reference; with another, the request was refused, and there is nothing to tell of.
    let events = if input["controllerRef"].is_null() { events_of_sync(&input["replicaSet"]) } else { Value::Null };
    check.same("events", &want["events"], &events);
    if let Ok(request) = created {
        check.same("status", &json!({}), &body_of(&request)["status"]);
    }
}

/// What a sync tells of that has to make one pod.
fn events_of_sync(set: &Value) -> Value {
    let mut set = set.clone();
    set["spec"]["replicas"] = json!(1);
    set["spec"]["selector"] = json!({"matchLabels": {"made": "by-the-sync"}});
    set["metadata"]["deletionTimestamp"].take();
    let key = super::set(&set).meta().key.to_string();
    let input = json!({"now": "2026-03-14T09:26:53Z", "burstReplicas": 1, "replicaSets": [set]});
    let mut world = World::new(&input);
    let synced = run(&mut world, &key);
    describe_events(&synced.events, &world.api.names)
}

/// In this project's owner references a flag is true or it is not; absent and false are one.
fn without_false_flags(pod: &Value) -> Value {
    let mut pod = pod.clone();
    for owner in pod["metadata"]["ownerReferences"].as_array_mut().into_iter().flatten() {
        for flag in ["controller", "blockOwnerDeletion"] {
            if owner[flag] == false {
                owner[flag].take();
            }
        }
    }
    pod
}

fn reference_of(json: &Value) -> OwnerReference {
    let text = |field: &str| json[field].as_str().unwrap_or_default();
    OwnerReference {
        api_version: text("apiVersion").into(),
        kind: text("kind").into(),
        name: text("name").into(),
        uid: text("uid").into(),
        controller: json["controller"] == true,
        block_owner_deletion: json["blockOwnerDeletion"] == true,
    }
}
