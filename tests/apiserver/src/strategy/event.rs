//! Events: one table, served as core/v1 and as events.k8s.io/v1.

use serde_json::Value;

use crate::error::Cause;
use crate::json;
use crate::store::Obj;

/// What a field is called in core/v1 and in events.k8s.io/v1.
const NAMES: [(&str, &str); 8] = [
    ("reportingComponent", "reportingController"),
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingInstance", "reportingInstance"),
];

fn rename(mut event: Obj, names: impl Iterator<Item = (&'static str, &'static str)>) -> Obj {
    for (from, to) in names.filter(|(from, to)| from != to) {
        if let Some(v) = event.remove(from) {
            event.insert(to.into(), v);
        }
    }
    event
}

pub(crate) fn to_events_v1(event: Obj) -> Obj {
    let mut event = rename(event, NAMES.into_iter());
    // The two versions differ in which empty fields they write.
    for key in ["reportingController", "reportingInstance"] {
        if event.get(key) == Some(&Value::from("")) {
            event.remove(key);
        }
    }
    event
}

pub(crate) fn from_events_v1(event: Obj) -> Obj {
    let mut event = rename(event, NAMES.into_iter().map(|(a, b)| (b, a)));
    for key in ["reportingComponent", "reportingInstance"] {
        json::default(&mut event, key, "");
    }
    event
}

/// `legacyValidateEvent`: the event lives in the namespace of what it is about.
pub(crate) fn validate(event: &Obj, causes: &mut Vec<Cause>) {
    let involved = json::text(event, &["involvedObject", "namespace"]);
    let own = json::meta_text(event, "namespace");
    let expected = if involved.is_empty() { "default" } else { involved };
    if own != expected {
        causes.push(Cause::invalid("involvedObject.namespace", &involved.into(), "does not match event.namespace"));
    }
}

/// The stricter rules of events.k8s.io/v1 (`pkg/apis/core/validation/events.go`).
pub(crate) fn validate_v1(event: &Obj, causes: &mut Vec<Cause>) {
    validate(event, causes);
    if json::at(event, &["eventTime"]).is_none_or(Value::is_null) {
        causes.push(Cause::required("eventTime", ""));
    }
    for (key, max) in [("reportingComponent", 0), ("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        let value = json::text(event, &[key]);
        let field = if key == "reportingComponent" { "reportingController" } else { key };
        if value.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if max > 0 && value.len() > max {
            causes.push(Cause::invalid(field, &value.into(), &format!("can have at most {max} characters")));
        } else if key == "reportingComponent" {
            super::meta::blame(field, value, super::meta::qualified_name_faults(value), causes);
        }
    }
    let message = json::text(event, &["message"]);
    if message.len() > 1024 {
        causes.push(Cause::invalid("message", &"".into(), "can have at most 1024 characters"));
    }
    let kind = json::text(event, &["type"]);
    if kind != "Normal" && kind != "Warning" {
        causes.push(Cause::invalid("type", &"".into(), &format!("has invalid value: {kind}")));
    }
}

pub(crate) fn validate_v1_update(new: &Obj, old: &Obj, causes: &mut Vec<Cause>) {
    let fields = [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "related",
        "type",
        "eventTime",
        "action",
        "reportingComponent",
        "reportingInstance",
    ];
    for field in fields {
        if new.get(field) != old.get(field) {
            let value = new.get(field).cloned().unwrap_or(Value::Null);
            let name = if field == "reportingComponent" { "reportingController" } else { field };
            causes.push(Cause::invalid(name, &value, "field is immutable"));
        }
    }
}
