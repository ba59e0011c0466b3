//! Protobuf as Kubernetes speaks it: the magic bytes, an envelope, and messages by the tags of
//! the schema (apimachinery `pkg/runtime/serializer/protobuf`).
//!
//! Values are converted from and to the normal form of JSON. As the Go code does, scalars that are no
//! pointers are written even when they are zero, and fields go by rising tag.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::schema::{Field, MessageId, Type, schema};
use crate::store::Obj;
use crate::time::{rfc3339, rfc3339_micro};

const MAGIC: &[u8] = b"k8s\0";
/// Messages within messages, at most.
const MAX_DEPTH: usize = 64;

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
    items: &[Obj],
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
                number(1, t.as_second(), &mut part);
                number(2, i64::from(t.subsec_nanosecond()), &mut part);
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
        Type::Duration | Type::List(_) | Type::Map(_) => {}
    }
}

/// Decodes an enveloped object: its kind, apiVersion and value.
///
/// # Errors
/// What is wrong with the bytes.
pub(crate) fn decode(data: &[u8], id: MessageId) -> Result<(String, String, Obj), String> {
    let Some(rest) = data.strip_prefix(MAGIC) else {
        return Err("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".to_owned());
    };
    let (mut kind, mut api_version, mut raw) = (String::new(), String::new(), &[][..]);
    for part in Parts(rest) {
        match part? {
            (1, Part::Bytes(type_meta)) => {
                for part in Parts(type_meta) {
                    match part? {
                        (1, Part::Bytes(b)) => {
                            api_version = String::from_utf8_lossy(b).into_owned();
                        }
                        (2, Part::Bytes(b)) => kind = String::from_utf8_lossy(b).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Part::Bytes(b)) => raw = b,
            _ => {}
        }
    }
    let mut value = Obj::new();
    read_message(id, raw, &mut value, 0)?;
    Ok((kind, api_version, value))
}

enum Part<'a> {
    Bytes(&'a [u8]),
    Number(u64),
}

/// The fields of a message in order.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn varint(&mut self) -> Result<u64, String> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first().ok_or("unexpected EOF")?;
            self.0 = rest;
            n |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        if n > self.0.len() {
            return Err("unexpected EOF".to_owned());
        }
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(head)
    }

    fn field(&mut self) -> Result<(u32, Part<'a>), String> {
        let head = self.varint()?;
        let tag = u32::try_from(head >> 3).map_err(|_| "proto: illegal tag")?;
        let part = match head & 7 {
            0 => Part::Number(self.varint()?),
            1 => Part::Number(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| "unexpected EOF")?)),
            2 => {
                let len = usize::try_from(self.varint()?).map_err(|_| "unexpected EOF")?;
                Part::Bytes(self.take(len)?)
            }
            5 => Part::Number(u64::from(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| "unexpected EOF")?))),
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        Ok((tag, part))
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<(u32, Part<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let item = self.field();
        if item.is_err() {
            self.0 = &[];
        }
        Some(item)
    }
}

fn read_message(id: MessageId, data: &[u8], out: &mut Obj, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("proto: too deeply nested".to_owned());
    }
    let m = schema().message(id);
    for part in Parts(data) {
        let (tag, part) = part?;
        if let Some(field) = m.fields.iter().find(|f| f.nested.is_none() && f.tag == tag) {
            read_field(field, part, out, depth)?;
        } else if let Part::Bytes(inner) = part {
            for part in Parts(inner) {
                let (inner_tag, part) = part?;
                if let Some(field) = m.fields.iter().find(|f| f.nested == Some(tag) && f.tag == inner_tag) {
                    read_field(field, part, out, depth)?;
                }
            }
        }
    }
    Ok(())
}

fn read_field(field: &Field, part: Part<'_>, out: &mut Obj, depth: usize) -> Result<(), String> {
    match &field.ty {
        Type::List(item) => {
            if let Some(v) = read_value(item, part, depth)?
                && let Value::Array(list) = out.entry(field.name).or_insert_with(|| Value::Array(Vec::new()))
            {
                list.push(v);
            }
        }
        Type::Map(item) => {
            let Part::Bytes(entry) = part else {
                return Ok(());
            };
            let (mut key, mut value) = (String::new(), None);
            for part in Parts(entry) {
                match part? {
                    (1, Part::Bytes(b)) => key = String::from_utf8_lossy(b).into_owned(),
                    (2, part) => value = read_value(item, part, depth)?,
                    _ => {}
                }
            }
            if let (Some(v), Value::Object(map)) =
                (value, out.entry(field.name).or_insert_with(|| Value::Object(Map::new())))
            {
                map.insert(key, v);
            }
        }
        ty => {
            if let Some(v) = read_value(ty, part, depth)? {
                out.insert(field.name.to_owned(), v);
            }
        }
    }
    Ok(())
}

fn read_value(ty: &Type, part: Part<'_>, depth: usize) -> Result<Option<Value>, String> {
    Ok(match (ty, part) {
        (Type::Bool, Part::Number(n)) => Some(Value::Bool(n != 0)),
        (Type::Int32 | Type::Int64, Part::Number(n)) => Some(n.cast_signed().into()),
        (Type::Float, Part::Number(n)) => Some(f64::from_bits(n).into()),
        (Type::String, Part::Bytes(b)) => Some(String::from_utf8_lossy(b).into()),
        (Type::Bytes, Part::Bytes(b)) => Some(STANDARD.encode(b).into()),
        (Type::Message(id), Part::Bytes(b)) => {
            let mut map = Obj::new();
            read_message(*id, b, &mut map, depth + 1)?;
            Some(Value::Object(map))
        }
        (Type::Quantity, Part::Bytes(b)) => match Parts(b).next() {
            Some(Ok((1, Part::Bytes(text)))) => Some(String::from_utf8_lossy(text).into()),
            _ => None,
        },
        (Type::Time | Type::MicroTime, Part::Bytes(b)) => {
            let (mut seconds, mut nanos) = (None, 0);
            for part in Parts(b) {
                match part? {
                    (1, Part::Number(n)) => seconds = Some(n.cast_signed()),
                    (2, Part::Number(n)) => nanos = i32::try_from(n).unwrap_or(0),
                    _ => {}
                }
            }
            let time = seconds.and_then(|s| Timestamp::new(s, nanos).ok());
            time.map(|t| if *ty == Type::Time { rfc3339(t) } else { rfc3339_micro(t) }.into())
        }
        (Type::IntOrString, Part::Bytes(b)) => {
            let (mut kind, mut int, mut text) = (0, 0, String::new());
            for part in Parts(b) {
                match part? {
                    (1, Part::Number(n)) => kind = n,
                    (2, Part::Number(n)) => int = n.cast_signed(),
                    (3, Part::Bytes(s)) => text = String::from_utf8_lossy(s).into_owned(),
                    _ => {}
                }
            }
            Some(if kind == 0 { int.into() } else { text.into() })
        }
        (Type::Raw, Part::Bytes(b)) => match Parts(b).next() {
            Some(Ok((1, Part::Bytes(text)))) => serde_json::from_slice(text).ok(),
            _ => None,
        },
        _ => None,
    })
}
