//! Creation (apiserver `pkg/registry/rest/create.go`).

use std::sync::Arc;

use serde_json::Value;

use crate::body::{decode_body, expected};
use crate::context::{Answer, Context};
use crate::error::{ApiError, Subject};
use crate::kind::Kind;
use crate::managed::{self, Writer};
use crate::object::build;
use crate::options::validate_options;
use crate::server::ApiServer;
use crate::store::{Key, Obj};
use crate::strategy::meta;
use crate::time::rfc3339;
use crate::{json, quota};

/// How many names are tried for an object that leaves its name to the server (`maxNameGenerationCreateAttempts`, KEP-4420).
const NAME_ATTEMPTS: u32 = 8;

impl ApiServer {
    pub(crate) fn create(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        validate_options(cx, "CreateOptions")?;
        let kind = cx.kind();
        if self.definition_of(kind).is_some_and(|d| d.deleting) {
            return Err(ApiError::terminating_definition());
        }
        let value = decode_body(cx, &expected(kind, &kind.api_version()))?;
        self.insert(cx, value)
    }

    /// Stores a new object, given in the form it came in.
    pub(crate) fn insert(&mut self, cx: &mut Context<'_>, mut value: Obj) -> Result<Answer, ApiError> {
        check_namespace(cx, &mut value)?;
        (cx.kind().strategy.default)(&mut value);
        self.record_managers(cx, None, &mut value, "", false);
        self.insert_owned(cx, value)
    }

    /// The same, once it is known who owns which field.
    pub(crate) fn insert_owned(&mut self, cx: &mut Context<'_>, mut value: Obj) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let strategy = &kind.strategy;
        (strategy.default)(&mut value);
        let mut value = to_stored(kind, value);
        self.admit_namespace(cx, &value)?;
        (strategy.admit)(&mut value)
            .map_err(|why| ApiError::forbidden(kind.subject(), name_or_prefix(&value), &why))?;
        let meta = json::meta_mut(&mut value);
        if !json::text(meta, &["resourceVersion"]).is_empty() {
            return Err(ApiError::internal("resourceVersion should not be set on objects to be created"));
        }
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
            meta.remove(key);
        }
        let generate = json::text(meta, &["generateName"]).to_owned();
        if json::text(meta, &["name"]).is_empty() && !generate.is_empty() {
            let mut name = self.generate_name(&generate);
            for _ in 1..NAME_ATTEMPTS {
                if self.store.get(kind.table, &Key::new(&cx.place.namespace, &name)).is_none() {
                    break;
                }
                name = self.generate_name(&generate);
            }
            meta.insert("name".into(), name.into());
        }
        meta.insert("uid".into(), self.uid().into());
        meta.insert("creationTimestamp".into(), rfc3339(cx.now.wall).into());
        json::set(meta, "generation", kind.traits.generation.then(|| 1.into()));
        dedupe_owners(cx, &mut value);
        (strategy.prepare_create)(&mut value, cx.now);
        let mut causes = Vec::new();
        meta::validate(&value, kind, &mut causes);
        (strategy.validate)(&value, &mut causes);
        let name = json::meta_text(&value, "name").to_owned();
        if !causes.is_empty() {
            return Err(ApiError::invalid(kind.stored_group(), &kind.kind, &name, &causes));
        }
        let key = Key::new(&cx.place.namespace, &name);
        quota::admit(self, cx, &value)?;
        if self.store.get(kind.table, &key).is_some() {
            return Err(ApiError::already_exists(kind.subject(), &name));
        }
        if cx.dry_run() {
            return Ok(self.dry_answer(201, kind, &value, 0));
        }
        let sealed = self.seal(kind, value);
        self.stats.writes += 1;
        let object = self.store.put(kind.table, sealed);
        self.after_write(cx.now, kind.table, &object);
        Ok(Answer::Object { status: 201, object })
    }

    /// The answer to a dry run: the object as it would be, at version `rv`.
    pub(crate) fn dry_answer(&self, status: u16, kind: &Kind, value: &Obj, rv: u64) -> Answer {
        Answer::Object { status, object: Arc::new(build(kind, value, rv)) }
    }

    /// The NamespaceLifecycle plugin: nothing is made in a namespace that is not there or ends.
    fn admit_namespace(&self, cx: &Context<'_>, value: &Obj) -> Result<(), ApiError> {
        let kind = cx.kind();
        if !kind.namespaced {
            return Ok(());
        }
        let namespace = &cx.place.namespace;
        match self.namespace_terminates(namespace) {
            None => Err(ApiError::not_found(Subject { group: "", resource: "namespaces" }, namespace)),
            Some(false) => Ok(()),
            Some(true) => {
                let name = name_or_prefix(value);
                let why =
                    format!("unable to create new content in namespace {namespace} because it is being terminated");
                let mut error = ApiError::forbidden(kind.subject(), name, &why);
                if let Some(Value::Object(details)) = &mut error.details {
                    let cause = serde_json::json!({
                        "reason": "NamespaceTerminating",
                        "message": format!("namespace {namespace} is being terminated"),
                        "field": "metadata.namespace",
                    });
                    details.insert("causes".into(), vec![cause].into());
                }
                Err(error)
            }
        }
    }

    pub(crate) fn record_managers(
        &self,
        cx: &Context<'_>,
        old: Option<&Obj>,
        new: &mut Obj,
        subresource: &str,
        timeless: bool,
    ) {
        if !self.config.managed_fields {
            json::meta_mut(new).remove("managedFields");
            return;
        }
        let kind = cx.kind();
        let time = rfc3339(cx.now.wall);
        let writer = Writer {
            manager: &cx.manager(),
            apply: false,
            api_version: &kind.api_version(),
            subresource,
            time: if timeless { None } else { Some(&time) },
        };
        managed::record_update(kind, old, new, &writer);
    }
}

/// The form of the table.
pub(crate) fn to_stored(kind: &Kind, value: Obj) -> Obj {
    match kind.convert {
        None => value,
        Some(c) => (c.to_stored)(value),
    }
}

pub(crate) fn check_name(cx: &Context<'_>, value: &Obj) -> Result<(), ApiError> {
    let wanted = &cx.place.name;
    match json::meta_text(value, "name") {
        "" => Err(ApiError::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        ))),
        name if name == wanted => Ok(()),
        name => Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        ))),
    }
}

pub(crate) fn check_namespace(cx: &Context<'_>, value: &mut Obj) -> Result<(), ApiError> {
    if !cx.kind().namespaced {
        return Ok(());
    }
    let meta = json::meta_mut(value);
    let namespace = json::text(meta, &["namespace"]);
    if namespace.is_empty() {
        meta.insert("namespace".into(), cx.place.namespace.clone().into());
        return Ok(());
    }
    if namespace != cx.place.namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// How admission calls an object that has no name yet.
fn name_or_prefix(value: &Obj) -> &str {
    match json::meta_text(value, "name") {
        "" => json::meta_text(value, "generateName"),
        name => name,
    }
}

/// Owner references that name the same uid count once, and are warned about.
pub(crate) fn dedupe_owners(cx: &mut Context<'_>, value: &mut Obj) {
    let owners = json::list(value, &["metadata", "ownerReferences"]);
    let mut seen: Vec<Value> = Vec::new();
    let mut twice: Vec<String> = Vec::new();
    for owner in owners {
        if seen.contains(owner) {
            twice.push(owner.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned());
        } else {
            seen.push(owner.clone());
        }
    }
    if !twice.is_empty() {
        json::meta_mut(value).insert("ownerReferences".into(), seen.into());
        cx.warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        ));
    }
}
