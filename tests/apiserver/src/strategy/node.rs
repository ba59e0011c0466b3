//! Nodes: what capacity means for allocatable, and the taint a new node begins with.

use serde_json::{Value, json};

use crate::json;
use crate::store::Obj;

/// `SetDefaults_NodeStatus`: allocatable is the capacity unless it is said.
pub(crate) fn default(node: &mut Obj) {
    if let Some(capacity) = json::at(node, &["status", "capacity"]).cloned() {
        json::default(json::map_mut(node, &["status"]), "allocatable", capacity);
    }
}

/// The TaintNodesByCondition plugin.
pub(crate) fn admit(node: &mut Obj) -> Result<(), String> {
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    let taints = json::map_mut(node, &["spec"]).entry("taints").or_insert_with(|| json!([]));
    if let Value::Array(list) = taints
        && !list.contains(&taint)
    {
        list.push(taint);
    }
    Ok(())
}
