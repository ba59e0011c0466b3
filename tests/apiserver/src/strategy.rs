//! Strategies: defaults, admission and validation of each kind.

use crate::json;
use crate::store::Obj;
use crate::time::Now;

pub(crate) mod config_map;
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

/// A creator does not say what the status is.
pub(crate) fn clear_status(new: &mut Obj, _now: Now) {
    new.insert("status".into(), serde_json::json!({}));
}
