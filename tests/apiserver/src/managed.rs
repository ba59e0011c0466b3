//! Field ownership: who last wrote which field (`metadata.managedFields`).
//!
//! The rules are those of structured-merge-diff: comparing two values by their schema gives sets
//! of fields that were added, modified and removed (`typed/compare.go`); an update gives the
//! first two to its manager and takes them from the others (`merge/update.go`).

use serde_json::{Map, Value};

use crate::json;
use crate::kind::Kind;
use crate::store::Obj;

mod compare;
mod set;

use compare::strip;
pub(crate) use compare::{Comparison, compare, element, field_set};
pub(crate) use set::FieldSet;

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
    let Comparison { mut added, mut modified, removed } = compare(kind, live, new);
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
