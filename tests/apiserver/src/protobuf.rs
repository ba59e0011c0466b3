//! Protobuf as Kubernetes speaks it: the magic bytes, an envelope, and messages by the tags of
//! the schema (apimachinery `pkg/runtime/serializer/protobuf`).
//!
//! Values are converted from and to the normal form of JSON. As the Go code does, scalars that are no
//! pointers are written even when they are zero, and fields go by rising tag.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use crate::schema::{Field, MessageId, Type, schema};
use crate::store::Obj;

mod read;

pub(crate) use read::decode;

const MAGIC: &[u8] = b"k8s\0";
/// In nanoseconds.
const SECOND: i64 = 1_000_000_000;

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(u8::try_from(n & 0x7f).unwrap_or(0) | 0x80);
        n >>= 7;
    }
    out.push(u8::try_from(n).unwrap_or(0));
}

fn bytes(tag: u32, data: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(tag) << 3 | 2, out);
    varint(data.len() as u64, out);
    out.extend_from_slice(data);
}

fn number(tag: u32, n: i64, out: &mut Vec<u8>) {
    varint(u64::from(tag) << 3, out);
    varint(n.cast_unsigned(), out);
}

/// The protobuf message of an object, without envelope. `message` is the name of its type with that of its package, such as `core.Pod`.
///
/// # Panics
/// There is no such message.
#[must_use]
pub fn encode(message: &str, object: &Obj) -> Vec<u8> {
    let mut bytes = Vec::new();
    self::message(schema().id(message), object, &mut bytes);
    bytes
}

/// Appends an object with magic and envelope.
pub(crate) fn envelope(kind: &str, api_version: &str, id: MessageId, value: &Obj, out: &mut Vec<u8>) {
    let mut raw = Vec::new();
    message(id, value, &mut raw);
    wrap(kind, api_version, &raw, out);
}

/// Appends a list with magic and envelope.
pub(crate) fn list_envelope(
    kind: &str,
    api_version: &str,
    id: MessageId,
    metadata: &Obj,
    items: &[Arc<Obj>],
    out: &mut Vec<u8>,
) {
    let mut raw = Vec::new();
    let mut part = Vec::new();
    message(schema().id("meta.ListMeta"), metadata, &mut part);
    bytes(1, &part, &mut raw);
    for item in items {
        part.clear();
        message(id, item, &mut part);
        bytes(2, &part, &mut raw);
    }
    wrap(kind, api_version, &raw, out);
}

fn wrap(kind: &str, api_version: &str, raw: &[u8], out: &mut Vec<u8>) {
    let mut type_meta = Vec::new();
    bytes(1, api_version.as_bytes(), &mut type_meta);
    bytes(2, kind.as_bytes(), &mut type_meta);
    out.extend_from_slice(MAGIC);
    bytes(1, &type_meta, out);
    bytes(2, raw, out);
    bytes(3, b"", out);
    bytes(4, b"", out);
}

/// Appends a watch event around an enveloped object, with its length in front.
pub(crate) fn watch_frame(event: &str, object: &[u8], out: &mut Vec<u8>) {
    let mut extension = Vec::with_capacity(object.len() + 8);
    bytes(1, object, &mut extension);
    let mut frame = Vec::with_capacity(object.len() + 32);
    bytes(1, event.as_bytes(), &mut frame);
    bytes(2, &extension, &mut frame);
    out.extend_from_slice(&u32::try_from(frame.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&frame);
}

/// Appends a message without envelope.
fn message(id: MessageId, value: &Obj, out: &mut Vec<u8>) {
    let m = schema().message(id);
    let mut order: Vec<(u32, &Field)> = m.fields.iter().map(|f| (f.nested.unwrap_or(f.tag), f)).collect();
    order.sort_by_key(|(tag, f)| (*tag, f.tag));
    let mut i = 0;
    while i < order.len() {
        let (tag, field) = order[i];
        if field.nested.is_none() {
            emit(field, value.get(field.name), out);
            i += 1;
            continue;
        }
        // The fields of an embedded struct are one message.
        let mut part = Vec::new();
        while i < order.len() && order[i].1.nested == Some(tag) {
            emit(order[i].1, value.get(order[i].1.name), &mut part);
            i += 1;
        }
        bytes(tag, &part, out);
    }
}

fn emit(field: &Field, value: Option<&Value>, out: &mut Vec<u8>) {
    let value = value.filter(|v| !v.is_null());
    match (&field.ty, value) {
        (Type::List(item), Some(Value::Array(list))) => list.iter().for_each(|v| scalar(field.tag, item, Some(v), out)),
        (Type::Map(item), Some(Value::Object(map))) => {
            for (k, v) in map {
                let mut entry = Vec::new();
                bytes(1, k.as_bytes(), &mut entry);
                scalar(2, item, Some(v), &mut entry);
                bytes(field.tag, &entry, out);
            }
        }
        (Type::List(_) | Type::Map(_), _) => {}
        (_, None) if field.pointer || matches!(field.ty, Type::Bytes) => {}
        (ty, v) => scalar(field.tag, ty, v, out),
    }
}

fn scalar(tag: u32, ty: &Type, value: Option<&Value>, out: &mut Vec<u8>) {
    let text = value.and_then(Value::as_str).unwrap_or_default();
    match ty {
        Type::Bool => number(tag, i64::from(value == Some(&Value::Bool(true))), out),
        Type::Int32 | Type::Int64 => number(tag, value.and_then(Value::as_i64).unwrap_or(0), out),
        Type::Float => {
            varint(u64::from(tag) << 3 | 1, out);
            out.extend_from_slice(&value.and_then(Value::as_f64).unwrap_or(0.0).to_le_bytes());
        }
        Type::String => bytes(tag, text.as_bytes(), out),
        Type::Bytes => bytes(tag, &STANDARD.decode(text).unwrap_or_default(), out),
        Type::Message(id) => {
            let none = Obj::new();
            let mut part = Vec::new();
            message(*id, value.and_then(Value::as_object).unwrap_or(&none), &mut part);
            bytes(tag, &part, out);
        }
        Type::Quantity => {
            let mut part = Vec::new();
            bytes(1, text.as_bytes(), &mut part);
            bytes(tag, &part, out);
        }
        Type::Time | Type::MicroTime => {
            let mut part = Vec::new();
            if let Ok(t) = text.parse::<Timestamp>() {
                // The fraction goes forward from the second, before 1970 too.
                let nanos = i64::from(t.subsec_nanosecond());
                number(1, t.as_second() + nanos.div_euclid(SECOND), &mut part);
                number(2, nanos.rem_euclid(SECOND), &mut part);
            }
            bytes(tag, &part, out);
        }
        Type::IntOrString => {
            let mut part = Vec::new();
            let is_text = matches!(value, Some(Value::String(_)));
            number(1, i64::from(is_text), &mut part);
            number(2, value.and_then(Value::as_i64).unwrap_or(0), &mut part);
            bytes(3, text.as_bytes(), &mut part);
            bytes(tag, &part, out);
        }
        Type::Raw => {
            let mut part = Vec::new();
            if let Some(v) = value {
                bytes(1, v.to_string().as_bytes(), &mut part);
            }
            bytes(tag, &part, out);
        }
        Type::Any | Type::Duration | Type::List(_) | Type::Map(_) => {}
    }
}
