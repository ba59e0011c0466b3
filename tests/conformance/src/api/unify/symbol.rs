//! Symbols in recorded text.

/// The classes of symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Age,
    Any,
    Digits,
    Etag,
    Hash,
    MicroTime,
    Suffix,
    Time,
    Token,
    Uid,
    Word,
}

pub(super) struct Kind {
    pub(super) class: Class,
    /// Never bound.
    pub(super) anonymous: bool,
    /// Different symbols have different values.
    pub(super) injective: bool,
}

pub(super) fn kind(name: &str) -> Option<Kind> {
    let (class, anonymous, injective) = match name {
        "uid" => (Class::Uid, false, true),
        "rv" => (Class::Digits, false, true),
        "lrv" => (Class::Digits, false, false),
        "sfx" => (Class::Suffix, false, true),
        "cont" => (Class::Word, false, true),
        "created" | "del" => (Class::Time, false, false),
        "time" | "now" => (Class::Time, true, false),
        "microtime" => (Class::MicroTime, true, false),
        "age" => (Class::Age, true, false),
        "etag" => (Class::Etag, false, false),
        "n" => (Class::Digits, true, false),
        "hash" => (Class::Hash, true, false),
        "any" => (Class::Any, true, false),
        "token" => (Class::Token, false, false),
        _ => return None,
    };
    Some(Kind { class, anonymous, injective })
}

impl Class {
    /// The lengths of prefixes of `text` that are of this class, longest first.
    pub(super) fn prefixes(self, text: &str) -> Vec<usize> {
        let while_ok = |ok: &dyn Fn(char) -> bool| text.find(|c| !ok(c)).unwrap_or(text.len());
        let fixed = |n: usize, ok: &dyn Fn(usize, u8) -> bool| {
            let bytes = text.as_bytes();
            if bytes.len() >= n && (0..n).all(|i| ok(i, bytes[i])) { vec![n] } else { Vec::new() }
        };
        let down_to =
            |max: usize, min: usize| (min..=max).rev().filter(|i| text.is_char_boundary(*i)).collect::<Vec<usize>>();
        match self {
            Self::Uid => fixed(36, &|i, b| {
                if [8, 13, 18, 23].contains(&i) { b == b'-' } else { b.is_ascii_hexdigit() }
            }),
            Self::Suffix => fixed(5, &|_, b| b"bcdfghjklmnpqrstvwxz2456789".contains(&b)),
            Self::Time => fixed(20, &time_byte),
            Self::MicroTime => fixed(27, &|i, b| match i {
                0..19 => time_byte(i, b),
                19 => b == b'.',
                26 => b == b'Z',
                _ => b.is_ascii_digit(),
            }),
            Self::Digits => down_to(while_ok(&|c| c.is_ascii_digit()), 1),
            Self::Hash => down_to(while_ok(&|c| c.is_ascii_hexdigit()), 1),
            Self::Word => down_to(while_ok(&|c| c.is_ascii_alphanumeric() || "_=-".contains(c)), 1),
            Self::Age => down_to(while_ok(&|c| c.is_ascii_digit() || "ydhms".contains(c)), 0),
            Self::Etag => {
                let end = text.strip_prefix('"').and_then(|t| t.find('"'));
                end.map(|e| vec![e + 2]).unwrap_or_default()
            }
            Self::Any => down_to(text.len(), 0),
            Self::Token => down_to(text.len(), 1),
        }
    }
}

fn time_byte(i: usize, b: u8) -> bool {
    match i {
        4 | 7 => b == b'-',
        10 => b == b'T',
        13 | 16 => b == b':',
        19 => b == b'Z',
        _ => b.is_ascii_digit(),
    }
}

/// A part of recorded text.
pub(super) enum Part<'a> {
    Literal(&'a str),
    Symbol { text: &'a str, kind: Kind, named: bool },
}

pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut list = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(open) = text[at..].find('<').map(|i| at + i) {
        let Some(close) = text[open..].find('>').map(|i| open + i + 1) else {
            break;
        };
        let inner = &text[open + 1..close - 1];
        let (name, id) = inner.split_once(':').unwrap_or((inner, ""));
        match kind(name) {
            Some(kind) if !inner.contains('<') => {
                if open > start {
                    list.push(Part::Literal(&text[start..open]));
                }
                list.push(Part::Symbol { text: &text[open..close], kind, named: !id.is_empty() });
                start = close;
                at = close;
            }
            _ => at = open + 1,
        }
    }
    if start < text.len() {
        list.push(Part::Literal(&text[start..]));
    }
    list
}
