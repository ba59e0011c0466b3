//! Strategies: defaults, admission and validation of each kind.

use crate::json;
use crate::store::Obj;
use crate::time::Now;

pub(crate) mod config_map;
pub(crate) mod definition;
pub(crate) mod event;
pub(crate) mod lease;
pub(crate) mod meta;
pub(crate) mod namespace;
pub(crate) mod node;
pub(crate) mod pod;
mod pod_diff;
pub(crate) mod pod_spec;
pub(crate) mod workload;

/// An update of the main resource leaves the status alone.
pub(crate) fn keep_status(new: &mut Obj, old: &Obj) {
    json::set(new, "status", old.get("status").cloned());
}

/// An update of the status leaves the spec alone.
pub(crate) fn keep_spec(new: &mut Obj, old: &Obj, _now: Now) {
    json::set(new, "spec", old.get("spec").cloned());
}

/// An update of the status of an object without a known shape changes nothing else.
pub(crate) fn keep_all_but_status(new: &mut Obj, old: &Obj, _now: Now) {
    let (status, managed) = (new.remove("status"), json::meta_mut(new).remove("managedFields"));
    new.clone_from(old);
    json::set(new, "status", status);
    json::set(json::meta_mut(new), "managedFields", managed);
}

/// A creator does not say what the status is.
pub(crate) fn clear_status(new: &mut Obj, _now: Now) {
    new.insert("status".into(), serde_json::json!({}));
}
