//! YAML: as a way to write the JSON of requests and answers.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// Nodes of a document, at most: aliases can make a small text large.
const MAX_NODES: usize = 100_000;
/// Lists and maps within one another, at most.
const MAX_DEPTH: usize = 100;

/// A list or map that is not complete.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

/// Parses one document; plain scalars are resolved as Go's YAML 1.1 library does, where `y` is a boolean.
pub(crate) fn parse(text: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(text).map_err(|_| "yaml: invalid UTF-8".to_owned())?;
    let mut stack: Vec<(Open, usize)> = Vec::new();
    let mut anchors: BTreeMap<usize, Value> = BTreeMap::new();
    let mut nodes = 0usize;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|e| format!("error converting YAML to JSON: yaml: {e}"))?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain_text = style == ScalarStyle::Plain && tag.is_none();
                let value = if plain_text { plain(&text) } else { Value::from(text.as_ref()) };
                (value, anchor)
            }
            Event::Alias(id) => {
                let value = anchors.get(&id).cloned().unwrap_or(Value::Null);
                nodes += size(&value);
                (value, 0)
            }
            Event::SequenceStart(.., anchor, _) => {
                stack.push((Open::List(Vec::new()), anchor));
                continue;
            }
            Event::MappingStart(.., anchor, _) => {
                stack.push((Open::Map(Map::new(), None), anchor));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match stack.pop() {
                Some((Open::List(list), anchor)) => (Value::Array(list), anchor),
                Some((Open::Map(map, _), anchor)) => (Value::Object(map), anchor),
                None => return Err("yaml: unexpected end".to_owned()),
            },
            Event::DocumentEnd | Event::StreamEnd => return Ok(Value::Null),
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => continue,
        };
        nodes += 1;
        if nodes > MAX_NODES || stack.len() > MAX_DEPTH {
            return Err("yaml: document is too large or too deep".to_owned());
        }
        if anchor > 0 {
            anchors.insert(anchor, value.clone());
        }
        match stack.last_mut() {
            None => return Ok(value),
            Some((Open::List(list), _)) => list.push(value),
            Some((Open::Map(map, key), _)) => match key.take() {
                Some(k) => drop(map.insert(k, value)),
                None => *key = Some(key_text(value)?),
            },
        }
    }
    Ok(Value::Null)
}

fn key_text(value: Value) -> Result<String, String> {
    match value {
        Value::String(s) => Ok(s),
        Value::Array(_) | Value::Object(_) => Err("yaml: keys must be scalars".to_owned()),
        Value::Null => Ok("null".to_owned()),
        other => Ok(other.to_string()),
    }
}

/// How many nodes a value has.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => {
            if let Ok(n) = text.parse::<i64>() {
                return n.into();
            }
            let numeric = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.' || c == '+');
            match text.parse::<f64>().ok().filter(|_| numeric).and_then(Number::from_f64) {
                Some(n) => Value::Number(n),
                None => text.into(),
            }
        }
    }
}

/// Writes JSON text as YAML, keys sorted, as `sigs.k8s.io/yaml` does.
pub(crate) fn write(json: &[u8]) -> Vec<u8> {
    let value: Value = serde_json::from_slice(json).unwrap_or(Value::Null);
    let mut out = String::new();
    match &value {
        Value::Object(m) if !m.is_empty() => object(m, 0, &mut out),
        other => {
            out.push_str(&scalar(other));
            out.push('\n');
        }
    }
    out.into_bytes()
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', depth * 2));
}

fn object(map: &Map<String, Value>, depth: usize, out: &mut String) {
    for (i, (k, v)) in map.iter().enumerate() {
        // The first key of a list item follows its dash.
        if i > 0 || !out.ends_with("- ") {
            indent(depth, out);
        }
        out.push_str(&quoted(k));
        out.push(':');
        entry(v, depth, out);
    }
}

fn entry(v: &Value, depth: usize, out: &mut String) {
    match v {
        Value::Object(m) if !m.is_empty() => {
            out.push('\n');
            object(m, depth + 1, out);
        }
        Value::Array(a) if !a.is_empty() => {
            out.push('\n');
            list(a, depth, out);
        }
        Value::String(s) if s.contains('\n') && !s.starts_with(' ') => {
            let chomp = if s.ends_with('\n') { "|" } else { "|-" };
            out.push_str(&format!(" {chomp}\n"));
            for line in s.trim_end_matches('\n').split('\n') {
                if !line.is_empty() {
                    indent(depth + 1, out);
                }
                out.push_str(line);
                out.push('\n');
            }
        }
        other => {
            out.push(' ');
            out.push_str(&scalar(other));
            out.push('\n');
        }
    }
}

fn list(items: &[Value], depth: usize, out: &mut String) {
    for item in items {
        indent(depth, out);
        out.push('-');
        match item {
            Value::Object(m) if !m.is_empty() => {
                out.push(' ');
                object(m, depth + 1, out);
            }
            other => entry(other, depth, out),
        }
    }
}

fn scalar(v: &Value) -> String {
    match v {
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        Value::String(s) => quoted(s),
        other => other.to_string(),
    }
}

/// A string, in quotes if it would be read as something else without them.
fn quoted(s: &str) -> String {
    let special = |c: char| ":{}[],&*#?|-<>=!%@\\\"'`".contains(c);
    let time_like = s.len() >= 10 && s.as_bytes()[4] == b'-' && s.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    let needs = s.is_empty()
        || s != s.trim()
        || !matches!(plain(s), Value::String(_))
        || time_like
        || s.starts_with(special) && !(s.starts_with('.') || s.len() > 1 && s.starts_with('-') && !s.starts_with("- "))
        || s.contains(": ")
        || s.ends_with(':')
        || s.contains(" #")
        || s.chars().any(char::is_control);
    if needs { serde_json::to_string(s).unwrap_or_default() } else { s.to_owned() }
}
