//! Patches: JSON Patch (RFC 6902), JSON Merge Patch (RFC 7386) and strategic merge patches
//! (apimachinery `pkg/util/strategicpatch/patch.go`).

use serde_json::{Map, Value};

use crate::schema::{Field, MessageId, Type, schema};

/// Why a patch cannot be applied.
#[derive(Debug, PartialEq)]
pub(crate) enum PatchError {
    /// The patch is fine as such, but not for this object (a failed test, an absent path).
    Inapplicable,
    /// An item of a merged list lacks its key.
    NoMergeKey { item: Value, key: &'static str },
    /// The patch is not what it should be.
    Malformed(String),
}

/// RFC 7386.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    let map = made_map(target);
    for (k, v) in patch {
        if v.is_null() {
            map.remove(k);
        } else {
            merge(map.entry(k.as_str()).or_insert(Value::Null), v);
        }
    }
}

/// A value as a map; an empty one takes the place of anything else.
fn made_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it has just been made a map")
}

/// RFC 6902; nothing is changed for the caller if an operation fails, as it works on a copy.
pub(crate) fn json_patch(target: &Value, operations: &[Value]) -> Result<Value, PatchError> {
    let mut doc = target.clone();
    for op in operations {
        let text = |key: &str| op.get(key).and_then(Value::as_str);
        let path = text("path").ok_or(PatchError::Inapplicable)?;
        match text("op") {
            Some("add") => add(&mut doc, path, op.get("value").cloned().unwrap_or(Value::Null))?,
            Some("remove") => drop(remove(&mut doc, path)?),
            Some("replace") => {
                let value = op.get("value").cloned().unwrap_or(Value::Null);
                *doc.pointer_mut(path).ok_or(PatchError::Inapplicable)? = value;
            }
            Some("move") => {
                let from = text("from").ok_or(PatchError::Inapplicable)?;
                let value = remove(&mut doc, from)?;
                add(&mut doc, path, value)?;
            }
            Some("copy") => {
                let from = text("from").ok_or(PatchError::Inapplicable)?;
                let value = doc.pointer(from).cloned().ok_or(PatchError::Inapplicable)?;
                add(&mut doc, path, value)?;
            }
            Some("test") => {
                let expected = op.get("value").unwrap_or(&Value::Null);
                if doc.pointer(path).unwrap_or(&Value::Null) != expected {
                    return Err(PatchError::Inapplicable);
                }
            }
            _ => return Err(PatchError::Inapplicable),
        }
    }
    Ok(doc)
}

fn split(path: &str) -> Result<(&str, String), PatchError> {
    let (parent, last) = path.rsplit_once('/').ok_or(PatchError::Inapplicable)?;
    Ok((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn add(doc: &mut Value, path: &str, value: Value) -> Result<(), PatchError> {
    if path.is_empty() {
        *doc = value;
        return Ok(());
    }
    let (parent, last) = split(path)?;
    match doc.pointer_mut(parent) {
        Some(Value::Object(map)) => {
            map.insert(last, value);
            Ok(())
        }
        Some(Value::Array(list)) => {
            let at = if last == "-" { list.len() } else { last.parse().map_err(|_| PatchError::Inapplicable)? };
            if at > list.len() {
                return Err(PatchError::Inapplicable);
            }
            list.insert(at, value);
            Ok(())
        }
        _ => Err(PatchError::Inapplicable),
    }
}

fn remove(doc: &mut Value, path: &str) -> Result<Value, PatchError> {
    let (parent, last) = split(path)?;
    match doc.pointer_mut(parent) {
        Some(Value::Object(map)) => map.remove(&last).ok_or(PatchError::Inapplicable),
        Some(Value::Array(list)) => match last.parse::<usize>() {
            Ok(at) if at < list.len() => Ok(list.remove(at)),
            _ => Err(PatchError::Inapplicable),
        },
        _ => Err(PatchError::Inapplicable),
    }
}

/// A strategic merge patch of a message.
pub(crate) fn strategic(
    id: MessageId,
    target: &mut Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<(), PatchError> {
    if directive(target, patch)? {
        return Ok(());
    }
    if let Some(keep) = patch.get("$retainKeys").and_then(Value::as_array) {
        target.retain(|k, _| keep.iter().any(|v| v.as_str() == Some(k)));
    }
    let message = schema().message(id);
    for (k, v) in patch {
        if let Some(list) = k.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = v.as_array().map_or(&[] as &[Value], Vec::as_slice);
            if let Some(Value::Array(items)) = target.get_mut(list) {
                items.retain(|i| !gone.contains(i));
            }
            continue;
        }
        if k.starts_with('$') {
            continue;
        }
        if v.is_null() {
            target.remove(k);
            continue;
        }
        match message.field(k) {
            Some(field) => merge_field(field, k, target, v)?,
            None => {
                target.insert(k.clone(), v.clone());
            }
        }
    }
    for (k, order) in patch {
        if let Some(list) = k.strip_prefix("$setElementOrder/") {
            let key = message.field(list).map_or("", |f| f.merge_key);
            if let (Some(Value::Array(items)), Value::Array(order)) = (target.get_mut(list), order) {
                reorder(items, order, key);
            }
        }
    }
    Ok(())
}

/// Does what `$patch` says to do with the whole of a map. Whether that was all.
fn directive(target: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<bool, PatchError> {
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *target = patch.iter().filter(|(k, _)| *k != "$patch").map(|(k, v)| (k.clone(), v.clone())).collect();
        }
        Some("delete") => target.clear(),
        Some("merge") | None => return Ok(false),
        Some(other) => return Err(PatchError::Malformed(format!("unknown patch type '{other}' in map"))),
    }
    Ok(true)
}

fn merge_field(field: &Field, k: &str, target: &mut Map<String, Value>, v: &Value) -> Result<(), PatchError> {
    match (&field.ty, v) {
        (Type::Message(id), Value::Object(patch)) => {
            strategic(*id, made_map(target.entry(k).or_insert(Value::Null)), patch)?;
        }
        (Type::Map(_), Value::Object(patch)) => {
            let slot = target.entry(k).or_insert(Value::Null);
            if !directive(made_map(slot), patch)? {
                merge(slot, v);
            }
        }
        (Type::List(item), Value::Array(patch)) if field.merge => {
            let slot = target.entry(k).or_insert_with(|| Value::Array(Vec::new()));
            if !slot.is_array() {
                *slot = Value::Array(Vec::new());
            }
            if let Value::Array(list) = slot {
                merge_list(field, item, list, patch)?;
            }
        }
        _ => {
            target.insert(k.to_owned(), strip_directives(v));
        }
    }
    Ok(())
}

fn strip_directives(v: &Value) -> Value {
    match v {
        Value::Object(map) => Value::Object(
            map.iter().filter(|(k, _)| !k.starts_with('$')).map(|(k, v)| (k.clone(), strip_directives(v))).collect(),
        ),
        Value::Array(list) => list.iter().map(strip_directives).collect(),
        other => other.clone(),
    }
}

fn merge_list(field: &Field, item: &Type, list: &mut Vec<Value>, patch: &[Value]) -> Result<(), PatchError> {
    let key = field.merge_key;
    if key.is_empty() {
        // A set of scalars.
        for v in patch {
            if !list.contains(v) {
                list.push(v.clone());
            }
        }
        return Ok(());
    }
    let replace = patch.iter().any(|p| p.get("$patch").and_then(Value::as_str) == Some("replace"));
    if replace {
        *list = patch.iter().filter(|p| p.get("$patch").is_none()).map(strip_directives).collect();
        return Ok(());
    }
    let before = list.clone();
    let mut order: Vec<&Value> = Vec::new();
    for p in patch {
        let id = p.get(key).ok_or_else(|| PatchError::NoMergeKey { item: p.clone(), key })?;
        if p.get("$patch").and_then(Value::as_str) == Some("delete") {
            list.retain(|v| v.get(key) != Some(id));
            continue;
        }
        order.push(id);
        let at = list.iter().position(|v| v.get(key) == Some(id));
        match (at, item, p) {
            (Some(i), Type::Message(message), Value::Object(patch)) => {
                if let Value::Object(map) = &mut list[i] {
                    strategic(*message, map, patch)?;
                }
            }
            (Some(i), _, _) => list[i] = p.clone(),
            (None, Type::Message(message), Value::Object(patch)) => {
                let mut map = Map::new();
                strategic(*message, &mut map, patch)?;
                list.push(Value::Object(map));
            }
            (None, _, _) => list.push(p.clone()),
        }
    }
    arrange(list, &before, &order, key);
    Ok(())
}

/// The order of a merged list (`normalizeElementOrder`): patched items in the order of the patch;
/// the others keep their order and stand where they stood relative to the patched ones.
fn arrange(list: &mut Vec<Value>, before: &[Value], order: &[&Value], key: &str) {
    let place = |v: &Value| before.iter().position(|b| b.get(key) == v.get(key));
    let (mut patched, others): (Vec<Value>, Vec<Value>) =
        std::mem::take(list).into_iter().partition(|v| v.get(key).is_some_and(|id| order.contains(&id)));
    patched.sort_by_key(|v| order.iter().position(|id| Some(*id) == v.get(key)));
    let (mut patched, mut others) = (patched.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(p), Some(o)) = (patched.peek(), others.peek()) {
        // An item that was there before stays before those that came after it.
        let other_first = match (place(p), place(o)) {
            (Some(p), Some(o)) => o < p,
            _ => false,
        };
        let next = if other_first { others.next() } else { patched.next() };
        list.extend(next);
    }
    list.extend(patched);
    list.extend(others);
}

fn reorder(items: &mut Vec<Value>, order: &[Value], key: &str) {
    let id = |v: &Value| {
        if key.is_empty() { v.clone() } else { v.get(key).cloned().unwrap_or(Value::Null) }
    };
    let wanted: Vec<Value> = order.iter().map(id).collect();
    let before: Vec<Value> = items.iter().map(id).collect();
    let (mut listed, others): (Vec<Value>, Vec<Value>) =
        std::mem::take(items).into_iter().partition(|v| wanted.contains(&id(v)));
    listed.sort_by_key(|v| wanted.iter().position(|w| *w == id(v)));
    let place = |v: &Value| before.iter().position(|b| *b == id(v));
    let (mut listed, mut others) = (listed.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(l), Some(o)) = (listed.peek(), others.peek()) {
        let next = if place(o) < place(l) { others.next() } else { listed.next() };
        items.extend(next);
    }
    items.extend(listed);
    items.extend(others);
}

#[cfg(test)]
mod tests;
