//! The ReplicaSet controller: its parts one by one, and whole syncs.

mod api;
pub(super) mod claim;
pub(super) mod deletion_order;
pub(super) mod event_routing;
pub(super) mod expectations;
pub(super) mod manage_sync;
pub(super) mod pod_from_template;
pub(super) mod pod_predicates;
pub(super) mod slow_start;
pub(super) mod stale_guard;
pub(super) mod status;
mod unseen;
mod world;

use std::sync::Arc;

use sanskube::object::{Decode, Pod, ReplicaSet, Resource};
use sanskube::time::Timestamp;
use serde_json::{Value, json};

fn pod(json: &Value) -> Pod {
    let json = json.to_string();
    Pod::decode(json.as_bytes(), &Resource::PODS)
        .unwrap_or_else(|e| panic!("a pod of the vectors does not decode: {e}"))
}

fn pods(json: &Value) -> Vec<Arc<Pod>> {
    json.as_array().into_iter().flatten().map(|json| Arc::new(pod(json))).collect()
}

fn set(json: &Value) -> ReplicaSet {
    ReplicaSet::decode(json.to_string().as_bytes(), &Resource::REPLICA_SETS)
        .unwrap_or_else(|e| panic!("a set of the vectors does not decode: {e}"))
}

fn time(json: &Value) -> Timestamp {
    json.as_str().and_then(Timestamp::parse).unwrap_or_else(|| panic!("not a time: {json}"))
}

fn number(json: &Value) -> usize {
    json.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

/// The operations of a case; a case without any compares nothing, so it fails.
fn ops<'a>(case: &'a Value, check: &mut super::Check) -> &'a [Value] {
    let ops = case["ops"].as_array().map_or(&[][..], Vec::as_slice);
    if ops.is_empty() {
        check.fail("the case has no operations");
    }
    ops
}

/// Errors are compared by whether there is one; the words are for information.
fn same_error(check: &mut super::Check, place: &str, want: &Value, got: Option<&str>) {
    if want.is_null() != got.is_none() {
        check.fail(format!("{place}: wanted error {want}, got {got:?}"));
    }
}

fn body_of(request: &sanskube::request::Request) -> Value {
    serde_json::from_slice(&request.body).unwrap_or(Value::Null)
}

/// A request as the vectors list it.
fn logged(verb: &str, request: &sanskube::request::Request) -> Value {
    let mut logged = json!({"verb": verb, "method": request.method.as_str(), "path": request.path});
    if !request.body.is_empty() {
        logged["contentType"] = json!(request.content_type);
        logged["body"] = body_of(request);
    }
    logged
}
