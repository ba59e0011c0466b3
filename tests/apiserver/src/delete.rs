//! Deletion: options, grace periods, finalizers and propagation
//! (apiserver `pkg/registry/rest/delete.go`, `pkg/registry/generic/registry/store.go`).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::context::{Answer, Context};
use crate::error::{ApiError, Cause};
use crate::kind::{Kind, NAMESPACES};
use crate::media::{self, Encoding};
use crate::object::build;
use crate::options::validate_dry_run;
use crate::render::List;
use crate::request::Request;
use crate::schema::schema;
use crate::selector::Selector;
use crate::server::ApiServer;
use crate::store::{Key, Obj, Object};
use crate::time::{Now, rfc3339};
use crate::{decode, json as path, protobuf};

/// What a deletion asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace: Option<i64>,
    pub(crate) policy: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) uid: Option<String>,
    pub(crate) rv: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    pub(crate) fn background() -> Self {
        Self { policy: Some("Background".to_owned()), ..Self::default() }
    }

    /// The options in the body, else in the query.
    fn of(cx: &Context<'_>) -> Result<Self, ApiError> {
        let value = if cx.request.body.is_empty() {
            let mut map = Obj::new();
            for (key, param) in [("gracePeriodSeconds", "gracePeriodSeconds")] {
                if let Some(n) = cx.query.int(param)? {
                    map.insert(key.into(), n.into());
                }
            }
            if let Some(policy) = cx.query.get("propagationPolicy") {
                map.insert("propagationPolicy".into(), policy.into());
            }
            if cx.query.get("orphanDependents").is_some() {
                map.insert("orphanDependents".into(), cx.query.flag("orphanDependents").into());
            }
            let dry_run = cx.query.all("dryRun");
            if !dry_run.is_empty() {
                map.insert("dryRun".into(), json!(dry_run));
            }
            map
        } else {
            Self::decode(cx.request)?
        };
        Self::from_value(&value)
    }

    /// The options in a body, in any of the encodings (apiserver `pkg/endpoints/handlers/delete.go`, `DeleteResource`).
    fn decode(request: &Request) -> Result<Obj, ApiError> {
        let id = schema().id("meta.DeleteOptions");
        let unreadable = |why: String| ApiError::bad_request(format!("couldn't get version/kind; {why}"));
        let body: Value = match media::content_type(request)? {
            Encoding::Json => serde_json::from_slice(&request.body).map_err(|e| {
                unreadable(format!("json parse error: {}", crate::body::go_syntax_error(&request.body, &e)))
            })?,
            Encoding::Yaml => crate::yaml::parse(&request.body).map_err(unreadable)?,
            Encoding::Protobuf => {
                let (kind, api_version, mut value) =
                    protobuf::decode(&request.body, id).map_err(ApiError::bad_request)?;
                value.insert("kind".into(), kind.into());
                value.insert("apiVersion".into(), api_version.into());
                value.into()
            }
        };
        let kind = body.get("kind").and_then(Value::as_str).unwrap_or("DeleteOptions");
        if kind != "DeleteOptions" {
            let version = body.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            return Err(ApiError::bad_request(format!(
                "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""
            )));
        }
        Ok(decode::from_value(id, &body).map_err(ApiError::bad_request)?.0)
    }

    pub(crate) fn from_value(value: &Obj) -> Result<Self, ApiError> {
        let text = |p: &[&str]| path::at(value, p).and_then(Value::as_str).map(str::to_owned);
        let dry_run: Vec<&str> = path::list(value, &["dryRun"]).iter().filter_map(Value::as_str).collect();
        let options = Self {
            grace: path::int(value, &["gracePeriodSeconds"]),
            policy: text(&["propagationPolicy"]),
            orphan_dependents: value.get("orphanDependents").and_then(Value::as_bool),
            uid: text(&["preconditions", "uid"]),
            rv: text(&["preconditions", "resourceVersion"]),
            dry_run: !dry_run.is_empty(),
        };
        let mut causes = Vec::new();
        if let Some(policy) = &options.policy {
            if options.orphan_dependents.is_some() {
                let detail = "orphanDependents and deletionPropagation cannot be both set";
                causes.push(Cause::invalid("propagationPolicy", &policy.as_str().into(), detail));
            } else if !["Foreground", "Background", "Orphan"].contains(&policy.as_str()) {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                causes.push(Cause::not_supported("propagationPolicy", policy, &supported));
            }
        }
        validate_dry_run(&dry_run, &mut causes);
        if causes.is_empty() {
            Ok(options)
        } else {
            Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &causes))
        }
    }

    /// The finalizers of an object under this policy (`deletionFinalizersForGarbageCollection`).
    fn finalizers(&self, kind: &Kind, present: &[Value]) -> Vec<Value> {
        let has = |name: &str| present.iter().any(|f| f == name);
        let (orphan, foreground) = match (self.orphan_dependents, self.policy.as_deref()) {
            (Some(orphan), _) => (orphan, false),
            (None, Some(policy)) => (policy == "Orphan", policy == "Foreground"),
            (None, None) if has("orphan") => (true, false),
            (None, None) if has("foregroundDeletion") => (false, true),
            (None, None) => (kind.traits.orphans_by_default, false),
        };
        let mut list: Vec<Value> =
            present.iter().filter(|f| *f != "orphan" && *f != "foregroundDeletion").cloned().collect();
        if orphan {
            list.push("orphan".into());
        }
        if foreground {
            list.push("foregroundDeletion".into());
        }
        list
    }
}

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
        let mut value = old_value.clone();
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
        if value != old_value && (stays || kind.traits.graceful) {
            let sealed = self.seal(kind, &mut value);
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
        let mut value = current.value();
        let sealed = self.seal(kind, &mut value);
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
