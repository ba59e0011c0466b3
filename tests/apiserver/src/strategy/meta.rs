//! Validation of metadata (apimachinery `pkg/api/validation/objectmeta.go`, `util/validation`).

use serde_json::{Value, json};

use crate::error::Cause;
use crate::json;
use crate::kind::{Kind, NameRule};
use crate::store::Obj;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

fn is_label_text(s: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !s.is_empty() && s.bytes().all(inner) && !s.starts_with('-') && !s.ends_with('-')
}

/// Why a text is no RFC 1123 label.
pub(crate) fn label_faults(s: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if s.len() > 63 {
        faults.push("must be no more than 63 bytes".to_owned());
    }
    if !is_label_text(s) {
        let dots = s.contains('.') && s.split('.').all(is_label_text);
        faults.push(if dots { "must not contain dots".to_owned() } else { LABEL.to_owned() });
    }
    faults
}

/// Why a text is no RFC 1123 subdomain.
pub(crate) fn subdomain_faults(s: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if s.len() > 253 {
        faults.push("must be no more than 253 bytes".to_owned());
    }
    if !s.split('.').all(is_label_text) {
        faults.push(SUBDOMAIN.to_owned());
    }
    faults
}

fn is_name_part(s: &str) -> bool {
    let b = s.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    matches!((b.first(), b.last()), (Some(f), Some(l)) if f.is_ascii_alphanumeric() && l.is_ascii_alphanumeric())
        && b.iter().all(inner)
}

/// Why a text is no qualified name (a label key).
pub(crate) fn qualified_name_faults(s: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = match s.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                faults.extend(subdomain_faults(prefix).into_iter().map(|f| format!("prefix part {f}")));
            }
            *name
        }
        _ => return vec![QUALIFIED.to_owned()],
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name_part(name) {
        faults.push(NAME_PART.to_owned());
    }
    faults
}

/// Why a text is no label value.
pub(crate) fn label_value_faults(s: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if s.len() > 63 {
        faults.push("must be no more than 63 bytes".to_owned());
    }
    if !s.is_empty() && !is_name_part(s) {
        faults.push(LABEL_VALUE.to_owned());
    }
    faults
}

/// Adds a cause for each fault of a text.
pub(crate) fn blame(field: &str, s: &str, faults: Vec<String>, causes: &mut Vec<Cause>) {
    causes.extend(faults.iter().map(|f| Cause::invalid(field, &s.into(), f)));
}

/// Labels under `field`.
pub(crate) fn validate_labels(labels: Option<&Obj>, field: &str, causes: &mut Vec<Cause>) {
    for (k, v) in labels.into_iter().flatten() {
        blame(field, k, qualified_name_faults(k), causes);
        let v = v.as_str().unwrap_or_default();
        blame(field, v, label_value_faults(v), causes);
    }
}

/// Annotations under `field`: qualified names (in lower case), 256 KiB at most in all.
pub(crate) fn validate_annotations(annotations: Option<&Obj>, field: &str, causes: &mut Vec<Cause>) {
    const MAX: usize = 256 * 1024;
    let mut size = 0;
    for (k, v) in annotations.into_iter().flatten() {
        blame(field, k, qualified_name_faults(&k.to_lowercase()), causes);
        size += k.len() + v.as_str().map_or(0, str::len);
    }
    if size > MAX {
        causes.push(Cause::too_long(field, MAX));
    }
}

/// `ValidateObjectMeta`.
pub(crate) fn validate(obj: &Obj, kind: &Kind, causes: &mut Vec<Cause>) {
    let meta = json::meta(obj);
    let faults = |s: &str| match kind.strategy.name {
        NameRule::Label => label_faults(s),
        NameRule::Subdomain => subdomain_faults(s),
    };
    let generate = json::text(meta, &["generateName"]);
    if !generate.is_empty() {
        // The suffix makes the last character valid.
        let masked = if generate.len() > 1 && generate.ends_with(['-', '.']) {
            format!("{}a", &generate[..generate.len() - 1])
        } else {
            generate.to_owned()
        };
        causes.extend(faults(&masked).iter().map(|f| Cause::invalid("metadata.generateName", &generate.into(), f)));
    }
    let name = json::text(meta, &["name"]);
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        blame("metadata.name", name, faults(name), causes);
    }
    let namespace = json::text(meta, &["namespace"]);
    if kind.namespaced && namespace.is_empty() {
        causes.push(Cause::required("metadata.namespace", ""));
    } else if !kind.namespaced && !namespace.is_empty() {
        causes.push(Cause::forbidden("metadata.namespace", "not allowed on this type"));
    }
    validate_common(meta, kind, causes);
}

/// What holds for metadata at any time.
pub(crate) fn validate_common(meta: &Obj, kind: &Kind, causes: &mut Vec<Cause>) {
    if json::int(meta, &["generation"]).is_some_and(|g| g < 0) {
        causes.push(Cause::invalid("metadata.generation", &meta["generation"], "must be greater than or equal to 0"));
    }
    validate_labels(json::map(meta, &["labels"]), "metadata.labels", causes);
    validate_annotations(json::map(meta, &["annotations"]), "metadata.annotations", causes);
    validate_owners(json::list(meta, &["ownerReferences"]), causes);
    for finalizer in json::list(meta, &["finalizers"]).iter().filter_map(Value::as_str) {
        let known = ["orphan", "foregroundDeletion", "kubernetes"].contains(&finalizer);
        // Only the kinds of Kubernetes itself ask for a domain and a slash.
        if finalizer.is_empty() || !known && !finalizer.contains('/') && !kind.is_open() {
            let faults = qualified_name_faults(finalizer);
            if faults.is_empty() {
                let detail = "name is neither a standard finalizer name nor is it fully qualified";
                causes.push(Cause::invalid("metadata.finalizers", &finalizer.into(), detail));
            } else {
                blame("metadata.finalizers", finalizer, faults, causes);
            }
        } else if !known {
            blame("metadata.finalizers", finalizer, qualified_name_faults(finalizer), causes);
        }
    }
}

/// `ValidateOwnerReferences`.
fn validate_owners(owners: &[Value], causes: &mut Vec<Cause>) {
    let text = |o: &Value, key: &str| o.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut controller: Option<String> = None;
    for owner in owners {
        let (api_version, kind) = (text(owner, "apiVersion"), text(owner, "kind"));
        let (name, uid) = (text(owner, "name"), text(owner, "uid"));
        let field = |f: &str| format!("metadata.ownerReferences.{f}");
        let version = api_version.rsplit('/').next().unwrap_or_default();
        if version.is_empty() {
            causes.push(Cause::invalid(field("apiVersion"), &api_version.clone().into(), "version must not be empty"));
        }
        for (key, value) in [("kind", &kind), ("name", &name), ("uid", &uid)] {
            if value.is_empty() {
                causes.push(Cause::invalid(field(key), &value.clone().into(), "must not be empty"));
            }
        }
        if kind == "Event" && api_version == "v1" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid_text("metadata.ownerReferences", &owner_text(owner), detail));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let this = format!("{kind}/{name}");
            match &controller {
                None => controller = Some(this),
                Some(other) => {
                    let all: Vec<String> = owners.iter().map(owner_text).collect();
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {other} and {this}"
                    );
                    let list = format!("[{}]", all.join(","));
                    causes.push(Cause::invalid_text("metadata.ownerReferences", &list, &detail));
                }
            }
        }
    }
}

fn owner_text(owner: &Value) -> String {
    let id = crate::schema::schema().id("meta.OwnerReference");
    let mut out = Vec::new();
    if let Value::Object(map) = owner {
        crate::encode::message(id, map, &mut out);
    }
    String::from_utf8(out).unwrap_or_default()
}

/// `ValidateObjectMetaUpdate`: what may not change.
pub(crate) fn validate_update(new: &Obj, old: &Obj, kind: &Kind, causes: &mut Vec<Cause>) {
    let (new, old) = (json::meta(new), json::meta(old));
    if old.contains_key("deletionTimestamp") {
        let had = json::list(old, &["finalizers"]);
        let added: Vec<String> =
            json::list(new, &["finalizers"]).iter().filter(|f| !had.contains(f)).map(ToString::to_string).collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &detail));
        }
    }
    if json::int(new, &["generation"]) < json::int(old, &["generation"]) {
        let value = new.get("generation").cloned().unwrap_or_else(|| json!(0));
        causes.push(Cause::invalid("metadata.generation", &value, "must not be decremented"));
    }
    for key in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new.get(key) != old.get(key) {
            let value = new.get(key).cloned().unwrap_or_else(|| {
                if key.starts_with("deletion") || key == "creationTimestamp" { Value::Null } else { Value::from("") }
            });
            causes.push(Cause::invalid(format!("metadata.{key}"), &value, "field is immutable"));
        }
    }
    validate_common(new, kind, causes);
}
