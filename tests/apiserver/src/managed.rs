//! Field ownership: who last wrote which field (`metadata.managedFields`).
//!
//! The rules are those of structured-merge-diff: comparing two values by their schema gives sets
//! of fields that were added, modified and removed (`typed/compare.go`); an update gives the
//! first two to its manager and takes them from the others (`merge/update.go`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::json;
use crate::kind::Kind;
use crate::schema::{Field, ListKind, Type, schema};
use crate::store::Obj;

/// A set of fields as the tree that `FieldsV1` writes: keys `f:name`, `k:{…}`, `v:…`; a node may
/// be a member itself, which a parent writes as `.`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FieldSet {
    member: bool,
    children: BTreeMap<String, Self>,
}

impl FieldSet {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    pub(crate) fn insert(&mut self, path: &[String]) {
        match path.split_first() {
            None => self.member = true,
            Some((first, rest)) => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    fn union(&mut self, other: &Self) {
        self.member |= other.member;
        for (k, v) in &other.children {
            self.children.entry(k.clone()).or_default().union(v);
        }
    }

    fn remove_all(&mut self, other: &Self) {
        if other.member {
            self.member = false;
        }
        for (k, v) in &other.children {
            if let Some(mine) = self.children.get_mut(k) {
                mine.remove_all(v);
                if mine.is_empty() {
                    self.children.remove(k);
                }
            }
        }
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut set = Self { member: self.member && other.member, children: BTreeMap::new() };
        for (k, v) in &self.children {
            if let Some(o) = other.children.get(k) {
                let both = v.intersection(o);
                if !both.is_empty() {
                    set.children.insert(k.clone(), both);
                }
            }
        }
        set
    }

    pub(crate) fn difference(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.remove_all(other);
        set
    }

    fn drop_path(&mut self, path: &[&str]) {
        match path {
            [] => {}
            [last] => {
                self.children.remove(*last);
            }
            [first, rest @ ..] => {
                if let Some(child) = self.children.get_mut(*first) {
                    child.drop_path(rest);
                    if child.is_empty() {
                        self.children.remove(*first);
                    }
                }
            }
        }
    }

    /// Adds the members of another set.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.union(other);
    }

    /// Whether there is no member.
    pub(crate) fn is_nothing(&self) -> bool {
        self.is_empty()
    }

    /// The same set with every parent of a member (`EnsureNamedFieldsAreMembers`).
    pub(crate) fn with_parents(&self) -> Self {
        let children = self.children.iter().map(|(k, v)| (k.clone(), Self { member: true, ..v.with_parents() }));
        Self { member: self.member, children: children.collect() }
    }

    /// Drops all under one key of the object.
    pub(crate) fn drop_top(&mut self, key: &str) {
        self.children.remove(key);
    }

    /// Drops all but what is under one key of the object.
    pub(crate) fn keep_top(&mut self, key: &str) {
        self.children.retain(|k, _| k == key);
    }

    /// Removes the members from a value.
    pub(crate) fn remove_from<'a>(&self, value: &mut Value, field_of: &dyn Fn(&str) -> Option<&'a Field>) {
        for (k, child) in &self.children {
            if let (Some(("f", name)), Value::Object(map)) = (k.split_once(':'), &mut *value) {
                if child.member {
                    map.remove(name);
                    continue;
                }
                let Some(inner) = map.get_mut(name) else {
                    continue;
                };
                let field = field_of(name);
                child.remove_from_typed(inner, field);
            }
        }
    }

    fn remove_from_typed(&self, value: &mut Value, field: Option<&Field>) {
        match (field.map(|f| &f.ty), &mut *value) {
            (Some(Type::Message(id)), Value::Object(_)) => {
                let message = schema().message(*id);
                self.remove_from(value, &|key| message.field(key));
            }
            (Some(Type::List(item)), Value::Array(list)) => {
                let kind = field.map_or(&ListKind::Atomic, |f| &f.list);
                list.retain_mut(|v| match self.children.get(&element(v, kind)) {
                    Some(child) if child.member => false,
                    Some(child) => {
                        if let Type::Message(id) = &**item {
                            let message = schema().message(*id);
                            child.remove_from(v, &|key| message.field(key));
                        }
                        true
                    }
                    None => true,
                });
            }
            (_, Value::Object(_)) => self.remove_from(value, &|_| None),
            _ => {}
        }
    }

    fn to_fields_v1(&self) -> Value {
        let mut map = Map::new();
        for (k, v) in &self.children {
            let mut value = v.to_fields_v1();
            if v.member
                && !v.children.is_empty()
                && let Value::Object(m) = &mut value
            {
                m.insert(".".into(), json!({}));
            }
            map.insert(k.clone(), value);
        }
        Value::Object(map)
    }

    fn from_fields_v1(value: &Value) -> Self {
        let mut set = Self::default();
        for (k, v) in value.as_object().into_iter().flatten() {
            if k == "." {
                set.member = true;
            } else {
                let mut child = Self::from_fields_v1(v);
                if v.as_object().is_some_and(Map::is_empty) {
                    child.member = true;
                }
                set.children.insert(k.clone(), child);
            }
        }
        set
    }

    /// The members as paths, in the order of their keys: `.data.k`.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.collect(String::new(), &mut out);
        out
    }

    fn collect(&self, prefix: String, out: &mut Vec<String>) {
        if self.member {
            out.push(prefix.clone());
        }
        for (k, v) in &self.children {
            let step = match k.split_once(':') {
                Some(("f", name)) => format!(".{name}"),
                Some(("k", keys)) => {
                    let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                    let pairs: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={v}")).collect();
                    format!("[{}]", pairs.join(","))
                }
                Some((_, value)) => format!("[={value}]"),
                None => k.clone(),
            };
            v.collect(format!("{prefix}{step}"), out);
        }
    }
}

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
    let leaf = atomic || (empty(old) && empty(new)) || is_leaf(ty, field);
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
        Type::Map(item) => {
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
        Type::Map(_) => false,
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

fn collect_message(obj: &Obj, message: &crate::schema::Message, path: &mut Vec<String>, set: &mut FieldSet) {
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
        (Type::Map(item), Value::Object(map)) => {
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
fn strip(set: &mut FieldSet) {
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

/// One entry of managedFields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    pub(crate) apply: bool,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
    pub(crate) time: Option<String>,
    pub(crate) fields: FieldSet,
}

impl Entry {
    fn is(&self, other: &Writer<'_>) -> bool {
        self.manager == other.manager
            && self.apply == other.apply
            && (self.apply || self.api_version == other.api_version)
            && self.subresource == other.subresource
    }
}

/// Who writes.
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) apply: bool,
    pub(crate) api_version: &'a str,
    pub(crate) subresource: &'a str,
    /// The time of the write; a write to a scale leaves none.
    pub(crate) time: Option<&'a str>,
}

/// The entries of an object.
pub(crate) fn entries(obj: &Obj) -> Vec<Entry> {
    let list = json::list(obj, &["metadata", "managedFields"]);
    list.iter()
        .filter_map(Value::as_object)
        .map(|e| Entry {
            manager: json::text(e, &["manager"]).to_owned(),
            apply: json::text(e, &["operation"]) == "Apply",
            api_version: json::text(e, &["apiVersion"]).to_owned(),
            subresource: json::text(e, &["subresource"]).to_owned(),
            time: e.get("time").and_then(Value::as_str).map(str::to_owned),
            fields: e.get("fieldsV1").map(FieldSet::from_fields_v1).unwrap_or_default(),
        })
        .collect()
}

/// Writes entries back, in the order the API server keeps: operation, time, manager.
pub(crate) fn set_entries(obj: &mut Obj, mut list: Vec<Entry>) {
    list.retain(|e| !e.fields.is_empty());
    list.sort_by(|a, b| {
        (!a.apply, &a.time, &a.manager, &a.api_version, &a.subresource).cmp(&(
            !b.apply,
            &b.time,
            &b.manager,
            &b.api_version,
            &b.subresource,
        ))
    });
    let values: Vec<Value> = list
        .into_iter()
        .map(|e| {
            let mut map = Map::new();
            map.insert("manager".into(), e.manager.into());
            map.insert("operation".into(), if e.apply { "Apply" } else { "Update" }.into());
            map.insert("apiVersion".into(), e.api_version.into());
            if let Some(time) = e.time {
                map.insert("time".into(), time.into());
            }
            map.insert("fieldsType".into(), "FieldsV1".into());
            map.insert("fieldsV1".into(), e.fields.to_fields_v1());
            if !e.subresource.is_empty() {
                map.insert("subresource".into(), e.subresource.into());
            }
            Value::Object(map)
        })
        .collect();
    let meta = json::meta_mut(obj);
    if values.is_empty() {
        meta.remove("managedFields");
    } else {
        meta.insert("managedFields".into(), values.into());
    }
}

/// Records an update: `new` gets the managedFields that follow from `old`'s and what changed.
///
/// An object whose entries were cleared is not tracked any more, as long as it exists.
pub(crate) fn record_update(kind: &Kind, old: Option<&Obj>, new: &mut Obj, writer: &Writer<'_>) {
    let zero = crate::decode::zero_message(kind.message());
    let live = old.unwrap_or(&zero);
    let mut list = match old {
        Some(old) => {
            let list = entries(old);
            if list.is_empty() {
                json::meta_mut(new).remove("managedFields");
                return;
            }
            let sent = json::list(new, &["metadata", "managedFields"]);
            if let [only] = sent
                && only.as_object().is_some_and(Map::is_empty)
            {
                // The documented way to clear them.
                json::meta_mut(new).remove("managedFields");
                return;
            }
            // Who sends entries says who owns what; who sends none does not know of them.
            let given = if writer.subresource.is_empty() { entries(new) } else { Vec::new() };
            if given.iter().all(|e| e.fields.is_empty()) { list } else { given }
        }
        None => Vec::new(),
    };
    json::meta_mut(new).remove("managedFields");
    let mut bare = live.clone();
    json::meta_mut(&mut bare).remove("managedFields");
    let Comparison { mut added, mut modified, removed } = compare(kind, &bare, new);
    strip(&mut added);
    strip(&mut modified);
    if old.is_none() && writer.subresource.is_empty() && kind.has(crate::kind::Sub::Status) {
        // The status of a new object is not the creator's.
        added.children.remove("f:status");
        modified.children.remove("f:status");
    }
    let mut changed = added;
    changed.union(&modified);
    for entry in &mut list {
        if !entry.is(writer) {
            entry.fields.remove_all(&changed);
        }
        entry.fields.remove_all(&removed);
    }
    match list.iter_mut().find(|e| e.is(writer)) {
        Some(entry) => {
            let before = entry.fields.clone();
            entry.fields.union(&changed);
            if entry.fields != before {
                entry.time = writer.time.map(str::to_owned);
            }
        }
        None => list.push(Entry {
            manager: writer.manager.to_owned(),
            apply: writer.apply,
            api_version: writer.api_version.to_owned(),
            subresource: writer.subresource.to_owned(),
            time: writer.time.map(str::to_owned),
            fields: changed,
        }),
    }
    set_entries(new, list);
}
