//! Deletion: options, grace periods, finalizers and propagation
//! (apiserver `pkg/registry/rest/delete.go`, `pkg/registry/generic/registry/store.go`).

mod options;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

pub(crate) use options::DeleteOptions;

use crate::context::{Answer, Context};
use crate::error::ApiError;
use crate::json as path;
use crate::kind::{Kind, NAMESPACES};
use crate::object::build;
use crate::render::List;
use crate::selector::Selector;
use crate::server::ApiServer;
use crate::store::{Key, Obj, Object};
use crate::time::{Now, rfc3339};

/// What became of an object.
pub(crate) struct Deleted {
    pub(crate) object: Arc<Object>,
    pub(crate) gone: bool,
}

impl ApiServer {
    pub(crate) fn delete(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let options = DeleteOptions::of(cx)?;
        let kind = cx.kind();
        let key = cx.key();
        let Deleted { object, gone } = self.delete_object(cx.now, kind, &key, &options)?;
        if gone && !kind.traits.returns_deleted {
            let mut details = json!({ "name": &*key.name, "kind": kind.resource, "uid": &*object.uid });
            if !kind.group.is_empty() {
                details["group"] = kind.group.as_str().into();
            }
            return Ok(Answer::Success { status: 200, details: Some(details) });
        }
        Ok(Answer::Object { status: 200, object })
    }

    pub(crate) fn delete_collection(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let options = DeleteOptions::of(cx)?;
        let kind = cx.kind();
        let selector = Selector::parse(kind, cx.query.text("labelSelector"), cx.query.text("fieldSelector"))?;
        let found = self.store.table(kind.table).snapshot(&cx.place.namespace, None, None);
        let mut items = found.unwrap_or_default();
        items.retain(|o| selector.matches(o));
        let rv = self.store.rv().to_string();
        for item in &items {
            self.delete_object(cx.now, kind, &item.key, &options)?;
        }
        Ok(Answer::List(List { items, rv, token: String::new(), remaining: None }))
    }

    /// Deletes one object, as far as its grace period and finalizers let it.
    pub(crate) fn delete_object(
        &mut self,
        now: Now,
        kind: &Kind,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, ApiError> {
        let subject = kind.subject();
        let old = self.store.get(kind.table, key).cloned().ok_or_else(|| ApiError::not_found(subject, &key.name))?;
        check_preconditions(kind, &old, options)?;
        if kind.table == NAMESPACES && ["default", "kube-system", "kube-public"].contains(&&*key.name) {
            return Err(ApiError::forbidden(subject, &key.name, "this namespace may not be deleted"));
        }
        let old_value = old.value();
        let mut value = Obj::clone(&old_value);
        let pending = if kind.traits.graceful { mark_graceful(&mut value, now, options) } else { false };
        let present = path::list(&value, &["metadata", "finalizers"]).to_vec();
        let finalizers = options.finalizers(kind, &present);
        let held = !finalizers.is_empty()
            || kind.table == NAMESPACES && !path::list(&value, &["spec", "finalizers"]).is_empty();
        path::set(path::meta_mut(&mut value), "finalizers", (!finalizers.is_empty()).then(|| finalizers.into()));
        if held && !kind.traits.graceful && path::meta_text(&value, "deletionTimestamp").is_empty() {
            mark_deleted(&mut value, now, kind);
        }
        let stays = held || pending;
        if options.dry_run {
            let object = Arc::new(build(kind, &value, old.rv));
            return Ok(Deleted { object, gone: !stays });
        }
        let mut current = old;
        // A pod is marked first even when it goes at once; other kinds just go.
        if value != *old_value && (stays || kind.traits.graceful) {
            let sealed = self.seal(kind, value);
            self.stats.writes += 1;
            current = self.store.put(kind.table, sealed);
            self.after_write(now, kind.table, &current);
        }
        if stays {
            return Ok(Deleted { object: current, gone: false });
        }
        let last = self.remove(now, kind, &current);
        Ok(Deleted { object: last, gone: true })
    }

    /// Removes an object; its last state gets the version of the deletion.
    pub(crate) fn remove(&mut self, now: Now, kind: &Kind, current: &Arc<Object>) -> Arc<Object> {
        let value = Obj::clone(&current.value());
        let sealed = self.seal(kind, value);
        self.stats.writes += 1;
        let last = self.store.remove(kind.table, sealed);
        self.after_remove(now, kind.table, &last);
        last
    }
}

fn check_preconditions(kind: &Kind, old: &Object, options: &DeleteOptions) -> Result<(), ApiError> {
    let subject = crate::error::Subject { group: &kind.group, resource: &kind.kind };
    if let Some(uid) = &options.uid
        && **uid != *old.uid
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            old.uid
        );
        return Err(ApiError::conflict(subject, &old.key.name, &why));
    }
    if let Some(rv) = &options.rv
        && *rv != old.rv.to_string()
    {
        let why = format!(
            "the ResourceVersion in the precondition ({rv}) does not match the ResourceVersion in record ({}). The object might have been modified",
            old.rv
        );
        return Err(ApiError::conflict(subject, &old.key.name, &why));
    }
    Ok(())
}

fn raise_generation(meta: &mut Obj) {
    if let Some(generation) = path::int(meta, &["generation"])
        && generation > 0
    {
        meta.insert("generation".into(), (generation + 1).into());
    }
}

/// Marks an object that its finalizers hold.
fn mark_deleted(value: &mut Obj, now: Now, kind: &Kind) {
    let meta = path::meta_mut(value);
    meta.insert("deletionTimestamp".into(), rfc3339(now.wall).into());
    if kind.table == NAMESPACES {
        path::map_mut(value, &["status"]).insert("phase".into(), "Terminating".into());
    } else {
        meta.insert("deletionGracePeriodSeconds".into(), 0.into());
        raise_generation(meta);
    }
}

/// Sets or shortens the grace period of a pod (`rest.BeforeDelete`); whether the pod still waits for it.
fn mark_graceful(value: &mut Obj, now: Now, options: &DeleteOptions) -> bool {
    let bound = !path::text(value, &["spec", "nodeName"]).is_empty();
    let finished = ["Succeeded", "Failed"].contains(&path::text(value, &["status", "phase"]));
    let own = path::int(value, &["spec", "terminationGracePeriodSeconds"]).unwrap_or(30);
    let mut period = options.grace.unwrap_or(own);
    if !bound || finished {
        period = 0;
    }
    if period < 0 {
        period = 1;
    }
    let meta = path::meta_mut(value);
    let already = path::text(meta, &["deletionTimestamp"]).to_owned();
    if already.is_empty() {
        let at = now.later(Duration::from_secs(period.unsigned_abs())).wall;
        meta.insert("deletionTimestamp".into(), rfc3339(at).into());
        meta.insert("deletionGracePeriodSeconds".into(), period.into());
        raise_generation(meta);
        return period > 0;
    }
    let present = path::int(meta, &["deletionGracePeriodSeconds"]).unwrap_or(0);
    let asked = options.grace.is_some() || !bound || finished;
    if asked && period < present {
        let shift = jiff::SignedDuration::from_secs(period - present);
        let at = already.parse::<jiff::Timestamp>().ok().and_then(|t| t.checked_add(shift).ok()).unwrap_or(now.wall);
        meta.insert("deletionTimestamp".into(), rfc3339(at).into());
        meta.insert("deletionGracePeriodSeconds".into(), period.into());
        return period > 0;
    }
    present > 0
}
