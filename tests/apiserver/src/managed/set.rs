//! Sets of fields, as the tree that `FieldsV1` writes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::compare::element;
use crate::schema::{Field, ListKind, Type, schema};

/// A set of fields as the tree that `FieldsV1` writes: keys `f:name`, `k:{…}`, `v:…`; a node may
/// be a member itself, which a parent writes as `.`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FieldSet {
    pub(super) member: bool,
    pub(super) children: BTreeMap<String, Self>,
}

impl FieldSet {
    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    pub(crate) fn insert(&mut self, path: &[String]) {
        match path.split_first() {
            None => self.member = true,
            Some((first, rest)) => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub(super) fn union(&mut self, other: &Self) {
        self.member |= other.member;
        for (k, v) in &other.children {
            self.children.entry(k.clone()).or_default().union(v);
        }
    }

    pub(super) fn remove_all(&mut self, other: &Self) {
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

    pub(super) fn drop_path(&mut self, path: &[&str]) {
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

    pub(super) fn to_fields_v1(&self) -> Value {
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

    pub(super) fn from_fields_v1(value: &Value) -> Self {
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
