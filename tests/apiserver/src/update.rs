//! Updates: PUT, and what a patch or an apply comes to
//! (apiserver `pkg/registry/rest/update.go`, `pkg/registry/generic/registry/store.go`).

use std::sync::Arc;

use crate::body::{decode_body, expected};
use crate::context::{Answer, Context};
use crate::create::{check_name, check_namespace, dedupe_owners, to_stored};
use crate::error::{ApiError, Cause};
use crate::json;
use crate::kind::{Kind, NAMESPACES, Sub};
use crate::object::build;
use crate::options::validate_options;
use crate::render;
use crate::server::ApiServer;
use crate::store::{Obj, Object};
use crate::strategy::meta;

impl ApiServer {
    /// PUT of an object, its status or its finalizers.
    pub(crate) fn replace(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        validate_options(cx, "UpdateOptions")?;
        let kind = cx.kind();
        let mut value = decode_body(cx, &expected(kind, &kind.api_version()))?;
        check_name(cx, &value)?;
        check_namespace(cx, &mut value)?;
        let old = match self.find(cx) {
            Ok(old) => old,
            Err(_) if kind.traits.create_on_update && cx.place.sub.is_none() => {
                json::meta_mut(&mut value).remove("resourceVersion");
                return self.insert(cx, value);
            }
            Err(error) => return Err(error),
        };
        let uid = json::meta_text(&value, "uid");
        if !uid.is_empty() && *uid != *old.uid {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                kind.resource,
                if kind.namespaced {
                    format!("{}/{}", old.key.namespace, old.key.name)
                } else {
                    old.key.name.to_string()
                },
                old.uid
            );
            return Err(ApiError::conflict(kind.subject(), &old.key.name, &why));
        }
        self.update(cx, &old, value)
    }

    /// Stores a new version of an object, given in the form it is served in.
    pub(crate) fn update(&mut self, cx: &mut Context<'_>, old: &Arc<Object>, value: Obj) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let sub = cx.place.sub.map_or("", Sub::name);
        let mut value = value;
        (kind.strategy.default)(&mut value);
        let old_served = render::object_value(kind, old);
        self.check_version(cx, old, &value)?;
        fill_meta(&mut value, &old_served);
        if kind.has(Sub::Status) {
            // A field that this resource cannot write is nobody's doing (`GetResetFields`).
            let of_status = cx.place.sub == Some(Sub::Status);
            let resets = |key: &str| if of_status { key != "metadata" && key != "status" } else { key == "status" };
            value.retain(|key, _| !resets(key));
            value.extend(old_served.iter().filter(|(key, _)| resets(key)).map(|(k, v)| (k.clone(), v.clone())));
        }
        self.record_managers(cx, Some(&old_served), &mut value, sub, false);
        self.finish_update(cx, old, old_served, value)
    }

    /// The resourceVersion of an update is a precondition.
    pub(crate) fn check_version(&self, cx: &Context<'_>, old: &Object, value: &Obj) -> Result<(), ApiError> {
        let kind = cx.kind();
        match json::meta_text(value, "resourceVersion") {
            "" | "0" if kind.traits.unconditional_update => Ok(()),
            "" | "0" => {
                let cause = Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update");
                Err(ApiError::invalid(&kind.group, &kind.resource, &old.key.name, &[cause]))
            }
            rv if rv == old.rv.to_string() => Ok(()),
            _ => Err(ApiError::modified(kind.subject(), &old.key.name)),
        }
    }

    /// The rest of an update, once it is known who owns which field; both values are in the form that is
    /// served.
    pub(crate) fn finish_update(
        &mut self,
        cx: &mut Context<'_>,
        old: &Arc<Object>,
        old_served: Arc<Obj>,
        value: Obj,
    ) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let old_value = match kind.convert {
            None => old_served,
            Some(c) => Arc::new((c.to_stored)(Obj::clone(&old_served))),
        };
        let mut value = to_stored(kind, value);
        let strategy = &kind.strategy;
        match cx.place.sub {
            Some(Sub::Status) => (strategy.prepare_status)(&mut value, &old_value, cx.now),
            Some(Sub::Finalize) => crate::strategy::keep_status(&mut value, &old_value),
            _ => (strategy.prepare_update)(&mut value, &old_value),
        }
        if kind.traits.generation && cx.place.sub.is_none() && spec_differs(kind, &value, &old_value) {
            let generation = json::int(&old_value, &["metadata", "generation"]).unwrap_or(0) + 1;
            json::meta_mut(&mut value).insert("generation".into(), generation.into());
        }
        dedupe_owners(cx, &mut value);
        let mut causes = Vec::new();
        // Once for every kind, and again by each kind's own validation.
        meta::validate_update(&value, &old_value, kind, &mut causes);
        meta::validate_update(&value, &old_value, kind, &mut causes);
        meta::validate_common(json::meta(&value), kind, &mut causes);
        if strategy.revalidates_meta && cx.place.sub.is_none() {
            meta::validate_common(json::meta(&value), kind, &mut causes);
        }
        match cx.place.sub {
            None => (strategy.validate_update)(&value, &old_value, &mut causes),
            Some(Sub::Status) => (strategy.validate_status)(&value, &old_value, &mut causes),
            Some(_) => {}
        }
        if !causes.is_empty() {
            return Err(ApiError::invalid(kind.stored_group(), &kind.kind, &old.key.name, &causes));
        }
        self.commit(cx, old, &old_value, value)
    }

    /// Writes an update that is known to be right, if it changes anything.
    pub(crate) fn commit(
        &mut self,
        cx: &Context<'_>,
        old: &Arc<Object>,
        old_value: &Obj,
        mut value: Obj,
    ) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        json::meta_mut(&mut value).insert("resourceVersion".into(), old.rv.to_string().into());
        if value == *old_value {
            return Ok(Answer::Object { status: 200, object: old.clone() });
        }
        let finished = is_finished(&value, kind);
        if cx.dry_run() || finished {
            let candidate = build(kind, &value, old.rv);
            if !cx.dry_run() {
                self.remove(cx.now, kind, old);
            }
            return Ok(Answer::Object { status: 200, object: Arc::new(candidate) });
        }
        let sealed = self.seal(kind, value);
        self.stats.writes += 1;
        let object = self.store.put(kind.table, sealed);
        self.after_write(cx.now, kind.table, &object);
        self.after_release(cx.now, old, &object);
        Ok(Answer::Object { status: 200, object })
    }
}

/// Whether a change raises the generation: one of anything but metadata, and the status where that is a resource of its own.
fn spec_differs(kind: &Kind, new: &Obj, old: &Obj) -> bool {
    let counts = |key: &str| key != "metadata" && !(key == "status" && kind.has(Sub::Status));
    let keys = new.keys().chain(old.keys()).filter(|k| counts(k));
    keys.into_iter().any(|k| new.get(k) != old.get(k))
}

/// What the server keeps, whatever an update says (`rest.BeforeUpdate`).
pub(crate) fn fill_meta(value: &mut Obj, old: &Obj) {
    let old = json::meta(old).clone();
    let meta = json::meta_mut(value);
    json::set(meta, "generation", old.get("generation").cloned());
    for key in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let Some(v) = old.get(key) {
            json::default(meta, key, v.clone());
        }
    }
    meta.remove("selfLink");
}

/// Whether an object that is being deleted waits for nothing any more.
pub(crate) fn is_finished(value: &Obj, kind: &Kind) -> bool {
    let meta = json::meta(value);
    let waits = json::int(meta, &["deletionGracePeriodSeconds"]).is_some_and(|s| s > 0);
    let held = !json::list(meta, &["finalizers"]).is_empty();
    let own = kind.table == NAMESPACES && !json::list(value, &["spec", "finalizers"]).is_empty();
    meta.contains_key("deletionTimestamp") && !waits && !held && !own
}
