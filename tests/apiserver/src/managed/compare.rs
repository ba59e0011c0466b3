//! Comparison of two values by their schema, and the fields of one
//! (structured-merge-diff `typed/compare.go`, `typed/tofieldset.go`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::FieldSet;
use crate::kind::Kind;
use crate::schema::{Field, ListKind, Message, Type, schema};
use crate::store::Obj;

/// What changed between two values.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

/// Compares two versions of an object of that kind.
pub(crate) fn compare(kind: &Kind, old: &Obj, new: &Obj) -> Comparison {
    let mut comparison = Comparison::default();
    let mut path = Vec::new();
    let message = schema().message(kind.message());
    for key in union_keys(old, new) {
        if let Some(field) = message.field(key) {
            path.push(format!("f:{key}"));
            walk(old.get(key), new.get(key), &field.ty, Some(field), &mut path, &mut comparison);
            path.pop();
        }
    }
    comparison
}

fn union_keys<'a>(a: &'a Obj, b: &'a Obj) -> Vec<&'a String> {
    let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn walk(
    old: Option<&Value>,
    new: Option<&Value>,
    ty: &Type,
    field: Option<&Field>,
    path: &mut Vec<String>,
    out: &mut Comparison,
) {
    if old == new {
        return;
    }
    let empty = |v: Option<&Value>| match v {
        None | Some(Value::Null) => true,
        Some(Value::Object(m)) => m.is_empty(),
        Some(Value::Array(a)) => a.is_empty(),
        Some(_) => false,
    };
    let atomic = field.is_some_and(|f| f.atomic);
    let leaf = atomic
        || (empty(old) && empty(new))
        || is_leaf(ty, field)
        || *ty == Type::Any && ![old, new].into_iter().flatten().all(Value::is_object);
    if leaf {
        match (old, new) {
            (None, Some(_)) => out.added.insert(path),
            (Some(_), None) => out.removed.insert(path),
            _ => out.modified.insert(path),
        }
        return;
    }
    match (old, new) {
        (None, Some(_)) => out.added.insert(path),
        (Some(_), None) => out.removed.insert(path),
        _ => {}
    }
    match ty {
        Type::Message(id) => {
            let message = schema().message(*id);
            let none = Obj::new();
            let (a, b) = (as_map(old, &none), as_map(new, &none));
            for key in union_keys(a, b) {
                if let Some(f) = message.field(key) {
                    path.push(format!("f:{key}"));
                    walk(a.get(key), b.get(key), &f.ty, Some(f), path, out);
                    path.pop();
                }
            }
        }
        Type::Any | Type::Map(_) => {
            let item = if let Type::Map(item) = ty { item } else { ty };
            let none = Obj::new();
            let (a, b) = (as_map(old, &none), as_map(new, &none));
            for key in union_keys(a, b) {
                path.push(format!("f:{key}"));
                walk(a.get(key), b.get(key), item, None, path, out);
                path.pop();
            }
        }
        Type::List(item) => {
            let kind = field.map_or(&ListKind::Atomic, |f| &f.list);
            let (a, b) = (keyed(old, kind), keyed(new, kind));
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                path.push(key.clone());
                walk(a.get(key).copied(), b.get(key).copied(), item, None, path, out);
                path.pop();
            }
        }
        _ => {}
    }
}

fn is_leaf(ty: &Type, field: Option<&Field>) -> bool {
    match ty {
        Type::Message(id) => schema().message(*id).atomic,
        Type::Any | Type::Map(_) => false,
        Type::List(_) => field.is_none_or(|f| f.list == ListKind::Atomic),
        _ => true,
    }
}

fn as_map<'a>(v: Option<&'a Value>, none: &'a Obj) -> &'a Obj {
    v.and_then(Value::as_object).unwrap_or(none)
}

/// The items of an associative list by their path elements.
fn keyed<'a>(list: Option<&'a Value>, kind: &ListKind) -> BTreeMap<String, &'a Value> {
    let items = list.and_then(Value::as_array).map_or(&[] as &[Value], Vec::as_slice);
    items.iter().map(|item| (element(item, kind), item)).collect()
}

/// The path element of an item.
pub(crate) fn element(item: &Value, kind: &ListKind) -> String {
    match kind {
        ListKind::Map(keys) => {
            let mut map = Map::new();
            for key in keys {
                match item.get(*key) {
                    Some(v) => drop(map.insert((*key).to_owned(), v.clone())),
                    // The only key with a default: that of ports.
                    None if *key == "protocol" => {
                        drop(map.insert("protocol".to_owned(), "TCP".into()));
                    }
                    None => {}
                }
            }
            format!("k:{}", Value::Object(map))
        }
        _ => format!("v:{item}"),
    }
}

/// All fields of a value, as an applied configuration owns them (`typed/tofieldset.go`).
pub(crate) fn field_set(kind: &Kind, obj: &Obj) -> FieldSet {
    let mut set = FieldSet::default();
    let message = schema().message(kind.message());
    collect_message(obj, message, &mut Vec::new(), &mut set);
    strip(&mut set);
    set
}

fn collect_message(obj: &Obj, message: &Message, path: &mut Vec<String>, set: &mut FieldSet) {
    for (key, value) in obj {
        if let Some(field) = message.field(key) {
            path.push(format!("f:{key}"));
            collect(value, &field.ty, Some(field), path, set);
            path.pop();
        }
    }
}

fn collect(value: &Value, ty: &Type, field: Option<&Field>, path: &mut Vec<String>, set: &mut FieldSet) {
    let empty = match value {
        Value::Object(m) => m.is_empty(),
        Value::Array(a) => a.is_empty(),
        _ => value.is_null(),
    };
    if empty || field.is_some_and(|f| f.atomic) || is_leaf(ty, field) {
        set.insert(path);
        return;
    }
    match (ty, value) {
        (Type::Message(id), Value::Object(map)) => {
            collect_message(map, schema().message(*id), path, set);
        }
        (Type::Any | Type::Map(_), Value::Object(map)) => {
            let item = if let Type::Map(item) = ty { item } else { ty };
            for (key, v) in map {
                path.push(format!("f:{key}"));
                collect(v, item, None, path, set);
                set.insert(path);
                path.pop();
            }
        }
        (Type::List(item), Value::Array(list)) => {
            let kind = field.map_or(&ListKind::Atomic, |f| &f.list);
            for v in list {
                path.push(element(v, kind));
                collect(v, item, None, path, set);
                set.insert(path);
                path.pop();
            }
        }
        _ => set.insert(path),
    }
}

/// Fields nobody owns.
pub(super) fn strip(set: &mut FieldSet) {
    for path in [
        &["f:apiVersion"][..],
        &["f:kind"],
        &["f:metadata", "f:name"],
        &["f:metadata", "f:namespace"],
        &["f:metadata", "f:creationTimestamp"],
        &["f:metadata", "f:deletionTimestamp"],
        &["f:metadata", "f:deletionGracePeriodSeconds"],
        &["f:metadata", "f:selfLink"],
        &["f:metadata", "f:uid"],
        &["f:metadata", "f:generation"],
        &["f:metadata", "f:managedFields"],
        &["f:metadata", "f:resourceVersion"],
    ] {
        set.drop_path(path);
    }
    for key in ["f:metadata", "f:spec", "f:status"] {
        if let Some(child) = set.children.get_mut(key) {
            child.member = false;
            if child.is_empty() {
                set.children.remove(key);
            }
        }
    }
}
