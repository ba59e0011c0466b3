//! Tables of custom kinds.

use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells::age;
use crate::kind::custom::{Column, find};
use crate::store::Obj;

/// The column that tables of custom kinds begin with.
pub(super) static NAME: LazyLock<[Value; 1]> = LazyLock::new(|| {
    let description = "Name must be unique within a namespace.";
    [json!({ "name": "Name", "type": "string", "format": "name", "description": description, "priority": 0 })]
});

/// A cell of a custom kind (`apiextensions-apiserver` `pkg/registry/customresource/tableconvertor`).
pub(super) fn cell(column: &Column, value: &Obj, now: Timestamp) -> Value {
    match (find(value, &column.path), column.definition["type"].as_str()) {
        (Some(Value::String(time)), Some("date")) => json!(age(time, now)),
        (None, Some("date")) => json!("<unknown>"),
        (Some(Value::String(_)), Some("integer" | "number" | "boolean")) | (None, _) => Value::Null,
        (Some(v), Some("string")) if !v.is_string() => json!(v.to_string()),
        (Some(v), _) => v.clone(),
    }
}
