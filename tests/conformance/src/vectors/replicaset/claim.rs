//! Adopting and releasing.

use std::sync::Arc;

use sanskube::object::{Meta, Object};
use sanskube::replicaset::claim::Claim;
use sanskube::replicaset::guard::{Cache, ConsistencyGuard};
use serde_json::{Value, json};

use super::super::Check;
use super::api::Api;
use super::{logged, pods, same_error, set, stale_guard};

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let (input, want) = (&case["input"], &case["want"]);
    let set = Arc::new(set(&input["replicaSet"]));
    let Meta { key, uid, .. } = set.meta();
    let mut api = Api::new(&input["api"], &input["pods"]);
    let mut guard = ConsistencyGuard::new();
    let selector = set.selector().expect("the selectors of these vectors are valid").clone();
    let mut claim = Claim::new(Arc::clone(&set), selector, pods(&input["pods"]));
    while let Some(request) = claim.poll_request() {
        if claim.poll_request().is_some() {
            check.fail("two requests in flight");
        }
        let (outcome, _) = api.handle(&request);
        if let Some((_, version)) = claim.handle_outcome(outcome) {
            guard.wrote_at(key, uid, Cache::Pods, version);
        }
    }
    if !claim.is_done() {
        check.fail("not done, though no request is to be made");
    }
    let (claimed, failures) = claim.take();
    check.same("claimed", &want["claimed"], &claimed.iter().map(|pod| pod.name()).collect());
    let failures: Vec<&str> = failures.iter().map(String::as_str).collect();
    same_error(check, "error", &want["error"], failures.first().copied());
    if !failures.is_empty() {
        let mut unique: Vec<&str> = failures;
        unique.sort_unstable();
        unique.dedup();
        check.same(
            "number of errors",
            &json!(want["error"]["messages"].as_array().map(Vec::len)),
            &json!(unique.len()),
        );
    }
    check.same("guard", &want["guard"], &guard.get(key).map_or(Value::Null, stale_guard::describe));
    let requests: Vec<Value> = api.log.iter().map(|(verb, request)| logged(verb, request)).collect();
    let mut wanted = want["requests"].clone();
    for request in wanted.as_array_mut().into_iter().flatten() {
        // The exact text holds nothing that the body does not.
        request["bodyText"].take();
    }
    check.same("requests", &wanted, &Value::Array(requests));
}
