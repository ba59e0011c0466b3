//! The status: worked out and written.

use std::sync::Arc;

use sanskube::replicaset::status::{REPLICA_FAILURE, StatusUpdate, calculate_status};
use serde_json::{Value, json};

use super::super::{Check, same};
use super::api::Api;
use super::world::list;
use super::{logged, pods, same_error, set, time};

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let (input, want) = (&case["input"], &case["want"]);
    let set = Arc::new(set(&input["replicaSet"]));
    let terminating = pods(&input["terminatingPods"]).len();
    let terminating = (input["enableStatusTerminatingReplicas"] == true).then_some(terminating);
    let failure = input["manageError"].as_str();
    let status = calculate_status(&set, &pods(&input["activePods"]), terminating, failure, time(&input["now"]));
    let got = json!(status);
    let happened: Vec<String> = failure.map(str::to_owned).into_iter().collect();
    let shown = FailureShown::new(&input["replicaSet"]["status"], happened, &want["status"], &got);
    if shown.differs {
        check.apply_rule("newer-failure-is-shown");
        shown.check(check);
    }
    check.same("status", &shown.rest(&want["status"]), &shown.rest(&got));

    let mut api = Api::new(&input["api"], &Value::Null);
    let mut update = StatusUpdate::new(Arc::clone(&set), status);
    while let Some(request) = update.poll_request() {
        let (outcome, _) = api.handle(&request);
        update.handle_outcome(outcome);
    }
    let mut requests: Vec<Value> = api.log.iter().map(|(verb, request)| logged(verb, request)).collect();
    let mut wanted = want["requests"].as_array().cloned().unwrap_or_default();
    let result = update.result().expect("no request is to be made, so it has ended");
    for request in wanted.iter().filter(|request| request["verb"] == "update_status") {
        shown.check_kept(&request["body"]["status"], check);
    }
    for request in requests.iter_mut().chain(&mut wanted) {
        let rest = shown.rest(&request["body"]["status"]);
        if !request["body"].is_null() {
            request["body"]["status"] = rest;
        }
    }
    if shown.differs && wanted.is_empty() {
        // What is shown has changed, so it is written.
        if !matches!(requests.first(), Some(request) if request["verb"] == "update_status") {
            check.fail("the newer failure was not written");
        }
        // Upstream leaves the set as it is.
        let left = json!({"minReadySeconds": set.min_ready_seconds(), "resourceVersion": set.meta().resource_version.to_string(),
            "status": set.status()});
        check.same("result", &want["result"], &left);
        check.same("wrote", &want["wrote"], &json!(false));
        same_error(check, "error", &want["error"], None);
        return;
    }
    let verbs: Vec<&str> = wanted.iter().filter_map(|request| request["verb"].as_str()).collect();
    if another_uid_read(set.meta().uid.to_string(), &input["api"], &verbs) {
        check.apply_rule("status-retry-checks-uid");
        check_retry(&wanted[0]["body"], &wanted[2]["body"], check);
        wanted.truncate(2);
        check.same("requests", &json!(wanted), &json!(requests));
        if result.is_ok() {
            check.fail("the status of another set was written");
        }
        return;
    }
    check.same("requests", &json!(wanted), &json!(requests));
    check.same("wrote", &want["wrote"], &json!(!requests.is_empty()));
    same_error(check, "error", &want["error"], result.as_ref().err().map(ToString::to_string).as_deref());
    if let Ok(written) = result {
        let got = json!({"minReadySeconds": written.min_ready_seconds(), "resourceVersion": written.meta().resource_version.to_string(),
            "status": shown.rest(&json!(written.status()))});
        let mut wanted = want["result"].clone();
        shown.check_kept(&wanted["status"], check);
        wanted["status"] = shown.rest(&wanted["status"]);
        check.same("result", &wanted, &got);
    } else {
        check.same("result", &want["result"], &Value::Null);
    }
}

/// Whether the fresh set that upstream read and wrote to is another one.
pub(super) fn another_uid_read(uid: String, api: &Value, verbs: &[&str]) -> bool {
    verbs.ends_with(&["update_status", "get_rs", "update_status"]) && api["replicaSet"]["metadata"]["uid"] != uid
}

/// Checks that upstream's second try, which is not made here, was to write the same conditions as the first.
pub(super) fn check_retry(first: &Value, second: &Value, check: &mut Check) {
    check.same("second try", &first["status"]["conditions"], &second["status"]["conditions"]);
}

/// The one condition in which a failure may be shown that upstream, which keeps the first, does not show.
pub(super) struct FailureShown {
    pub(super) differs: bool,
    before: Option<Value>,
    happened: Vec<String>,
    want: Option<Value>,
    got: Option<Value>,
}

impl FailureShown {
    /// Compares what two statuses say about the failures that happened; `before` is the status that both were made from.
    pub(super) fn new(before: &Value, happened: Vec<String>, want: &Value, got: &Value) -> Self {
        let of = |status: &Value| {
            let conditions = status["conditions"].as_array();
            conditions.into_iter().flatten().find(|condition| condition["type"] == REPLICA_FAILURE).cloned()
        };
        let (before, want, got) = (of(before), of(want), of(got));
        let differs = before.is_some() && !happened.is_empty() && !same(&json!(want), &json!(got));
        Self { differs, before, happened, want, got }
    }

    /// Checks that what is shown is what has happened, and not what was shown before; and that upstream has kept that.
    pub(super) fn check(&self, check: &mut Check) {
        self.check_kept(&json!({"conditions": [self.want]}), check);
        let Some(got) = &self.got else {
            check.fail("the failure is not shown");
            return;
        };
        let news = self.before.as_ref().is_some_and(|before| {
            before["status"] != "True" || before["reason"] != got["reason"] || before["message"] != got["message"]
        });
        let has_happened = self.happened.iter().any(|message| got["message"] == **message);
        if got["status"] != "True" || !has_happened || !news {
            check.fail(format!("shown is {got}, happened has {:?}", self.happened));
        }
    }

    /// Checks that a wanted status shows what was shown before, if what is shown here differs.
    pub(super) fn check_kept(&self, want: &Value, check: &mut Check) {
        let first = list(&want["conditions"]).find(|condition| condition["type"] == REPLICA_FAILURE);
        if self.differs && !same(&json!(self.before), &json!(first)) {
            check.fail(format!("upstream keeps {:?}, wanted is {first:?}", self.before));
        }
    }

    /// A status without the condition, if that differs.
    pub(super) fn rest(&self, status: &Value) -> Value {
        let mut status = status.clone();
        if self.differs
            && let Some(conditions) = status["conditions"].as_array_mut()
        {
            // Only the first: others of the type are kept by both.
            if let Some(first) = conditions.iter().position(|condition| condition["type"] == REPLICA_FAILURE) {
                conditions.remove(first);
            }
        }
        status
    }
}
