//! Bodies and frames brought into the shape in which they are compared.

use serde_json::{Value, json};

/// Several plain bookmarks in a row count as one.
pub(super) fn collapse(frames: &[Value]) -> Vec<&Value> {
    let plain = |f: &Value| f["type"] == "BOOKMARK" && !f.to_string().contains("k8s.io/initial-events-end");
    let mut out: Vec<&Value> = Vec::new();
    for f in frames {
        match out.last_mut() {
            Some(last) if plain(last) && plain(f) => *last = f,
            _ => out.push(f),
        }
    }
    out
}

/// What names an entry of a discovery list.
fn entry_name(v: &Value) -> Option<&Value> {
    ["name", "resource", "subresource", "groupVersion"]
        .iter()
        .find_map(|k| v.get(*k))
        .or_else(|| v.get("metadata").map(|m| m.get("name").unwrap_or(&Value::Null)))
        .or_else(|| v.get("version"))
}

/// The recorded lists without the entries that the server does not have, in the server's order.
pub(super) fn narrowed(want: &Value, got: &Value) -> Value {
    match (want, got) {
        (Value::Array(w), Value::Array(g)) if w.iter().all(|v| entry_name(v).is_some()) => g
            .iter()
            .map(|g| match w.iter().find(|w| entry_name(w) == entry_name(g)) {
                Some(w) => narrowed(w, g),
                None => json!("<an entry the real server does not have>"),
            })
            .collect(),
        (Value::Object(w), Value::Object(g)) => {
            w.iter().map(|(k, v)| (k.clone(), g.get(k).map_or_else(|| v.clone(), |g| narrowed(v, g)))).collect()
        }
        _ => want.clone(),
    }
}

/// The apiVersion and kind in the envelope of a protobuf body.
pub(super) fn proto_type_meta(raw: &[u8]) -> Value {
    let Some([0x0a, len, rest @ ..]) = raw.strip_prefix(b"k8s\0") else {
        return Value::Null;
    };
    let mut meta = json!({});
    let mut rest = rest.get(..usize::from(*len)).unwrap_or_default();
    while let [tag, len, tail @ ..] = rest {
        let n = usize::from(*len).min(tail.len());
        let key = if *tag == 0x0a { "apiVersion" } else { "kind" };
        meta[key] = String::from_utf8_lossy(&tail[..n]).into();
        rest = &tail[n..];
    }
    meta
}

pub(super) fn protobuf_frames(mut body: &[u8]) -> usize {
    let mut n = 0;
    while let Some((len, rest)) = body.split_first_chunk::<4>() {
        let len = usize::try_from(u32::from_be_bytes(*len)).unwrap_or(usize::MAX);
        let Some(rest) = rest.get(len..) else { break };
        body = rest;
        n += 1;
    }
    n
}
