//! CustomResourceDefinitions (`apiextensions-apiserver` `pkg/registry/customresourcedefinition`,
//! `pkg/apis/apiextensions/validation`).

use serde_json::{Value, json};

use super::meta::{blame, label_faults, subdomain_faults};
use crate::error::Cause;
use crate::json;
use crate::store::Obj;
use crate::time::Now;

/// Holds a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// `SetDefaults_CustomResourceDefinitionSpec`.
pub(crate) fn default(definition: &mut Obj) {
    let spec = json::map_mut(definition, &["spec"]);
    json::default(spec, "conversion", json!({ "strategy": "None" }));
    let names = json::map_mut(spec, &["names"]);
    let kind = json::text(names, &["kind"]).to_owned();
    if json::text(names, &["singular"]).is_empty() {
        names.insert("singular".into(), kind.to_lowercase().into());
    }
    if json::text(names, &["listKind"]).is_empty() && !kind.is_empty() {
        names.insert("listKind".into(), format!("{kind}List").into());
    }
}

pub(crate) fn prepare_create(definition: &mut Obj, _now: Now) {
    definition.remove("status");
    let finalizers = json::map_mut(definition, &["metadata"]).entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(list) = finalizers
        && !list.iter().any(|f| f == FINALIZER)
    {
        list.push(FINALIZER.into());
    }
}

/// `ValidateCustomResourceDefinition`, as far as the server relies on it.
pub(crate) fn validate(definition: &Obj, causes: &mut Vec<Cause>) {
    let text = |p: &[&str]| json::text(definition, p);
    let (group, plural) = (text(&["spec", "group"]), text(&["spec", "names", "plural"]));
    let wanted = format!("{plural}.{group}");
    let name = json::meta_text(definition, "name");
    if name != wanted {
        causes.push(Cause::invalid("metadata.name", &name.into(), "must be spec.names.plural+\".\"+spec.group"));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if group.contains('.') {
        blame("spec.group", group, subdomain_faults(group), causes);
    } else {
        causes.push(Cause::invalid("spec.group", &group.into(), "should be a domain with at least one dot"));
    }
    match text(&["spec", "scope"]) {
        "Cluster" | "Namespaced" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        scope => causes.push(Cause::not_supported("spec.scope", scope, &["Cluster", "Namespaced"])),
    }
    for key in ["plural", "singular", "kind", "listKind"] {
        let (field, word) = (format!("spec.names.{key}"), text(&["spec", "names", key]));
        if word.is_empty() {
            causes.push(Cause::required(field, ""));
        } else {
            blame(&field, word, label_faults(&word.to_lowercase()), causes);
        }
    }
    if let strategy @ "Webhook" = text(&["spec", "conversion", "strategy"]) {
        // The real server would ask the webhook; this one has nobody to ask.
        causes.push(Cause::not_supported("spec.conversion.strategy", strategy, &["None"]));
    }
    validate_versions(json::list(definition, &["spec", "versions"]), causes);
}

fn validate_versions(versions: &[Value], causes: &mut Vec<Cause>) {
    if versions.is_empty() {
        causes.push(Cause::required("spec.versions", "must have exactly one version marked as storage version"));
        return;
    }
    let is = |v: &Value, key: &str| v.get(key) == Some(&Value::Bool(true));
    if versions.iter().filter(|v| is(v, "storage")).count() != 1 {
        let list = Value::from(versions.to_vec()).to_string();
        causes.push(Cause::invalid_text(
            "spec.versions",
            &list,
            "must have exactly one version marked as storage version",
        ));
    }
    let mut seen: Vec<&str> = Vec::new();
    for (i, version) in versions.iter().enumerate() {
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        let field = format!("spec.versions[{i}]");
        blame(&format!("{field}.name"), name, label_faults(name), causes);
        if seen.contains(&name) {
            causes.push(Cause::duplicate(format!("{field}.name"), &name.into()));
        }
        seen.push(name);
        if !version.pointer("/schema/openAPIV3Schema").is_some_and(Value::is_object) {
            causes.push(Cause::required(format!("{field}.schema.openAPIV3Schema"), "schemas are required"));
        }
        if let Some(scale) = version.pointer("/subresources/scale") {
            for (key, prefix) in [("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")] {
                let path = scale.get(key).and_then(Value::as_str).unwrap_or_default();
                if !path.starts_with(prefix) {
                    let detail = format!("should be a json path under {prefix}");
                    causes.push(Cause::invalid(format!("{field}.subresources.scale.{key}"), &path.into(), &detail));
                }
            }
        }
    }
}

/// What its objects are called and where they live cannot change.
pub(crate) fn validate_update(new: &Obj, old: &Obj, causes: &mut Vec<Cause>) {
    validate(new, causes);
    for path in [&["spec", "group"][..], &["spec", "scope"], &["spec", "names", "kind"], &["spec", "names", "plural"]] {
        if json::at(new, path) != json::at(old, path) {
            let value = json::at(new, path).cloned().unwrap_or_default();
            causes.push(Cause::invalid(path.join("."), &value, "field is immutable"));
        }
    }
}
