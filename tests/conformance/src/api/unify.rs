//! Unification of recorded text with what a server says.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

mod symbol;

use symbol::{Part, kind, parts};

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
mod tests;
