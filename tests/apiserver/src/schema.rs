//! The schema of the served kinds: which fields an object has, in which order and with which
//! rules. One table drives everything that is generic: decoding with its errors and warnings,
//! the order of keys on the wire, protobuf, strategic merge patches and field ownership.
//!
//! The table is `schema/kubernetes.txt`; `schema/generate.py` derives it from the Go types of
//! Kubernetes 1.36.2 (their `json`, `protobuf` and `patchStrategy` tags and `+listType` markers). `schema/open.txt` adds the
//! objects that have no known shape.

use std::sync::OnceLock;

use hashbrown::HashMap;

/// Index of a [`Message`] in the [`Schema`].
pub(crate) type MessageId = usize;

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    /// Any JSON, whose objects are merged and owned by key.
    Any,
    Bool,
    Bytes,
    Duration,
    Float,
    Int32,
    Int64,
    IntOrString,
    List(Box<Self>),
    Map(Box<Self>),
    Message(MessageId),
    MicroTime,
    Quantity,
    /// Any JSON, kept as it is (`FieldsV1`, `RawExtension`).
    Raw,
    String,
    Time,
}

/// How a list is merged and owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListKind {
    Atomic,
    /// Items are known by the values of these fields.
    Map(Vec<&'static str>),
    /// Items are scalars and known by their value.
    Set,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) tag: u32,
    pub(crate) ty: Type,
    pub(crate) omitempty: bool,
    pub(crate) omitzero: bool,
    pub(crate) pointer: bool,
    pub(crate) list: ListKind,
    pub(crate) atomic: bool,
    /// The field comes from an embedded struct, which JSON flattens and protobuf nests under this tag.
    pub(crate) nested: Option<u32>,
    pub(crate) merge: bool,
    pub(crate) merge_key: &'static str,
    pub(crate) retain_keys: bool,
}

#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) name: &'static str,
    pub(crate) atomic: bool,
    pub(crate) fields: Vec<Field>,
    /// What fields are that are not named, if there may be such.
    pub(crate) rest: Option<Field>,
    by_name: HashMap<&'static str, usize>,
    /// Which fields are there even if nobody gave them a value.
    always: Vec<usize>,
    /// The same, a bit for each.
    always_mask: u128,
}

impl Message {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.place(name).map(|(_, field)| field)
    }

    /// A field, and which of the named ones it is, if it is one.
    pub(crate) fn place(&self, name: &str) -> Option<(Option<usize>, &Field)> {
        let named = self.position(name).map(|i| (Some(i), &self.fields[i]));
        named.or_else(|| self.rest.as_ref().map(|rest| (None, rest)))
    }

    /// Which of the fields it is that has this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The fields that are there even if nobody gave them a value.
    pub(crate) fn always(&self) -> impl Iterator<Item = &Field> {
        self.always.iter().map(|i| &self.fields[*i])
    }

    /// Whether all fields that are always there are among those whose bits are set.
    pub(crate) fn has_always(&self, fields: u128) -> bool {
        self.always_mask & !fields == 0
    }

    /// The Go name of the struct, without its package.
    pub(crate) fn go_name(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, n)| n)
    }
}

/// All messages.
#[derive(Debug)]
pub(crate) struct Schema {
    messages: Vec<Message>,
    ids: HashMap<&'static str, MessageId>,
}

impl Schema {
    pub(crate) fn message(&self, id: MessageId) -> &Message {
        &self.messages[id]
    }

    /// The message of that name, which the caller knows to exist.
    pub(crate) fn id(&self, name: &str) -> MessageId {
        *self.ids.get(name).expect("kinds name messages of kubernetes.txt")
    }

    fn parse(text: &'static str) -> Self {
        let heads = text.lines().filter(|l| !l.starts_with(' '));
        let ids: HashMap<&'static str, MessageId> =
            heads.enumerate().map(|(i, l)| (l.split(' ').next().unwrap_or(l), i)).collect();
        let mut messages: Vec<Message> = Vec::with_capacity(ids.len());
        let mut inline: Vec<(MessageId, usize, u32, MessageId)> = Vec::new();
        for line in text.lines() {
            let mut words = line.trim_start().split(' ');
            let name = words.next().unwrap_or_default();
            if !line.starts_with(' ') {
                let word = words.next();
                let (atomic, open) = (word == Some("atomic"), word == Some("open"));
                let rest = open.then(|| Field::new("", 0, Type::Any));
                messages.push(Message {
                    name,
                    atomic,
                    fields: Vec::new(),
                    rest,
                    by_name: HashMap::new(),
                    always: Vec::new(),
                    always_mask: 0,
                });
                continue;
            }
            let owner = messages.len() - 1;
            let tag = words.next().and_then(|w| w.parse().ok()).expect("kubernetes.txt has a tag for each field");
            let ty = parse_type(words.next().unwrap_or_default(), &ids);
            let mut field = Field::new(name, tag, ty);
            let mut is_inline = false;
            for word in words {
                match word.split_once('=').unwrap_or((word, "")) {
                    ("?", _) => field.omitempty = true,
                    ("zero", _) => field.omitzero = true,
                    ("*", _) => field.pointer = true,
                    ("inline", _) => is_inline = true,
                    ("list", "atomic") => field.list = ListKind::Atomic,
                    ("list", "set") => field.list = ListKind::Set,
                    ("list", keys) => field.list = ListKind::Map(keys.split(',').collect()),
                    ("atomic", _) => field.atomic = true,
                    ("merge", key) => (field.merge, field.merge_key) = (true, key),
                    ("retain", _) => field.retain_keys = true,
                    ("replace", _) => field.merge = false,
                    _ => unreachable!("kubernetes.txt has no word {word}"),
                }
            }
            if is_inline {
                let Type::Message(inner) = field.ty else { unreachable!("only structs are embedded") };
                inline.push((owner, messages[owner].fields.len(), tag, inner));
            } else {
                messages[owner].fields.push(field);
            }
        }
        // From the last to the first, so that positions stay right.
        for (owner, at, tag, inner) in inline.into_iter().rev() {
            let fields: Vec<Field> =
                messages[inner].fields.iter().map(|f| Field { nested: Some(tag), ..f.copy() }).collect();
            messages[owner].fields.splice(at..at, fields);
        }
        for m in &mut messages {
            m.by_name = m.fields.iter().enumerate().map(|(i, f)| (f.name, i)).collect();
            m.always = (0..m.fields.len()).filter(|i| m.fields[*i].is_always_there()).collect();
            assert!(m.fields.len() <= 128, "a bit for each field");
            m.always_mask = m.always.iter().map(|i| 1 << i).sum();
        }
        Self { messages, ids }
    }
}

impl Field {
    fn new(name: &'static str, tag: u32, ty: Type) -> Self {
        Self {
            name,
            tag,
            ty,
            omitempty: false,
            omitzero: false,
            pointer: false,
            list: ListKind::Atomic,
            atomic: false,
            nested: None,
            merge: false,
            merge_key: "",
            retain_keys: false,
        }
    }

    /// `omitempty` omits no struct, and nothing that has a marshaller of its own.
    fn is_always_there(&self) -> bool {
        use Type::{Duration, IntOrString, Message, MicroTime, Quantity, Time};
        let marshals = matches!(self.ty, Duration | IntOrString | Message(_) | MicroTime | Quantity | Time);
        !self.omitzero && (!self.omitempty || marshals && !self.pointer)
    }

    fn copy(&self) -> Self {
        Self { ty: self.ty.clone(), list: self.list.clone(), ..*self }
    }
}

fn parse_type(word: &'static str, ids: &HashMap<&'static str, MessageId>) -> Type {
    if let Some(item) = word.strip_prefix("[]") {
        return Type::List(Box::new(parse_type(item, ids)));
    }
    if let Some(item) = word.strip_prefix("{}") {
        return Type::Map(Box::new(parse_type(item, ids)));
    }
    match word {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "float64" => Type::Float,
        "int32" => Type::Int32,
        "int64" => Type::Int64,
        "intorstring" => Type::IntOrString,
        "microtime" => Type::MicroTime,
        "quantity" => Type::Quantity,
        "raw" => Type::Raw,
        "string" => Type::String,
        "time" => Type::Time,
        name => Type::Message(*ids.get(name).expect("kubernetes.txt is closed")),
    }
}

/// The message of objects that have metadata, and else no known shape.
pub(crate) const OPEN: &str = "custom.Object";

/// The one schema.
pub(crate) fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA
        .get_or_init(|| Schema::parse(concat!(include_str!("schema/kubernetes.txt"), include_str!("schema/open.txt"))))
}
