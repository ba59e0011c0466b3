//! Small helpers to walk JSON objects by path.

use serde_json::{Map, Value};

use crate::store::Obj;

/// The value at a path of keys.
pub(crate) fn at<'a, K: AsRef<str>>(obj: &'a Obj, path: &[K]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(obj.get(first.as_ref())?, |v, key| v.get(key.as_ref()))
}

/// The text at a path, or an empty one.
pub(crate) fn text<'a, K: AsRef<str>>(obj: &'a Obj, path: &[K]) -> &'a str {
    at(obj, path).and_then(Value::as_str).unwrap_or_default()
}

/// The integer at a path.
pub(crate) fn int<K: AsRef<str>>(obj: &Obj, path: &[K]) -> Option<i64> {
    at(obj, path).and_then(Value::as_i64)
}

/// The list at a path, or an empty one.
pub(crate) fn list<'a>(obj: &'a Obj, path: &[&str]) -> &'a [Value] {
    at(obj, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The object at a path.
pub(crate) fn map<'a>(obj: &'a Obj, path: &[&str]) -> Option<&'a Obj> {
    at(obj, path).and_then(Value::as_object)
}

/// The object at a path, made if it is not there.
pub(crate) fn map_mut<'a, K: AsRef<str>>(obj: &'a mut Obj, path: &[K]) -> &'a mut Obj {
    path.iter().fold(obj, |m, key| {
        let v = m.entry(key.as_ref()).or_insert_with(|| Value::Object(Map::new()));
        if !v.is_object() {
            *v = Value::Object(Map::new());
        }
        v.as_object_mut().expect("it was just made an object")
    })
}

/// The objects in the list at a path.
pub(crate) fn items_mut<'a>(obj: &'a mut Obj, path: &[&str]) -> impl Iterator<Item = &'a mut Obj> {
    let list = match path {
        [] => None,
        [first, rest @ ..] => rest
            .iter()
            .try_fold(obj.get_mut(*first), |v, key| v.map(|v| v.get_mut(*key)))
            .flatten()
            .and_then(Value::as_array_mut),
    };
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Sets a key unless it is there.
pub(crate) fn default(obj: &mut Obj, key: &str, value: impl Into<Value>) {
    if !obj.contains_key(key) {
        obj.insert(key.to_owned(), value.into());
    }
}

/// Sets a key, or removes it if there is no value.
pub(crate) fn set(obj: &mut Obj, key: &str, value: Option<Value>) {
    match value {
        Some(v) => obj.insert(key.to_owned(), v),
        None => obj.remove(key),
    };
}

/// The object of metadata.
pub(crate) fn meta(obj: &Obj) -> &Obj {
    static NONE: std::sync::LazyLock<Obj> = std::sync::LazyLock::new(Map::new);
    map(obj, &["metadata"]).unwrap_or(&NONE)
}

/// A text of the metadata, or an empty one.
pub(crate) fn meta_text<'a>(obj: &'a Obj, key: &str) -> &'a str {
    text(obj, &["metadata", key])
}

/// The metadata, made if it is not there.
pub(crate) fn meta_mut(obj: &mut Obj) -> &mut Obj {
    map_mut(obj, &["metadata"])
}
