//! The stored form of an object, made from its value.

use std::sync::{Arc, Weak};

use serde_json::Value;

use crate::json;
use crate::kind::Kind;
use crate::store::{Key, Obj, Object};

/// The stored form of a value that has its version already.
pub(crate) fn build(kind: &Kind, value: &Obj, rv: u64) -> Object {
    let mut bytes = Vec::with_capacity(1024);
    crate::encode::message(kind.stored_message(), value, &mut bytes);
    let text = |v: &Value| v.as_str().unwrap_or_default().into();
    let labels = json::map(value, &["metadata", "labels"]).into_iter().flatten();
    let owners = json::list(value, &["metadata", "ownerReferences"]).iter();
    Object {
        key: Key::new(json::meta_text(value, "namespace"), json::meta_text(value, "name")),
        rv,
        uid: json::meta_text(value, "uid").into(),
        json: bytes.into_boxed_slice(),
        value: Weak::new(),
        labels: labels.map(|(k, v)| (k.as_str().into(), text(v))).collect(),
        fields: kind.fields.iter().map(|(_, path)| field_text(value, path)).collect(),
        owners: owners.filter_map(|o| o.get("uid")?.as_str()).map(Arc::from).collect(),
        deleting: json::meta(value).contains_key("deletionTimestamp"),
    }
}

/// A selectable field as text.
fn field_text(value: &Obj, path: &[String]) -> Box<str> {
    match json::at(value, path) {
        Some(Value::String(s)) => s.as_str().into(),
        Some(Value::Number(n)) => n.to_string().into(),
        Some(Value::Bool(b)) => b.to_string().into(),
        None if path.last().is_some_and(|k| *k == "hostNetwork" || *k == "unschedulable") => "false".into(),
        _ => "".into(),
    }
}
