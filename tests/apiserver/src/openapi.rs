//! OpenAPI v3, as far as kubectl asks: which kinds there are, what their fields are called, and that
//! writes know `fieldValidation`. Made from the schema; it has no descriptions.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::kind::{Kind, Kinds};
use crate::schema::{ListKind, MessageId, Type, schema};

fn document_path(kind: &Kind) -> String {
    if kind.group.is_empty() {
        format!("api/{}", kind.version)
    } else {
        format!("apis/{}/{}", kind.group, kind.version)
    }
}

/// `/openapi/v3`.
pub(crate) fn index(kinds: &Kinds) -> Value {
    let paths: Map<String, Value> = kinds
        .iter()
        .map(|k| {
            let path = document_path(k);
            let url = format!("/openapi/v3/{path}?hash=sanskube");
            (path, json!({ "serverRelativeURL": url }))
        })
        .collect();
    json!({ "paths": paths })
}

/// The document of one group and version.
pub(crate) fn document(kinds: &Kinds, path: &str) -> Option<Value> {
    let kinds: Vec<_> = kinds.iter().filter(|k| document_path(k) == path).collect();
    if kinds.is_empty() {
        return None;
    }
    let mut wanted: Vec<MessageId> = kinds.iter().map(|k| k.message()).collect();
    let mut seen: BTreeSet<MessageId> = BTreeSet::new();
    let mut schemas = Map::new();
    while let Some(id) = wanted.pop() {
        if seen.insert(id) {
            let (name, body) = message(id, &mut wanted);
            schemas.insert(name, body);
        }
    }
    let mut paths = Map::new();
    for kind in &kinds {
        let name = kind_name(kind);
        if let Some(custom) = &kind.custom {
            schemas.insert(name.clone(), custom_schema(&custom.schema));
        }
        let gvk = json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
        if let Some(Value::Object(body)) = schemas.get_mut(&name) {
            body.insert("x-kubernetes-group-version-kind".into(), json!([gvk]));
            if let Some(Value::Object(properties)) = body.get_mut("properties") {
                properties.insert("apiVersion".into(), json!({ "type": "string" }));
                properties.insert("kind".into(), json!({ "type": "string" }));
            }
        }
        let scope = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
        let base = format!("/{path}{scope}/{}", kind.resource);
        let parameter =
            |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } });
        let operation = |action: &str| {
            json!({
                "parameters": [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")],
                "responses": { "200": { "description": "OK" } },
                "x-kubernetes-action": action,
                "x-kubernetes-group-version-kind": gvk,
            })
        };
        paths.insert(base.clone(), json!({ "post": operation("post") }));
        paths.insert(format!("{base}/{{name}}"), json!({ "put": operation("put"), "patch": operation("patch") }));
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "v1.36.2+sanskube" },
        "paths": paths,
        "components": { "schemas": schemas },
    }))
}

/// The name of a kind's schema. Those of custom kinds begin with their group, backwards.
fn kind_name(kind: &Kind) -> String {
    if kind.custom.is_none() {
        return schema_name(kind.message());
    }
    let group: Vec<&str> = kind.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), kind.version, kind.kind)
}

/// The schema of a definition, with the metadata that every object has.
fn custom_schema(given: &Value) -> Value {
    let mut body = given.clone();
    let metadata =
        json!({ "allOf": [{ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }] });
    if let Value::Object(body) = &mut body {
        let properties = body.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert("metadata".into(), metadata);
        }
    }
    body
}

fn schema_name(id: MessageId) -> String {
    let (package, name) = schema().message(id).name.split_once('.').unwrap_or_default();
    let prefix = if package == "meta" { "io.k8s.apimachinery.pkg.apis.meta" } else { "io.k8s.api" };
    if package == "meta" { format!("{prefix}.v1.{name}") } else { format!("{prefix}.{package}.v1.{name}") }
}

fn message(id: MessageId, wanted: &mut Vec<MessageId>) -> (String, Value) {
    let m = schema().message(id);
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &m.fields {
        let mut body = property(&field.ty, wanted);
        match (&field.ty, &field.list) {
            (Type::List(_), ListKind::Map(keys)) => {
                body["x-kubernetes-list-type"] = "map".into();
                body["x-kubernetes-list-map-keys"] = json!(keys);
            }
            (Type::List(_), ListKind::Set) => body["x-kubernetes-list-type"] = "set".into(),
            (Type::List(_), ListKind::Atomic) => body["x-kubernetes-list-type"] = "atomic".into(),
            _ => {}
        }
        if field.merge {
            body["x-kubernetes-patch-strategy"] = "merge".into();
            if !field.merge_key.is_empty() {
                body["x-kubernetes-patch-merge-key"] = field.merge_key.into();
            }
        }
        properties.insert(field.name.to_owned(), body);
        if !field.omitempty && !field.pointer {
            required.push(field.name);
        }
    }
    let mut body = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        body["required"] = json!(required);
    }
    if m.atomic {
        body["x-kubernetes-map-type"] = "atomic".into();
    }
    (schema_name(id), body)
}

fn property(ty: &Type, wanted: &mut Vec<MessageId>) -> Value {
    match ty {
        Type::Bool => json!({ "type": "boolean" }),
        Type::Bytes => json!({ "type": "string", "format": "byte" }),
        Type::Duration | Type::Quantity | Type::String => json!({ "type": "string" }),
        Type::Float => json!({ "type": "number", "format": "double" }),
        Type::Int32 => json!({ "type": "integer", "format": "int32" }),
        Type::Int64 => json!({ "type": "integer", "format": "int64" }),
        Type::IntOrString => {
            json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }], "format": "int-or-string" })
        }
        Type::List(item) => json!({ "type": "array", "items": property(item, wanted) }),
        Type::Map(item) => {
            json!({ "type": "object", "additionalProperties": property(item, wanted) })
        }
        Type::Message(id) => {
            wanted.push(*id);
            json!({ "allOf": [{ "$ref": format!("#/components/schemas/{}", schema_name(*id)) }] })
        }
        Type::MicroTime | Type::Time => json!({ "type": "string", "format": "date-time" }),
        Type::Any | Type::Raw => json!({ "type": "object" }),
    }
}
