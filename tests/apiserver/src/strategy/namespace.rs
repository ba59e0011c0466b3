//! Namespaces (`pkg/registry/core/namespace/strategy.go`).

use serde_json::{Value, json};

use crate::json;
use crate::store::Obj;
use crate::time::Now;

/// The label that repeats the name.
pub(crate) fn default(ns: &mut Obj) {
    let name = json::meta_text(ns, "name").to_owned();
    if !name.is_empty() {
        json::map_mut(ns, &["metadata", "labels"]).insert("kubernetes.io/metadata.name".into(), name.into());
    }
}

pub(crate) fn prepare_create(ns: &mut Obj, _now: Now) {
    ns.insert("status".into(), json!({ "phase": "Active" }));
    let spec = json::map_mut(ns, &["spec"]);
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(list) = finalizers
        && !list.contains(&json!("kubernetes"))
    {
        list.push("kubernetes".into());
    }
}

pub(crate) fn prepare_update(new: &mut Obj, old: &Obj) {
    let spec = json::at(old, &["spec", "finalizers"]).cloned();
    json::set(json::map_mut(new, &["spec"]), "finalizers", spec);
    super::keep_status(new, old);
}
