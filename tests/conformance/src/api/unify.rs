//! Unification of recorded text with what a server says.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The classes of symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
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

struct Kind {
    class: Class,
    /// Never bound.
    anonymous: bool,
    /// Different symbols have different values.
    injective: bool,
}

fn kind(name: &str) -> Option<Kind> {
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
    fn prefixes(self, text: &str) -> Vec<usize> {
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
enum Part<'a> {
    Literal(&'a str),
    Symbol { text: &'a str, kind: Kind, named: bool },
}

fn parts(text: &str) -> Vec<Part<'_>> {
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

/// What the symbols stand for in this run.
#[derive(Debug, Clone, Default)]
pub(super) struct Bindings {
    values: BTreeMap<String, String>,
    /// The wall time (in seconds) at which each symbol was bound.
    when: BTreeMap<String, i64>,
    now: i64,
}

impl Bindings {
    pub(super) fn set(&mut self, symbol: &str, value: &str) {
        self.values.insert(symbol.to_owned(), value.to_owned());
    }

    pub(super) fn set_now(&mut self, now: i64) {
        self.now = now;
    }

    pub(super) fn get(&self, symbol: &str) -> Option<&str> {
        self.values.get(symbol).map(String::as_str)
    }

    pub(super) fn bound_at(&self, symbol: &str) -> Option<i64> {
        self.when.get(symbol).copied()
    }

    /// Puts values for symbols.
    pub(super) fn resolve(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        for part in parts(text) {
            match part {
                Part::Literal(l) => out.push_str(l),
                Part::Symbol { text, .. } => match self.values.get(text) {
                    Some(v) => out.push_str(v),
                    None => return Err(format!("unbound symbol {text}")),
                },
            }
        }
        Ok(out)
    }

    pub(super) fn resolve_json(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(s) => Value::String(self.resolve(s)?),
            Value::Array(list) => list.iter().map(|v| self.resolve_json(v)).collect::<Result<_, _>>()?,
            Value::Object(map) => {
                let mut out = Map::new();
                for (k, v) in map {
                    out.insert(self.resolve(k)?, self.resolve_json(v)?);
                }
                Value::Object(out)
            }
            other => other.clone(),
        })
    }

    /// Matches a text; the new bindings, or `None`.
    fn matches(&self, want: &str, got: &str) -> Option<Vec<(String, String)>> {
        let parts = parts(want);
        let mut bound = Vec::new();
        self.step(&parts, got, &mut bound).then_some(bound)
    }

    fn step(&self, parts: &[Part<'_>], got: &str, bound: &mut Vec<(String, String)>) -> bool {
        let Some((first, rest)) = parts.split_first() else {
            return got.is_empty();
        };
        match first {
            Part::Literal(l) => got.strip_prefix(l).is_some_and(|g| self.step(rest, g, bound)),
            Part::Symbol { text, kind, named } => {
                if *named {
                    let known =
                        self.values.get(*text).or_else(|| bound.iter().find(|(s, _)| s == text).map(|(_, v)| v));
                    if let Some(value) = known.cloned() {
                        return got.strip_prefix(value.as_str()).is_some_and(|g| self.step(rest, g, bound));
                    }
                }
                for len in kind.class.prefixes(got) {
                    let before = bound.len();
                    if *named && !kind.anonymous {
                        bound.push(((*text).to_owned(), got[..len].to_owned()));
                    }
                    if self.step(rest, &got[len..], bound) {
                        return true;
                    }
                    bound.truncate(before);
                }
                false
            }
        }
    }

    /// Unifies a text.
    pub(super) fn text(&mut self, want: &str, got: &str, place: &str, out: &mut Vec<String>) {
        if want == got {
            return;
        }
        let Some(bound) = self.matches(want, got) else {
            let want = self.partly_resolved(want);
            out.push(format!("{place}: want {}, got {}", shorten(&want), shorten(got)));
            return;
        };
        for (symbol, value) in bound {
            let class = symbol[1..].split([':', '>']).next().unwrap_or_default().to_owned();
            if kind(&class).is_some_and(|k| k.injective) {
                let prefix = format!("<{class}:");
                for (other, v) in &self.values {
                    if other.starts_with(&prefix) && *v == value {
                        out.push(format!("{place}: {symbol} must differ from {other}, but both are {value}"));
                    }
                }
            }
            self.when.insert(symbol.clone(), self.now);
            self.values.insert(symbol, value);
        }
    }

    fn partly_resolved(&self, want: &str) -> String {
        parts(want)
            .iter()
            .map(|p| match p {
                Part::Literal(l) => (*l).to_owned(),
                Part::Symbol { text, .. } => match self.values.get(*text) {
                    Some(v) => format!("{text}={v}"),
                    None => (*text).to_owned(),
                },
            })
            .collect()
    }

    /// Unifies a value. Objects are compared without regard to the order of keys.
    pub(super) fn value(&mut self, want: &Value, got: &Value, place: &str, out: &mut Vec<String>) {
        match (want, got) {
            (Value::String(w), _) if w == "<any>" => {}
            (Value::String(w), Value::String(g)) => self.text(w, g, place, out),
            (Value::Object(w), Value::Object(g)) => self.object(w, g, place, out),
            (Value::Array(w), Value::Array(g)) => {
                if w.len() != g.len() {
                    let shown = shorten(&got.to_string());
                    out.push(format!("{place}: want {} elements, got {}: {shown}", w.len(), g.len()));
                }
                for (i, (w, g)) in w.iter().zip(g).enumerate() {
                    self.value(w, g, &format!("{place}[{i}]"), out);
                }
            }
            _ if want == got => {}
            _ => out.push(format!("{place}: want {}, got {}", shorten(&want.to_string()), shorten(&got.to_string()))),
        }
    }

    fn object(&mut self, want: &Map<String, Value>, got: &Map<String, Value>, place: &str, out: &mut Vec<String>) {
        let mut seen: Vec<&String> = Vec::new();
        for (k, w) in want {
            let mut actual = got.get_key_value(k);
            if actual.is_none() {
                // A symbol inside a key.
                actual = got.iter().find(|(g, _)| {
                    !want.contains_key(*g)
                        && !seen.contains(g)
                        && self.matches(k, g).is_some_and(|b| {
                            b.into_iter().for_each(|(s, v)| drop(self.values.insert(s, v)));
                            true
                        })
                });
            }
            match actual {
                Some((name, g)) => {
                    seen.push(name);
                    self.value(w, g, &format!("{place}.{k}"), out);
                }
                None => out.push(format!("{place}.{k}: missing, want {}", shorten(&w.to_string()))),
            }
        }
        for (k, g) in got {
            if !seen.contains(&k) {
                out.push(format!("{place}.{k}: unexpected {}", shorten(&g.to_string())));
            }
        }
    }
}

/// Enough of a text for a line.
pub(super) fn shorten(text: &str) -> String {
    const MAX: usize = 700;
    if text.len() <= MAX {
        return text.to_owned();
    }
    let mut end = MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Bindings;

    #[test]
    fn a_symbol_keeps_its_value() {
        let mut b = Bindings::default();
        let mut out = Vec::new();
        b.value(&json!({"a": "<rv:1>", "b": "x <rv:1> y"}), &json!({"a": "17", "b": "x 17 y"}), "", &mut out);
        assert_eq!(out, Vec::<String>::new());
        b.text("<rv:1>", "18", "p", &mut out);
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn two_symbols_of_one_class_differ() {
        let mut b = Bindings::default();
        let mut out = Vec::new();
        b.text("<rv:1>", "5", "p", &mut out);
        b.text("<rv:2>", "5", "p", &mut out);
        assert_eq!(out.len(), 1, "{out:?}");
    }

    #[test]
    fn differences_name_their_place() {
        let mut b = Bindings::default();
        let mut out = Vec::new();
        b.value(&json!({"a": [1, {"b": 2}]}), &json!({"a": [1, {"b": 3}], "c": 0}), "body", &mut out);
        assert_eq!(out, ["body.a[1].b: want 2, got 3", "body.c: unexpected 0"]);
    }
}
