//! Writes normalised values as JSON with the keys in the order of the Go structs.

use serde_json::{Map, Value};

use crate::schema::{MessageId, Type, schema};

/// Appends the object without `kind` and `apiVersion`, as a list has its items.
pub(crate) fn message(id: MessageId, map: &Map<String, Value>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut first = true;
    let message = schema().message(id);
    let mut named: Vec<(usize, &Value)> = map.iter().filter_map(|(k, v)| message.position(k).map(|i| (i, v))).collect();
    named.sort_unstable_by_key(|(i, _)| *i);
    for (i, v) in named {
        let field = &message.fields[i];
        separate(&mut first, out);
        // A name in Go needs no escape.
        out.push(b'"');
        out.extend_from_slice(field.name.as_bytes());
        out.extend_from_slice(b"\":");
        value(&field.ty, v, out);
    }
    if message.rest.is_some() {
        for (k, v) in map.iter().filter(|(k, _)| message.position(k).is_none()) {
            separate(&mut first, out);
            key(k, out);
            any(v, out);
        }
    }
    out.push(b'}');
}

/// Puts `kind` and `apiVersion` in front of an encoded object.
pub(crate) fn with_type_meta(kind: &str, api_version: &str, object: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":");
    string(kind, out);
    out.extend_from_slice(b",\"apiVersion\":");
    string(api_version, out);
    if object.len() > 2 {
        out.push(b',');
        out.extend_from_slice(&object[1..]);
    } else {
        out.push(b'}');
    }
}

/// Appends a value of that type.
pub(crate) fn typed(ty: &Type, v: &Value, out: &mut Vec<u8>) {
    value(ty, v, out);
}

fn value(ty: &Type, v: &Value, out: &mut Vec<u8>) {
    match (ty, v) {
        (Type::Message(id), Value::Object(map)) => message(*id, map, out),
        (Type::List(item), Value::Array(list)) => {
            out.push(b'[');
            let mut first = true;
            for v in list {
                separate(&mut first, out);
                value(item, v, out);
            }
            out.push(b']');
        }
        (Type::Map(item), Value::Object(map)) => {
            out.push(b'{');
            let mut first = true;
            for (k, v) in map {
                separate(&mut first, out);
                key(k, out);
                value(item, v, out);
            }
            out.push(b'}');
        }
        _ => any(v, out),
    }
}

/// Appends any JSON value, keys sorted.
pub(crate) fn any(v: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, v).expect("a JSON value is always writable to memory");
}

/// Appends a JSON string.
pub(crate) fn string(s: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, s).expect("a string is always writable to memory");
}

fn key(k: &str, out: &mut Vec<u8>) {
    string(k, out);
    out.push(b':');
}

fn separate(first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}
