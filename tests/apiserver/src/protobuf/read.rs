//! Reading protobuf.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::MAGIC;
use crate::schema::{Field, MessageId, Type, schema};
use crate::store::Obj;
use crate::time::{rfc3339, rfc3339_micro};

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
                    (2, Part::Number(n)) => nanos = i32::try_from(n.cast_signed()).unwrap_or(0),
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

/// Messages within messages, at most.
const MAX_DEPTH: usize = 64;
