//! Keys of objects.

use sanskube::key::{Key, NamespacedName};
use sanskube::object::Meta;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Check;

#[derive(Deserialize)]
struct Thing {
    metadata: Meta,
}

pub(super) fn replay(case: &Value, check: &mut Check) {
    for (i, op) in case["ops"].as_array().into_iter().flatten().enumerate() {
        let name = op["op"].as_str().unwrap_or_default();
        let text = |field: &str| op[field].as_str().unwrap_or_default();
        let got = match name {
            "meta_namespace_key" => match object_key(case, &op["obj"]) {
                Some(key) => json!({"key": key.as_str()}),
                // A thing without metadata: the types rule it out.
                None if op["obj"].is_null() => json!({"err": "no_meta"}),
                None => json!({"err": "not decoded"}),
            },
            "deletion_handling_key" => {
                let key = match op["tombstone"]["key"].as_str() {
                    Some(key) => Some(Key::explicit(key)),
                    None => object_key(case, &op["obj"]),
                };
                key.map_or(Value::Null, |key| match key.split() {
                    Ok((namespace, name)) => json!({"key": key.as_str(), "namespace": namespace, "name": name}),
                    Err(_) => json!({"key": key.as_str(), "name_err": "key_format"}),
                })
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
        check.same(&format!("op {i} {name}"), &op["want"], &got);
    }
}

fn object_key(case: &Value, object: &Value) -> Option<Key> {
    let object = &case["objects"][object.as_str()?];
    Some(Thing::deserialize(object).ok()?.metadata.key)
}
