//! ReplicaSets and ReplicationControllers (`pkg/apis/apps/validation`, `pkg/apis/core/validation`).

use serde_json::{Value, json};

use super::{meta, pod_spec};
use crate::error::Cause;
use crate::json;
use crate::selector;
use crate::store::Obj;
use crate::time::Now;

pub(crate) fn default(rs: &mut Obj) {
    let spec = json::map_mut(rs, &["spec"]);
    json::default(spec, "replicas", 1);
    pod_spec::default(json::map_mut(spec, &["template", "spec"]), false);
}

pub(crate) fn default_replication_controller(rc: &mut Obj) {
    let spec = json::map_mut(rc, &["spec"]);
    json::default(spec, "replicas", 1);
    let Some(Value::Object(template)) = spec.get_mut("template") else {
        return;
    };
    pod_spec::default(json::map_mut(template, &["spec"]), false);
    if let Some(labels) = json::at(template, &["metadata", "labels"]).cloned() {
        json::default(spec, "selector", labels.clone());
        json::default(json::meta_mut(rc), "labels", labels);
    }
}

pub(crate) fn prepare_create(rs: &mut Obj, _now: Now) {
    rs.insert("status".into(), json!({ "replicas": 0 }));
}

fn validate_counts(spec: &Obj, causes: &mut Vec<Cause>) {
    for key in ["replicas", "minReadySeconds"] {
        if let Some(n) = json::int(spec, &[key])
            && n < 0
        {
            causes.push(Cause::invalid(format!("spec.{key}"), &n.into(), "must be greater than or equal to 0"));
        }
    }
}

/// `ValidatePodTemplateSpec`, and what a controller's template adds to it.
fn validate_template(template: &Obj, matches: bool, kind: &str, causes: &mut Vec<Cause>) {
    let labels = json::map(template, &["metadata", "labels"]);
    if !matches {
        let value = labels.map_or(Value::Null, |l| Value::Object(l.clone()));
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", &value, detail));
    }
    meta::validate_labels(labels, "spec.template.labels", causes);
    let annotations = json::map(template, &["metadata", "annotations"]);
    meta::validate_annotations(annotations, "spec.template.annotations", causes);
    let Some(spec) = json::map(template, &["spec"]) else {
        return;
    };
    pod_spec::validate(spec, "spec.template.spec", causes);
    let policy = json::text(spec, &["restartPolicy"]);
    if policy != "Always" {
        causes.push(Cause::not_supported("spec.template.spec.restartPolicy", policy, &["Always"]));
    }
    if spec.contains_key("activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        causes.push(Cause::forbidden("spec.template.spec.activeDeadlineSeconds", &detail));
    }
}

pub(crate) fn validate_replica_set(rs: &Obj, causes: &mut Vec<Cause>) {
    let Some(spec) = json::map(rs, &["spec"]) else {
        return;
    };
    validate_counts(spec, causes);
    let selector = spec.get("selector").filter(|s| !s.is_null());
    let empty = json!({});
    match selector {
        None => causes.push(Cause::required("spec.selector", "")),
        Some(s) => {
            selector::validate_label_selector(s, "spec.selector", causes);
            if *s == empty {
                causes.push(Cause::invalid("spec.selector", s, "empty selector is invalid for deployment"));
            }
        }
    }
    if let Some(template) = json::map(spec, &["template"]) {
        let labels = json::map(template, &["metadata", "labels"]);
        let matches = selector.is_some_and(|s| *s == empty || selector::label_selector_matches(s, labels));
        validate_template(template, matches, "ReplicaSet", causes);
    }
}

pub(crate) fn validate_replica_set_update(new: &Obj, old: &Obj, causes: &mut Vec<Cause>) {
    validate_replica_set(new, causes);
    let path = ["spec", "selector"];
    if json::at(new, &path) != json::at(old, &path) {
        let value = json::at(new, &path).cloned().unwrap_or(Value::Null);
        causes.push(Cause::invalid("spec.selector", &value, "field is immutable"));
    }
}

pub(crate) fn validate_replication_controller(rc: &Obj, causes: &mut Vec<Cause>) {
    let Some(spec) = json::map(rc, &["spec"]) else {
        return;
    };
    validate_counts(spec, causes);
    let selector = json::map(spec, &["selector"]).filter(|s| !s.is_empty());
    if selector.is_none() {
        causes.push(Cause::required("spec.selector", ""));
    }
    match json::map(spec, &["template"]) {
        None => causes.push(Cause::required("spec.template", "")),
        Some(template) => {
            let labels = json::map(template, &["metadata", "labels"]);
            let matches = selector.is_none_or(|s| s.iter().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v)));
            validate_template(template, matches, "ReplicationController", causes);
        }
    }
}

/// `ValidateReplicaSetStatus`.
pub(crate) fn validate_status(new: &Obj, _old: &Obj, causes: &mut Vec<Cause>) {
    let count = |key: &str| json::int(new, &["status", key]).unwrap_or(0);
    for key in [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ] {
        if count(key) < 0 {
            let field = format!("status.{key}");
            causes.push(Cause::invalid(field, &count(key).into(), "must be greater than or equal to 0"));
        }
    }
    for (key, bound, than) in [
        ("fullyLabeledReplicas", "replicas", "status.replicas"),
        ("readyReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ] {
        if count(key) > count(bound) {
            let detail = format!("cannot be greater than {than}");
            causes.push(Cause::invalid(format!("status.{key}"), &count(key).into(), &detail));
        }
    }
}
