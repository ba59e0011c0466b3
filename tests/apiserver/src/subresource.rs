//! Subresources that are not the object: scale, binding, eviction
//! (`pkg/registry/apps/replicaset/storage`, `pkg/registry/core/pod/storage`).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::body::{Expected, decode_body};
use crate::context::{Answer, Context};
use crate::delete::DeleteOptions;
use crate::error::{ApiError, Cause, Subject};
use crate::kind::Kind;
use crate::options::validate_options;
use crate::patching::patched;
use crate::schema::schema;
use crate::selector::label_selector_text;
use crate::server::ApiServer;
use crate::store::{Obj, Object};
use crate::time::rfc3339;
use crate::{decode, json as path};

const SCALE: Expected<'static> =
    Expected { kind: "Scale", api_version: "autoscaling/v1", message: "autoscaling.Scale", package: "autoscaling" };
const BINDING: Expected<'static> =
    Expected { kind: "Binding", api_version: "v1", message: "core.Binding", package: "core" };
const EVICTION: Expected<'static> =
    Expected { kind: "Eviction", api_version: "policy/v1", message: "policy.Eviction", package: "policy" };

/// The Scale of a workload.
pub(crate) fn scale_of(kind: &Kind, value: &Obj) -> Obj {
    let meta = path::meta(value);
    let mut scale_meta = Obj::new();
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        path::set(&mut scale_meta, key, meta.get(key).cloned());
    }
    let custom = kind.custom.as_ref().map(|c| &c.scale);
    let count = |custom: Option<&Vec<String>>, usual: [&str; 2]| {
        custom.map_or_else(|| path::int(value, &usual), |p| path::int(value, p)).unwrap_or(0)
    };
    let selector = match path::at(value, &["spec", "selector"]) {
        _ if custom.is_some() => custom.map_or("", |c| path::text(value, &c.selector)).to_owned(),
        Some(Value::Object(labels)) if kind.group.is_empty() => {
            let pairs: Vec<String> =
                labels.iter().map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default())).collect();
            pairs.join(",")
        }
        Some(selector) => label_selector_text(selector),
        None => String::new(),
    };
    let scale = json!({
        "metadata": scale_meta,
        "spec": { "replicas": count(custom.map(|c| &c.replicas), ["spec", "replicas"]) },
        "status": { "replicas": count(custom.map(|c| &c.status_replicas), ["status", "replicas"]), "selector": selector },
    });
    decode::from_value(schema().id("autoscaling.Scale"), scale).map(|decoded| decoded.value).unwrap_or_default()
}

/// The Scale of the workload in an answer.
pub(crate) fn scale_of_answer(kind: &Kind, answer: Answer) -> Answer {
    match answer {
        Answer::Object { object, .. } => scale_answer(kind, &object.value()),
        other => other,
    }
}

fn scale_answer(kind: &Kind, value: &Obj) -> Answer {
    Answer::Value {
        status: 200,
        message: SCALE.message,
        kind: SCALE.kind,
        api_version: SCALE.api_version.to_owned(),
        value: scale_of(kind, value),
    }
}

impl ApiServer {
    pub(crate) fn read_scale(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let object = self.find(cx)?;
        Ok(scale_answer(cx.kind(), &object.value()))
    }

    pub(crate) fn write_scale(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let put = cx.request.method == "PUT";
        validate_options(cx, if put { "UpdateOptions" } else { "PatchOptions" })?;
        let scale = if put { Some(decode_body(cx, &SCALE)?) } else { None };
        let old = self.find(cx)?;
        let value = old.value();
        let content = cx.request.header("content-type").unwrap_or_default();
        if content.starts_with("application/apply-patch+yaml") {
            return self.apply_scale(cx, &old);
        }
        let scale = match scale {
            Some(scale) => scale,
            None => patched(cx, schema().id(SCALE.message), SCALE.kind, SCALE.api_version, &scale_of(kind, &value))?,
        };
        let name = path::meta_text(&scale, "name");
        if name != cx.place.name {
            return Err(ApiError::bad_request(if name.is_empty() {
                format!(
                    "the name of the object ({} based on URL) was undeterminable: name must be provided",
                    cx.place.name
                )
            } else {
                format!("the name of the object ({name}) does not match the name on the URL ({})", cx.place.name)
            }));
        }
        self.set_scale(cx, &old, &scale)
    }

    /// Writes what a Scale says into the workload.
    pub(crate) fn set_scale(
        &mut self,
        cx: &mut Context<'_>,
        old: &Arc<Object>,
        scale: &Obj,
    ) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let replicas = path::int(scale, &["spec", "replicas"]).unwrap_or(0);
        if replicas < 0 {
            let cause = Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0");
            return Err(ApiError::invalid("autoscaling", "Scale", &old.key.name, &[cause]));
        }
        self.check_version(cx, old, scale)?;
        let uid = path::meta_text(scale, "uid");
        if !uid.is_empty() && *uid != *old.uid {
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", old.uid);
            return Err(ApiError::conflict(kind.subject(), &old.key.name, &why));
        }
        let before = old.value();
        let mut value = Obj::clone(&before);
        let usual = ["spec".to_owned(), "replicas".to_owned()];
        let place = kind.custom.as_ref().map_or(&usual[..], |c| &c.scale.replicas);
        if let Some((last, above)) = place.split_last() {
            path::map_mut(&mut value, above).insert(last.clone(), replicas.into());
        }
        self.record_managers(cx, Some(&before), &mut value, "scale", true);
        if before.get("spec") != value.get("spec") {
            let generation = path::int(&before, &["metadata", "generation"]).unwrap_or(0) + 1;
            path::meta_mut(&mut value).insert("generation".into(), generation.into());
        }
        let answer = self.commit(cx, old, &before, value)?;
        Ok(scale_of_answer(kind, answer))
    }

    /// POST of a binding: a scheduler's decision.
    pub(crate) fn bind(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        validate_options(cx, "CreateOptions")?;
        let binding = decode_body(cx, &BINDING)?;
        let name = path::meta_text(&binding, "name");
        if !name.is_empty() && name != cx.place.name {
            return Err(ApiError::bad_request("name in URL does not match name in Binding object"));
        }
        let target = path::text(&binding, &["target", "name"]).to_owned();
        let kind = path::text(&binding, &["target", "kind"]);
        let mut causes = Vec::new();
        if !kind.is_empty() && kind != "Node" {
            causes.push(Cause::not_supported("target.kind", kind, &["Node", "<empty>"]));
        }
        if target.is_empty() {
            causes.push(Cause::required("target.name", ""));
        }
        if !causes.is_empty() {
            let error = ApiError::invalid("", "Binding", name, &causes);
            let text = error.message.split_once(": ").map(|(_, t)| t.to_owned()).unwrap_or_default();
            return Err(ApiError::internal(text));
        }
        let old = self.find(cx)?;
        let mut value = Obj::clone(&old.value());
        let refuse =
            |why: &str| ApiError::conflict(Subject { group: "", resource: "pods/binding" }, &cx.place.name, why);
        if path::meta(&value).contains_key("deletionTimestamp") {
            return Err(refuse(&format!("pod {} is being deleted, cannot be assigned to a host", cx.place.name)));
        }
        let node = path::text(&value, &["spec", "nodeName"]);
        if !node.is_empty() {
            return Err(refuse(&format!("pod {} is already assigned to node \"{node}\"", cx.place.name)));
        }
        if !path::list(&value, &["spec", "schedulingGates"]).is_empty() {
            return Err(refuse(&format!("pod {} has non-empty .spec.schedulingGates", cx.place.name)));
        }
        path::map_mut(&mut value, &["spec"]).insert("nodeName".into(), target.into());
        for key in ["annotations", "labels"] {
            for (k, v) in path::map(&binding, &["metadata", key]).into_iter().flatten() {
                path::map_mut(&mut value, &["metadata", key]).insert(k.clone(), v.clone());
            }
        }
        let time = rfc3339(cx.now.wall);
        set_condition(
            &mut value,
            json!({
                "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": time,
            }),
        );
        self.commit(cx, &old, &old.value(), value)?;
        Ok(Answer::Success { status: 201, details: None })
    }

    /// POST of an eviction: a deletion that a disruption budget could refuse (there are none here).
    pub(crate) fn evict(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        validate_options(cx, "CreateOptions")?;
        let eviction = decode_body(cx, &EVICTION)?;
        let name = path::meta_text(&eviction, "name");
        if !name.is_empty() && name != cx.place.name {
            return Err(ApiError::bad_request("name in URL does not match name in Eviction object"));
        }
        let options = path::map(&eviction, &["deleteOptions"]).cloned().unwrap_or_default();
        let mut options = DeleteOptions::from_value(&options)?;
        options.dry_run |= cx.dry_run();
        let old = self.find(cx)?;
        let mut value = Obj::clone(&old.value());
        let bound = !path::text(&value, &["spec", "nodeName"]).is_empty();
        if bound && !options.dry_run && !path::meta(&value).contains_key("deletionTimestamp") {
            let time = rfc3339(cx.now.wall);
            set_condition(
                &mut value,
                json!({
                    "type": "DisruptionTarget", "status": "True", "lastProbeTime": null, "lastTransitionTime": time,
                    "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
                }),
            );
            self.commit(cx, &old, &old.value(), value)?;
        }
        self.delete_object(cx.now, cx.kind(), &cx.key(), &options)?;
        Ok(Answer::Success { status: 201, details: None })
    }
}

/// Adds a condition, or replaces the one of its type.
fn set_condition(pod: &mut Obj, condition: Value) {
    let conditions = path::map_mut(pod, &["status"]).entry("conditions").or_insert_with(|| json!([]));
    let Value::Array(list) = conditions else {
        return;
    };
    match list.iter_mut().find(|c| c.get("type") == condition.get("type")) {
        Some(present) => *present = condition,
        None => list.push(condition),
    }
}
