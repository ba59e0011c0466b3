//! Pods: admission, status and what may change (`pkg/registry/core/pod/strategy.go`).

use serde_json::{Value, json};

use super::{pod_diff, pod_spec};
use crate::error::Cause;
use crate::json;
use crate::store::Obj;
use crate::time::Now;

pub(crate) fn default(pod: &mut Obj) {
    pod_spec::default(json::map_mut(pod, &["spec"]), true);
}

/// The plugins DefaultTolerationSeconds and Priority.
pub(crate) fn admit(pod: &mut Obj) -> Result<(), String> {
    let spec = json::map_mut(pod, &["spec"]);
    let present = json::list(spec, &["tolerations"]).to_vec();
    let tolerated = |key: &str| {
        present.iter().any(|t| {
            let k = t.get("key").and_then(Value::as_str).unwrap_or_default();
            let effect = t.get("effect").and_then(Value::as_str).unwrap_or_default();
            (k == key || k.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        })
    };
    let mut tolerations = present.clone();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        if !tolerated(key) {
            tolerations
                .push(json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }));
        }
    }
    spec.insert("tolerations".into(), tolerations.into());
    let priority = match json::text(spec, &["priorityClassName"]) {
        "" => 0,
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        other => return Err(format!("no PriorityClass with name {other} was found")),
    };
    json::default(spec, "priority", priority);
    json::default(spec, "preemptionPolicy", "PreemptLowerPriority");
    Ok(())
}

pub(crate) fn prepare_create(pod: &mut Obj, now: Now) {
    let mut status = json!({ "phase": "Pending", "qosClass": qos_class(pod) });
    if !json::list(pod, &["spec", "schedulingGates"]).is_empty() {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "lastProbeTime": null,
            "lastTransitionTime": crate::time::rfc3339(now.wall),
            "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    pod.insert("status".into(), status);
}

/// `ComputePodQOS`.
fn qos_class(pod: &Obj) -> &'static str {
    let (mut any, mut guaranteed) = (false, true);
    for container in ["containers", "initContainers"].iter().flat_map(|l| json::list(pod, &["spec", l])) {
        let get = |which: &str, name: &str| {
            let q = container.get("resources")?.get(which)?.get(name)?.as_str()?;
            (q != "0").then_some(q)
        };
        for name in ["cpu", "memory"] {
            let (request, limit) = (get("requests", name), get("limits", name));
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

pub(crate) fn prepare_status(new: &mut Obj, old: &Obj, now: Now) {
    super::keep_spec(new, old, now);
    let meta = json::meta_mut(new);
    for key in ["deletionTimestamp", "ownerReferences"] {
        json::set(meta, key, json::at(old, &["metadata", key]).cloned());
    }
    let qos = json::at(old, &["status", "qosClass"]).cloned();
    json::set(json::map_mut(new, &["status"]), "qosClass", qos);
}

pub(crate) fn validate(pod: &Obj, causes: &mut Vec<Cause>) {
    if let Some(spec) = json::map(pod, &["spec"]) {
        pod_spec::validate(spec, "spec", causes);
        if spec.contains_key("nodeName") && !json::list(spec, &["schedulingGates"]).is_empty() {
            causes.push(Cause::forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
        }
    }
}

/// `ValidatePodUpdate`: only images, deadlines, tolerations and a few more may change.
pub(crate) fn validate_update(new: &Obj, old: &Obj, causes: &mut Vec<Cause>) {
    validate(new, causes);
    let (Some(new), Some(old)) = (json::map(new, &["spec"]), json::map(old, &["spec"])) else {
        return;
    };
    let (Some(mut munged), old_spec) = (Some(new.clone()), old) else {
        return;
    };
    for list in ["containers", "initContainers"] {
        let images: Vec<Option<Value>> =
            json::list(old_spec, &[list]).iter().map(|c| c.get("image").cloned()).collect();
        for (container, image) in json::items_mut(&mut munged, &[list]).zip(images) {
            json::set(container, "image", image);
        }
    }
    let had = json::list(old_spec, &["tolerations"]);
    if had.iter().all(|t| json::list(new, &["tolerations"]).contains(t)) {
        json::set(&mut munged, "tolerations", old_spec.get("tolerations").cloned());
    }
    let gates = json::list(old_spec, &["schedulingGates"]);
    if json::list(new, &["schedulingGates"]).iter().all(|g| gates.contains(g)) {
        json::set(&mut munged, "schedulingGates", old_spec.get("schedulingGates").cloned());
    }
    json::set(&mut munged, "activeDeadlineSeconds", old_spec.get("activeDeadlineSeconds").cloned());
    if munged != *old_spec {
        causes.push(Cause::forbidden(
            "spec",
            &format!(
                "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n{}",
                pod_diff::diff(old_spec, &munged)
            ),
        ));
    }
}
