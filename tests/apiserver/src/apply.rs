//! Server-side apply (structured-merge-diff `merge/update.go`, `Apply`).

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::context::{Answer, Context};
use crate::decode::Decoded;
use crate::error::{ApiError, Cause};
use crate::json as path;
use crate::kind::Kind;
use crate::managed::{self, Entry, FieldSet};
use crate::schema::{Field, ListKind, Type, schema};
use crate::server::ApiServer;
use crate::store::{Obj, Object};
use crate::time::rfc3339;
use crate::update::fill_meta;
use crate::{decode, render};

impl ApiServer {
    pub(crate) fn apply(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let sub = cx.place.sub.map_or("", crate::kind::Sub::name);
        let config = configuration(cx, &kind.kind, &kind.api_version(), kind.message_name())?;
        let old = self.find(cx).ok();
        let Some(old) = old else {
            if !sub.is_empty() {
                return Err(ApiError::not_found(kind.subject(), &cx.place.name));
            }
            return self.apply_new(cx, config);
        };
        let served = render::object_value(kind, &old);
        let uid = path::meta_text(&config, "uid").to_owned();
        let rv = path::meta_text(&config, "resourceVersion").to_owned();
        if !rv.is_empty() && rv != old.rv.to_string() {
            return Err(ApiError::modified(kind.subject(), &old.key.name));
        }
        let mut merged = self.merge_config(cx, kind, &served, &config, sub, false)?;
        if !uid.is_empty() {
            path::meta_mut(&mut merged).insert("uid".into(), uid.into());
        }
        let Decoded { mut value, .. } = decode::from_value(kind.message(), Value::Object(merged))
            .map_err(|e| ApiError::internal(format!("failed to convert merged object: {e}")))?;
        (kind.strategy.default)(&mut value);
        fill_meta(&mut value, &served);
        self.finish_update(cx, &old, served, value)
    }

    /// An apply of what is not there makes it.
    fn apply_new(&mut self, cx: &mut Context<'_>, mut config: Obj) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let owned = managed::field_set(kind, &config);
        path::meta_mut(&mut config).remove("resourceVersion");
        path::meta_mut(&mut config).insert("name".into(), cx.place.name.clone().into());
        let Decoded { mut value, .. } = decode::from_value(kind.message(), Value::Object(config))
            .map_err(|e| ApiError::internal(format!("failed to create typed patch object: {e}")))?;
        let entry = self.entry(cx, kind, "", owned);
        managed::set_entries(&mut value, vec![entry]);
        self.insert_owned(cx, value)
    }

    fn entry(&self, cx: &Context<'_>, kind: &Kind, sub: &str, fields: FieldSet) -> Entry {
        Entry {
            manager: cx.manager(),
            apply: true,
            api_version: kind.api_version(),
            subresource: sub.to_owned(),
            time: Some(rfc3339(cx.now.wall)),
            fields,
        }
    }

    /// Merges a configuration into an object, with the managedFields that follow.
    fn merge_config(
        &self,
        cx: &Context<'_>,
        kind: &Kind,
        live: &Obj,
        config: &Obj,
        sub: &str,
        timeless: bool,
    ) -> Result<Obj, ApiError> {
        let force = cx.query.flag("force");
        let mut owned = managed::field_set(kind, config);
        if sub.is_empty() && kind.has(crate::kind::Sub::Status) {
            owned.drop_top("f:status");
        } else if sub == "status" {
            owned.keep_top("f:status");
        }
        let mut entry = self.entry(cx, kind, sub, owned.clone());
        if timeless {
            entry.time = None;
        }
        let mut entries = managed::entries(live);
        if entries.is_empty() {
            // What is there already belongs to someone, though nobody knows whom.
            let mut fields = managed::field_set(kind, live);
            if kind.has(crate::kind::Sub::Status) {
                fields.drop_top("f:status");
            }
            let before =
                Entry { apply: false, manager: BEFORE_FIRST_APPLY.to_owned(), ..self.entry(cx, kind, "", fields) };
            entries.push(before);
        }
        let mine = entries.iter().position(|e| e.apply && e.manager == entry.manager && e.subresource == sub);
        let before = mine.map(|i| entries.remove(i));
        let mut bare = live.clone();
        path::meta_mut(&mut bare).remove("managedFields");
        let mut merged = bare.clone();
        let message = schema().message(kind.message());
        for (k, v) in config.iter().filter(|(k, _)| *k != "kind" && *k != "apiVersion") {
            if k == "status" && sub.is_empty() && kind.has(crate::kind::Sub::Status) {
                continue;
            }
            if let Some(field) = message.field(k) {
                merge_value(merged.entry(k).or_insert(Value::Null), v, &field.ty, Some(field));
            }
        }
        if let Some(before) = &before {
            // What it owned and says no more, and nobody else owns, goes.
            let mut gone = before.fields.with_parents().difference(&owned.with_parents());
            for e in &entries {
                gone = gone.difference(&e.fields.with_parents());
            }
            prune(&mut merged, &gone, kind);
        }
        let Decoded { value: normal, .. } = decode::from_value(kind.message(), Value::Object(merged.clone()))
            .map_err(|e| ApiError::internal(format!("failed to convert merged object: {e}")))?;
        let comparison = managed::compare(kind, &bare, &normal);
        let mut changed = comparison.modified;
        changed.absorb(&comparison.added);
        let mut conflicts: Vec<(String, String)> = Vec::new();
        for e in &mut entries {
            let taken = e.fields.intersection(&changed).intersection(&owned);
            if taken.is_nothing() {
                continue;
            }
            if force {
                e.fields = e.fields.difference(&taken);
            } else {
                let who = describe(e);
                conflicts.extend(taken.paths().into_iter().map(|p| (who.clone(), p)));
            }
        }
        if !conflicts.is_empty() {
            return Err(conflict(&conflicts));
        }
        if let Some(before) = &before
            && before.fields == entry.fields
        {
            entry.time = before.time.clone();
        }
        entries.push(entry);
        managed::set_entries(&mut merged, entries);
        Ok(merged)
    }

    /// Apply of a Scale.
    pub(crate) fn apply_scale(&mut self, cx: &mut Context<'_>, old: &Arc<Object>) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let scale = configuration(cx, "Scale", "autoscaling/v1", "autoscaling.Scale")?;
        let replicas = path::int(&scale, &["spec", "replicas"]).unwrap_or(0);
        if replicas < 0 {
            let cause = Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0");
            return Err(ApiError::invalid("autoscaling", "Scale", &old.key.name, &[cause]));
        }
        let Value::Object(config) = json!({ "spec": { "replicas": replicas } }) else {
            return Err(ApiError::unprocessable());
        };
        let live = old.value();
        let merged = self.merge_config(cx, kind, &live, &config, "scale", true)?;
        let Decoded { mut value, .. } = decode::from_value(kind.message(), Value::Object(merged))
            .map_err(|e| ApiError::internal(format!("failed to convert merged object: {e}")))?;
        fill_meta(&mut value, &live);
        if live.get("spec") != value.get("spec") {
            let generation = path::int(&live, &["metadata", "generation"]).unwrap_or(0) + 1;
            path::meta_mut(&mut value).insert("generation".into(), generation.into());
        }
        let answer = self.commit(cx, old, &live, value)?;
        Ok(crate::subresource::scale_of_answer(kind, answer))
    }
}

/// The manager of what was there before anyone applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Reads the configuration of an apply, which may leave out what is required of an object.
fn configuration(cx: &Context<'_>, kind: &str, api_version: &str, message: &str) -> Result<Obj, ApiError> {
    let value =
        crate::yaml::parse(&cx.request.body).map_err(|e| ApiError::bad_request(format!("error decoding YAML: {e}")))?;
    let Value::Object(mut map) = value else {
        return Err(ApiError::bad_request("error decoding YAML: the configuration is no object"));
    };
    let (got_kind, got_version) =
        (path::text(&map, &["kind"]).to_owned(), path::text(&map, &["apiVersion"]).to_owned());
    if got_kind != kind || got_version != api_version {
        let (group, version) = got_version.split_once('/').unwrap_or(("", &got_version));
        return Err(ApiError::bad_request(format!("invalid object type: {group}/{version}, Kind={got_kind}")));
    }
    if path::at(&map, &["metadata", "managedFields"]).is_some() {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let name = path::meta_text(&map, "name");
    if !name.is_empty() && name != cx.place.name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            cx.place.name
        )));
    }
    if cx.kind().namespaced {
        let namespace = path::meta_text(&map, "namespace");
        if !namespace.is_empty() && namespace != cx.place.namespace {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        path::meta_mut(&mut map).insert("namespace".into(), cx.place.namespace.clone().into());
    }
    map.remove("kind");
    map.remove("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let typed = |why: &str| {
        ApiError::internal(format!(
            "failed to create typed patch object ({}/{}; {group}/{version}, Kind={kind}): {why}",
            "", cx.place.name
        ))
    };
    let decoded = decode::from_value(schema().id(message), Value::Object(map.clone())).map_err(|e| typed(&e))?;
    let findings = decoded.warnings;
    let undeclared: Vec<String> = findings
        .iter()
        .filter_map(|f| f.strip_prefix("unknown field \"")?.strip_suffix('"'))
        .map(|f| format!(".{f}: field not declared in schema"))
        .collect();
    match undeclared.as_slice() {
        [] => Ok(map),
        [one] => Err(typed(one)),
        many => Err(typed(&format!("errors:\n  {}", many.join("\n  ")))),
    }
}

/// Who owns, as conflicts name it.
fn describe(e: &Entry) -> String {
    let sub = if e.subresource.is_empty() { String::new() } else { format!(" with subresource \"{}\"", e.subresource) };
    let using = if e.apply { String::new() } else { format!(" using {}", e.api_version) };
    format!("\"{}\"{sub}{using}", e.manager)
}

fn conflict(conflicts: &[(String, String)]) -> ApiError {
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(who, field)| {
            json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {who}"), "field": field })
        })
        .collect();
    let message = match conflicts {
        [(who, field)] => format!("Apply failed with 1 conflict: conflict with {who}: {field}"),
        many => {
            let mut text = format!("Apply failed with {} conflicts: ", many.len());
            let mut last = "";
            let mut groups: Vec<String> = Vec::new();
            for (who, field) in many {
                if who != last {
                    groups.push(format!("conflicts with {who}:"));
                    last = who;
                }
                if let Some(group) = groups.last_mut() {
                    group.push_str(&format!("\n- {field}"));
                }
            }
            text.push_str(&groups.join("\n"));
            text
        }
    };
    ApiError::apply_conflict(message, causes)
}

/// Lays a configuration over a value.
fn merge_value(target: &mut Value, config: &Value, ty: &Type, field: Option<&Field>) {
    let atomic = field.is_some_and(|f| f.atomic);
    match (ty, config) {
        (Type::Message(id), Value::Object(map)) if !atomic && !schema().message(*id).atomic => {
            let message = schema().message(*id);
            let slot = object_in(target);
            for (k, v) in map {
                if let Some(f) = message.field(k) {
                    merge_value(slot.entry(k).or_insert(Value::Null), v, &f.ty, Some(f));
                }
            }
        }
        (Type::Any | Type::Map(_), Value::Object(map)) if !atomic => {
            let item = if let Type::Map(item) = ty { item } else { ty };
            let slot = object_in(target);
            for (k, v) in map {
                merge_value(slot.entry(k).or_insert(Value::Null), v, item, None);
            }
        }
        (Type::List(item), Value::Array(list)) => match field.map(|f| &f.list) {
            Some(kind @ (ListKind::Map(_) | ListKind::Set)) => merge_list(target, list, item, kind),
            _ => *target = config.clone(),
        },
        _ => *target = config.clone(),
    }
}

fn object_in(v: &mut Value) -> &mut Map<String, Value> {
    if !v.is_object() {
        *v = Value::Object(Map::new());
    }
    v.as_object_mut().expect("it was just made an object")
}

fn merge_list(target: &mut Value, config: &[Value], item: &Type, kind: &ListKind) {
    if !target.is_array() {
        *target = Value::Array(Vec::new());
    }
    let Value::Array(list) = target else { return };
    for c in config {
        let id = managed::element(c, kind);
        match list.iter_mut().find(|v| managed::element(v, kind) == id) {
            Some(present) => merge_value(present, c, item, None),
            None => list.push(c.clone()),
        }
    }
}

/// Removes fields of a set from an object.
fn prune(target: &mut Obj, set: &FieldSet, kind: &Kind) {
    let message = schema().message(kind.message());
    let mut value = Value::Object(std::mem::take(target));
    set.remove_from(&mut value, &|key| message.field(key));
    if let Value::Object(map) = value {
        *target = map;
    }
}
