//! Typed decoding: JSON in, a normal form of the same JSON out.
//!
//! The normal form is what a Go struct would marshal to: unknown fields gone, zero values of
//! `omitempty` fields gone, required fields there. So equality of two values means that nothing
//! changed, and the encoder has only to order keys. Faults are worded as Go's decoder words them
//! (`sigs.k8s.io/json`), since clients show them to users.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::schema::{Field, Message, MessageId, Type, schema};

mod scalar;

use scalar::{illegal_base64, micro_time, time, time_fault};

/// What decoding found besides the value.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// `unknown field "spec.x"` and `duplicate field "data.k"`, in the order of the text.
    pub(crate) warnings: Vec<String>,
    /// The first type fault, which makes the whole value unusable.
    pub(crate) fault: Option<String>,
    type_meta: TypeMeta,
}

/// What an object says of its own type; the decoded value has it no more.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeMeta {
    /// `kind`, if it is there.
    pub(crate) kind: Option<String>,
    /// `apiVersion`, if it is there.
    pub(crate) api_version: Option<String>,
    /// One of them is no text, or stands there twice.
    pub(crate) odd: bool,
}

impl TypeMeta {
    fn note(&mut self, key: &str, value: Value) {
        let field = if key == "kind" { &mut self.kind } else { &mut self.api_version };
        self.odd |= field.is_some() || !value.is_string();
        if let Value::String(text) = value {
            *field = Some(text);
        }
    }
}

/// A decoded value, and what was found besides it.
pub(crate) struct Decoded {
    /// In normal form.
    pub(crate) value: Map<String, Value>,
    /// What it said of its type.
    pub(crate) type_meta: TypeMeta,
    /// `unknown field "spec.x"` and `duplicate field "data.k"`, in the order of the text.
    pub(crate) warnings: Vec<String>,
}

/// Decodes JSON text as `message`.
///
/// # Errors
/// The wording of the fault: a syntax error, or a value of the wrong type.
pub(crate) fn from_slice(message: MessageId, text: &[u8]) -> Result<Decoded, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let decoded = run(message, &mut deserializer)?;
    deserializer.end().map_err(|e| e.to_string())?;
    Ok(decoded)
}

/// Decodes (that is: checks and normalises) a JSON value as `message`.
///
/// # Errors
/// The wording of the fault: a value of the wrong type.
pub(crate) fn from_value(message: MessageId, value: Value) -> Result<Decoded, String> {
    run(message, value)
}

fn run<'de, D>(message: MessageId, input: D) -> Result<Decoded, String>
where
    D: Deserializer<'de>,
    D::Error: fmt::Display,
{
    let mut findings = Findings::default();
    let ty = Type::Message(message);
    let seed = Seed { ty: &ty, owner: None, path: &Path::Root, findings: &mut findings };
    let decoded = seed.deserialize(input);
    if let Some(fault) = findings.fault {
        return Err(fault);
    }
    let value = match decoded.map_err(|e| e.to_string())? {
        Value::Object(map) => map,
        // `null` is an object without fields.
        _ => zero_message(message),
    };
    Ok(Decoded { value, type_meta: findings.type_meta, warnings: findings.warnings })
}

/// The value a Go struct has before anything is set.
pub(crate) fn zero_message(id: MessageId) -> Map<String, Value> {
    let mut map = Map::new();
    complete(schema().message(id), &mut map);
    map
}

/// Drops what `omitempty` omits and adds what is always there.
fn complete(message: &Message, map: &mut Map<String, Value>) {
    // What is there is looked up in the message and not the other way around: objects have few of the fields they might have.
    map.retain(|key, v| {
        let named = message.position(key).map(|i| &message.fields[i]);
        !named.is_some_and(|f| is_left_out(f, v))
    });
    for field in message.always() {
        if !map.contains_key(field.name)
            && let Some(v) = absent(field)
        {
            map.insert(field.name.to_owned(), v);
        }
    }
}

/// What a field that was not given marshals to, if to anything.
fn absent(field: &Field) -> Option<Value> {
    if field.omitzero {
        return None;
    }
    match &field.ty {
        Type::Message(id) if !field.pointer => Some(Value::Object(zero_message(*id))),
        // A struct is never empty to `omitempty`; its marshaller writes null.
        Type::Time | Type::MicroTime if !field.pointer => Some(Value::Null),
        Type::Raw if !field.pointer && !field.omitempty => Some(Value::Null),
        Type::Quantity if !field.pointer => Some(Value::from("0")),
        Type::IntOrString if !field.pointer => Some(Value::from(0)),
        Type::Duration if !field.pointer => Some(Value::from("0s")),
        _ if field.omitempty => None,
        _ if field.pointer => Some(Value::Null),
        Type::Bool => Some(Value::Bool(false)),
        Type::Int32 | Type::Int64 | Type::Float => Some(Value::from(0)),
        Type::String => Some(Value::from("")),
        _ => Some(Value::Null),
    }
}

/// Whether a field that was given is not marshalled.
fn is_left_out(field: &Field, v: &Value) -> bool {
    v.is_null() || field.omitempty && !field.pointer && is_omitted(field, v)
}

fn is_omitted(field: &Field, v: &Value) -> bool {
    match v {
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0) && field.ty != Type::IntOrString,
        Value::String(s) => s.is_empty() && field.ty != Type::IntOrString,
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty() && matches!(field.ty, Type::Map(_)),
        Value::Null => true,
    }
}

/// Where a value sits, for messages.
enum Path<'a> {
    Root,
    Field(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl Path<'_> {
    /// As strict decoding names it: `spec.containers[0].name`.
    fn strict(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(Self::Root, name) => (*name).to_owned(),
            Self::Field(parent, name) => format!("{}.{name}", parent.strict()),
            Self::Index(parent, i) => format!("{}[{i}]", parent.strict()),
        }
    }

    /// As `UnmarshalTypeError` names it: without indexes.
    fn plain(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(Self::Root, name) => (*name).to_owned(),
            Self::Field(parent, name) => format!("{}.{name}", parent.plain()),
            Self::Index(parent, _) => parent.plain(),
        }
    }
}

struct Seed<'a> {
    ty: &'a Type,
    /// The struct whose field this is, for messages.
    owner: Option<&'static str>,
    path: &'a Path<'a>,
    findings: &'a mut Findings,
}

impl Seed<'_> {
    fn mismatch<T, E: serde::de::Error>(self, what: &str) -> Result<T, E> {
        let ty = go_type(self.ty);
        let place = match self.owner {
            Some(owner) => format!("struct field {owner}.{} of type {ty}", self.path.plain()),
            None => format!("value of type {ty}"),
        };
        self.fault(format!("json: cannot unmarshal {what} into Go {place}"))
    }

    fn fault<T, E: serde::de::Error>(self, text: String) -> Result<T, E> {
        self.findings.fault.get_or_insert(text);
        Err(E::custom("fault"))
    }

    fn number<E: serde::de::Error>(self, n: Number) -> Result<Value, E> {
        match self.ty {
            Type::Int32 | Type::Int64 => match n.as_i64() {
                Some(i) if *self.ty == Type::Int64 || i32::try_from(i).is_ok() => Ok(Value::Number(n)),
                _ => self.mismatch(&format!("number {n}")),
            },
            Type::Any | Type::Float | Type::Raw => Ok(Value::Number(n)),
            Type::IntOrString if n.as_i64().is_some() => Ok(Value::Number(n)),
            Type::Quantity => {
                Ok(Value::String(crate::quantity::canonical(&n.to_string()).unwrap_or_else(|| n.to_string())))
            }
            _ => self.mismatch("number"),
        }
    }

    fn text<E: serde::de::Error>(self, s: &str) -> Result<Value, E> {
        match self.ty {
            Type::Any | Type::String | Type::Raw | Type::IntOrString | Type::Duration => Ok(Value::from(s)),
            Type::Bytes => match illegal_base64(s) {
                None => Ok(Value::from(s)),
                Some(at) => self.fault(format!("illegal base64 data at input byte {at}")),
            },
            Type::Quantity => match crate::quantity::canonical(s) {
                Some(q) => Ok(Value::String(q)),
                None => self.fault(
                    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                        .to_owned(),
                ),
            },
            Type::Time if s.is_empty() => Ok(Value::Null),
            Type::Time => match time(s) {
                Some(t) => Ok(Value::String(t)),
                None => {
                    let text = time_fault(s, "2006-01-02T15:04:05Z07:00");
                    self.fault(text)
                }
            },
            Type::MicroTime => match micro_time(s) {
                Some(t) => Ok(Value::String(t)),
                None => {
                    let text = time_fault(s, "2006-01-02T15:04:05.000000Z07:00");
                    self.fault(text)
                }
            },
            _ => self.mismatch("string"),
        }
    }
}

fn go_type(ty: &Type) -> String {
    match ty {
        Type::Any => "interface {}".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Bytes => "[]uint8".to_owned(),
        Type::Duration => "v1.Duration".to_owned(),
        Type::Float => "float64".to_owned(),
        Type::Int32 => "int32".to_owned(),
        Type::Int64 => "int64".to_owned(),
        Type::IntOrString => "intstr.IntOrString".to_owned(),
        Type::List(item) => format!("[]{}", go_type(item)),
        Type::Map(item) => format!("map[string]{}", go_type(item)),
        Type::Message(id) => format!("v1.{}", schema().message(*id).go_name()),
        Type::MicroTime => "v1.MicroTime".to_owned(),
        Type::Quantity => "resource.Quantity".to_owned(),
        Type::Raw => "runtime.RawExtension".to_owned(),
        Type::String => "string".to_owned(),
        Type::Time => "v1.Time".to_owned(),
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&go_type(self.ty))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, b: bool) -> Result<Value, E> {
        match self.ty {
            Type::Any | Type::Bool | Type::Raw => Ok(Value::Bool(b)),
            _ => self.mismatch("bool"),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Value, E> {
        self.number(n.into())
    }

    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Value, E> {
        self.number(n.into())
    }

    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Value, E> {
        match Number::from_f64(n) {
            Some(n) => self.number(n),
            None => self.mismatch("number"),
        }
    }

    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<Value, E> {
        self.text(s)
    }

    fn visit_string<E: serde::de::Error>(self, s: String) -> Result<Value, E> {
        match self.ty {
            Type::Any | Type::String | Type::Raw | Type::IntOrString | Type::Duration => Ok(Value::String(s)),
            _ => self.text(&s),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let item = match self.ty {
            Type::List(item) => item,
            Type::Any | Type::Raw => self.ty,
            _ => return self.mismatch("array"),
        };
        let mut list = Vec::new();
        loop {
            let path = Path::Index(self.path, list.len());
            let seed = Seed { ty: item, owner: self.owner, path: &path, findings: self.findings };
            match seq.next_element_seed(seed)? {
                Some(Value::Null) => list.push(zero_item(item)),
                Some(v) => list.push(v),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let message = match self.ty {
            Type::Message(id) => Some(schema().message(*id)),
            Type::Any | Type::Map(_) | Type::Raw => None,
            _ => return self.mismatch("object"),
        };
        // Of a message, which fields are there, and whether one must go again.
        let (mut seen, mut omits) = (0, false);
        while let Some(key) = access.next_key::<String>()? {
            let path = Path::Field(self.path, &key);
            let mut known = None;
            let (ty, owner) = match (message, self.ty) {
                // TypeMeta is inlined into every top level object.
                (Some(_), _) if matches!(self.path, Path::Root) && (key == "kind" || key == "apiVersion") => {
                    let value = access.next_value()?;
                    self.findings.type_meta.note(&key, value);
                    continue;
                }
                (Some(m), _) => match m.place(&key) {
                    Some((place, f)) => {
                        known = place.map(|place| (place, f));
                        (&f.ty, Some(m.go_name()))
                    }
                    None => {
                        self.findings.warnings.push(format!("unknown field \"{}\"", path.strict()));
                        access.next_value::<IgnoredAny>()?;
                        continue;
                    }
                },
                (None, Type::Map(item)) => (&**item, self.owner),
                (None, _) => (self.ty, self.owner),
            };
            let bit = known.map_or(0, |(place, _)| 1 << place);
            let is_second = if bit == 0 { map.contains_key(&key) } else { seen & bit != 0 };
            if is_second {
                self.findings.warnings.push(format!("duplicate field \"{}\"", path.strict()));
            }
            // The path of a map's value ends with the map's name.
            let value_path = if message.is_some() { &path } else { self.path };
            let strict = if message.is_some() { value_path } else { &path };
            let value = access.next_value_seed(Seed {
                ty,
                owner,
                path: strict_or(strict, value_path, ty),
                findings: self.findings,
            })?;
            seen |= bit;
            omits |= known.is_some_and(|(_, field)| is_left_out(field, &value));
            map.insert(key, value);
        }
        if let Some(m) = message {
            if omits || !m.has_always(seen) {
                complete(m, &mut map);
            }
        } else if let Type::Map(item) = self.ty {
            for v in map.values_mut().filter(|v| v.is_null()) {
                *v = zero_item(item);
            }
        }
        Ok(Value::Object(map))
    }
}

/// Scalars in a map are named by the map alone, structs in it by their key too.
fn strict_or<'a>(strict: &'a Path<'a>, plain: &'a Path<'a>, ty: &Type) -> &'a Path<'a> {
    if matches!(ty, Type::Any | Type::Message(_) | Type::Raw) { strict } else { plain }
}

fn zero_item(ty: &Type) -> Value {
    match ty {
        Type::Message(id) => Value::Object(zero_message(*id)),
        Type::String | Type::Bytes => Value::from(""),
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 | Type::Float => Value::from(0),
        Type::Quantity => Value::from("0"),
        _ => Value::Null,
    }
}
