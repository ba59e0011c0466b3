//! Keys of objects.

use sanskube::key::{Key, NamespacedName};
use sanskube::object::Object;
use serde_json::{Value, json};

use super::Check;
use super::recorded::{Objects, ops};

pub(super) fn replay(case: &Value, check: &mut Check) {
    let objects = Objects::of(case);
    for (place, name, op, want) in ops(case) {
        let text = |field: &str| op[field].as_str().unwrap_or_default();
        let got = match name {
            // A thing without metadata: the types rule it out.
            "meta_namespace_key" if op["obj"].is_null() => continue,
            "meta_namespace_key" => json!({"key": objects.object(&op["obj"]).key().as_str()}),
            "deletion_handling_key" => {
                let tombstone = op["tombstone"]["key"].as_str().map(Key::explicit);
                let key = tombstone.unwrap_or_else(|| objects.object(&op["obj"]).key());
                match key.split() {
                    Ok((namespace, name)) => json!({"key": key.as_str(), "namespace": namespace, "name": name}),
                    Err(_) => json!({"key": key.as_str(), "name_err": "key_format"}),
                }
            }
            "explicit_key" => json!({"key": Key::explicit(text("key")).as_str()}),
            "split_meta_namespace_key" => match Key::explicit(text("key")).split() {
                Ok((namespace, name)) => json!({"namespace": namespace, "name": name}),
                Err(_) => json!({"err": "key_format"}),
            },
            "object_name_string" => {
                let (namespace, name) = (text("namespace"), text("name"));
                json!({
                    "key": Key::new(namespace, name).as_str(),
                    "namespaced_name": NamespacedName { namespace, name }.to_string(),
                })
            }
            _ => json!({"err": "unknown op"}),
        };
        check.same(&place, want, &got);
    }
}
