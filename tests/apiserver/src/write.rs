//! Writes: create, update and patch (apiserver `pkg/registry/rest`, `pkg/endpoints/handlers`).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{ApiError, Cause};
use crate::kind::{KINDS, Kind, NAMESPACES, Sub};
use crate::managed::{self, Writer};
use crate::media::{self, Encoding};
use crate::patch::{self, PatchError};
use crate::schema::schema;
use crate::server::{Answer, ApiServer, Context, build};
use crate::store::{Key, Obj, Object};
use crate::strategy::meta;
use crate::time::rfc3339;
use crate::{decode, encode, json, protobuf, quota, render};

/// The kinds of bodies besides the served ones.
const OTHER_KINDS: [(&str, &[&str]); 4] = [
    (
        "v1",
        &[
            "Binding",
            "Endpoints",
            "LimitRange",
            "List",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "PodTemplate",
            "Secret",
            "Service",
            "ServiceAccount",
            "Status",
        ],
    ),
    ("apps/v1", &["ControllerRevision", "DaemonSet", "Deployment", "StatefulSet"]),
    ("autoscaling/v1", &["HorizontalPodAutoscaler", "Scale"]),
    ("policy/v1", &["Eviction", "PodDisruptionBudget"]),
];

/// What a body should be.
pub(crate) struct Expected<'a> {
    pub(crate) kind: &'a str,
    pub(crate) api_version: &'a str,
    pub(crate) message: &'static str,
    /// The Go package of the internal type.
    pub(crate) package: &'a str,
}

/// Checks `dryRun`, `fieldManager` and `fieldValidation`.
pub(crate) fn validate_options(cx: &Context<'_>, options: &str) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    let apply = is_apply(cx);
    if options == "PatchOptions" {
        if !apply && cx.query.get("force").is_some() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        if apply && cx.query.text("fieldManager").is_empty() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
    }
    let manager = cx.query.text("fieldManager");
    if manager.len() > 128 {
        causes.push(Cause::too_long("fieldManager", 128));
    }
    if let Some((at, _)) = manager.char_indices().find(|(_, c)| c.is_control()) {
        let detail = format!("should only contain printable characters (invalid character at position {at})");
        causes.push(Cause::invalid("fieldManager", &manager.into(), &detail));
    }
    let dry_run = cx.query.all("dryRun");
    validate_dry_run(&dry_run, &mut causes);
    let validation = cx.query.text("fieldValidation");
    if !["", "Ignore", "Warn", "Strict"].contains(&validation) {
        causes.push(Cause::not_supported("fieldValidation", validation, &["", "Ignore", "Strict", "Warn"]));
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("meta.k8s.io", options, "", &causes)) }
}

/// The only dry run there is is `All`.
pub(crate) fn validate_dry_run(values: &[&str], causes: &mut Vec<Cause>) {
    if !values.iter().all(|v| *v == "All") {
        let list = serde_json::to_string(values).unwrap_or_default();
        causes.push(Cause::not_supported_json("dryRun", &list, &["All"]));
    }
}

fn is_apply(cx: &Context<'_>) -> bool {
    let content = cx.request.header("content-type").unwrap_or_default();
    cx.request.method == "PATCH" && content.starts_with("application/apply-patch+yaml")
}

/// Decodes a body into the normal form of a message.
pub(crate) fn decode_body(cx: &mut Context<'_>, expected: &Expected<'_>) -> Result<Obj, ApiError> {
    let body = &cx.request.body;
    let unrecognized = |why: String| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why} ({})",
            expected.kind,
            summary(body)
        ))
    };
    let text: Vec<u8> = match media::content_type(cx.request)? {
        Encoding::Json => body.clone(),
        Encoding::Yaml => {
            let value =
                crate::yaml::parse(body).map_err(|e| unrecognized(format!("couldn't get version/kind; {e}")))?;
            serde_json::to_vec(&value).unwrap_or_default()
        }
        Encoding::Protobuf => {
            let (kind, api_version, value) =
                protobuf::decode(body, schema().id(expected.message)).map_err(unrecognized)?;
            let mut map = value;
            map.insert("kind".into(), kind.into());
            map.insert("apiVersion".into(), api_version.into());
            serde_json::to_vec(&Value::Object(map)).unwrap_or_default()
        }
    };
    #[derive(serde::Deserialize, Default)]
    #[serde(default)]
    struct TypeMeta {
        #[serde(rename = "apiVersion")]
        api_version: Option<String>,
        kind: Option<String>,
    }
    let head: Option<TypeMeta> = match serde_json::from_slice::<Value>(&text) {
        Err(e) => {
            let why = format!("couldn't get version/kind; json parse error: {}", go_syntax_error(&text, &e));
            return Err(unrecognized(why));
        }
        Ok(Value::Object(_)) => Some(serde_json::from_slice(&text).unwrap_or_default()),
        Ok(Value::Null) => None,
        Ok(other) => {
            let what = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            let why = format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {what} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            );
            return Err(unrecognized(why));
        }
    };
    let head = head.unwrap_or_default();
    let given = |v: Option<String>, or: &str| v.filter(|v| !v.is_empty()).unwrap_or_else(|| or.to_owned());
    let kind = given(head.kind, expected.kind);
    let api_version = given(head.api_version, expected.api_version);
    let version = api_version.rsplit('/').next().unwrap_or_default().to_owned();
    let unhandled = |why: &str| {
        let expected = expected.kind;
        ApiError::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {expected}: {why}"))
    };
    if kind != expected.kind || api_version != expected.api_version {
        return Err(if is_known(&kind, &api_version) {
            let to = format!("{}.{}", expected.package, expected.kind);
            unhandled(&format!("converting ({version}.{kind}) to ({to}): unknown conversion"))
        } else {
            unhandled(&unregistered(&kind, &api_version))
        });
    }
    let (value, findings) = decode::from_slice(schema().id(expected.message), &text).map_err(|e| unhandled(&e))?;
    if !findings.is_empty() {
        match cx.query.text("fieldValidation") {
            "Strict" => {
                return Err(unhandled(&format!("strict decoding error: {}", findings.join(", "))));
            }
            "Ignore" => {}
            _ => cx.warnings.extend(findings),
        }
    }
    Ok(value)
}

fn is_known(kind: &str, api_version: &str) -> bool {
    let item = kind.strip_suffix("List").unwrap_or(kind);
    KINDS.iter().any(|k| k.kind == item && k.api_version() == api_version)
        || OTHER_KINDS.iter().any(|(v, kinds)| *v == api_version && (kinds.contains(&kind) || kinds.contains(&item)))
}

fn unregistered(kind: &str, api_version: &str) -> String {
    format!(
        "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
    )
}

/// The beginning of a body, as text or hexadecimal.
fn summary(body: &[u8]) -> String {
    const MAX: usize = 30;
    let more = if body.len() > MAX { " ..." } else { "" };
    let head = &body[..body.len().min(MAX)];
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => format!("{}{more}", head.iter().map(|b| format!("{b:02x}")).collect::<String>()),
    }
}

/// A syntax error in the words of Go's `encoding/json`.
pub(crate) fn go_syntax_error(text: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let offset =
        text.split_inclusive(|b| *b == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len).sum::<usize>();
    let at = (offset + error.column()).saturating_sub(1);
    let shown = text.get(at).map_or_else(String::new, |b| match b {
        b'\'' => "\\'".to_owned(),
        b if b.is_ascii_graphic() || *b == b' ' => char::from(*b).to_string(),
        b'\n' => "\\n".to_owned(),
        b => format!("\\x{b:02x}"),
    });
    let message = error.to_string();
    let place = if message.starts_with("trailing characters") {
        "after top-level value"
    } else if message.starts_with("expected `,` or `}`") {
        "after object key:value pair"
    } else if message.starts_with("expected `,` or `]`") {
        "after array element"
    } else if message.starts_with("expected `:`") {
        "after object key"
    } else if message.starts_with("key must be a string") || message.starts_with("trailing comma") {
        "looking for beginning of object key string"
    } else if message.starts_with("expected ident") {
        return format!("invalid character '{shown}' in literal");
    } else {
        "looking for beginning of value"
    };
    format!("invalid character '{shown}' {place}")
}

/// What the body of a request for this kind should be.
pub(crate) fn expected<'a>(kind: &'static Kind, api_version: &'a str) -> Expected<'a> {
    Expected { kind: kind.kind, api_version, message: kind.message_name(), package: kind.package() }
}

impl ApiServer {
    pub(crate) fn create(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        validate_options(cx, "CreateOptions")?;
        let kind = cx.place.kind;
        let value = decode_body(cx, &expected(kind, &kind.api_version()))?;
        self.insert(cx, value)
    }

    /// Stores a new object, given in the form it came in.
    pub(crate) fn insert(&mut self, cx: &mut Context<'_>, mut value: Obj) -> Result<Answer, ApiError> {
        check_namespace(cx, &mut value)?;
        (cx.place.kind.strategy.default)(&mut value);
        self.record_managers(cx, None, &mut value, "", false);
        self.insert_owned(cx, value)
    }

    /// The same, once it is known who owns which field.
    pub(crate) fn insert_owned(&mut self, cx: &mut Context<'_>, mut value: Obj) -> Result<Answer, ApiError> {
        let kind = cx.place.kind;
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
            let name = self.generate_name(&generate);
            meta.insert("name".into(), name.into());
        }
        meta.insert("uid".into(), self.uid().into());
        meta.insert("creationTimestamp".into(), rfc3339(cx.now.wall).into());
        json::set(meta, "generation", kind.traits.generation.then(|| 1.into()));
        dedupe_owners(cx, &mut value);
        (strategy.prepare_create)(&mut value, cx.now);
        let mut causes = Vec::new();
        meta::validate(&value, kind.namespaced, strategy.name, &mut causes);
        (strategy.validate)(&value, &mut causes);
        let name = json::meta_text(&value, "name").to_owned();
        if !causes.is_empty() {
            let stored = &KINDS[kind.table];
            return Err(ApiError::invalid(stored.group, stored.kind, &name, &causes));
        }
        let key = Key::new(&cx.place.namespace, &name);
        quota::admit(self, cx, &value)?;
        if self.store.get(kind.table, &key).is_some() {
            return Err(ApiError::already_exists(kind.subject(), &name));
        }
        if cx.dry_run() {
            return Ok(self.dry_answer(201, kind, &value, 0));
        }
        let sealed = self.seal(kind.table, &mut value);
        self.stats.writes += 1;
        let object = self.store.put(kind.table, sealed);
        self.after_write(cx.now, kind.table, &object);
        Ok(Answer::Object { status: 201, kind, object })
    }

    /// The answer to a dry run: the object as it would be, at version `rv`.
    pub(crate) fn dry_answer(&self, status: u16, kind: &'static Kind, value: &Obj, rv: u64) -> Answer {
        Answer::Object { status, kind, object: Arc::new(build(kind.table, value, rv)) }
    }

    /// The NamespaceLifecycle plugin: nothing is made in a namespace that is not there or ends.
    fn admit_namespace(&self, cx: &Context<'_>, value: &Obj) -> Result<(), ApiError> {
        let kind = cx.place.kind;
        if !kind.namespaced {
            return Ok(());
        }
        let namespace = &cx.place.namespace;
        match self.namespace_terminates(namespace) {
            None => Err(ApiError::not_found(KINDS[NAMESPACES].subject(), namespace)),
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
        let kind = cx.place.kind;
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

    /// PUT of an object, its status or its finalizers.
    pub(crate) fn replace(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        validate_options(cx, "UpdateOptions")?;
        let kind = cx.place.kind;
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
        let kind = cx.place.kind;
        let sub = cx.place.sub.map_or("", Sub::name);
        let mut value = value;
        (kind.strategy.default)(&mut value);
        let old_served = render::object_value(kind, old);
        self.check_version(cx, old, &value)?;
        fill_meta(&mut value, &old_served);
        if kind.has(Sub::Status) {
            // A field that this resource cannot write is nobody's doing (`GetResetFields`).
            let reset = if cx.place.sub == Some(Sub::Status) { "spec" } else { "status" };
            json::set(&mut value, reset, old_served.get(reset).cloned());
        }
        self.record_managers(cx, Some(&old_served), &mut value, sub, false);
        self.finish_update(cx, old, value)
    }

    /// The resourceVersion of an update is a precondition.
    pub(crate) fn check_version(&self, cx: &Context<'_>, old: &Object, value: &Obj) -> Result<(), ApiError> {
        let kind = cx.place.kind;
        match json::meta_text(value, "resourceVersion") {
            "" | "0" if kind.traits.unconditional_update => Ok(()),
            "" | "0" => {
                let cause = Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update");
                Err(ApiError::invalid(kind.group, kind.resource, &old.key.name, &[cause]))
            }
            rv if rv == old.rv.to_string() => Ok(()),
            _ => Err(ApiError::modified(kind.subject(), &old.key.name)),
        }
    }

    /// The rest of an update, once it is known who owns which field.
    pub(crate) fn finish_update(
        &mut self,
        cx: &mut Context<'_>,
        old: &Arc<Object>,
        value: Obj,
    ) -> Result<Answer, ApiError> {
        let kind = cx.place.kind;
        let old_value = old.value();
        let mut value = to_stored(kind, value);
        let strategy = &kind.strategy;
        match cx.place.sub {
            Some(Sub::Status) => (strategy.prepare_status)(&mut value, &old_value, cx.now),
            Some(Sub::Finalize) => crate::strategy::keep_status(&mut value, &old_value),
            _ => (strategy.prepare_update)(&mut value, &old_value),
        }
        if kind.traits.generation && cx.place.sub.is_none() && value.get("spec") != old_value.get("spec") {
            let generation = json::int(&old_value, &["metadata", "generation"]).unwrap_or(0) + 1;
            json::meta_mut(&mut value).insert("generation".into(), generation.into());
        }
        dedupe_owners(cx, &mut value);
        let mut causes = Vec::new();
        // Once for every kind, and again by each kind's own validation.
        meta::validate_update(&value, &old_value, &mut causes);
        meta::validate_update(&value, &old_value, &mut causes);
        meta::validate_common(json::meta(&value), &mut causes);
        if strategy.revalidates_meta && cx.place.sub.is_none() {
            meta::validate_common(json::meta(&value), &mut causes);
        }
        match cx.place.sub {
            None => (strategy.validate_update)(&value, &old_value, &mut causes),
            Some(Sub::Status) => (strategy.validate_status)(&value, &old_value, &mut causes),
            Some(_) => {}
        }
        if !causes.is_empty() {
            let stored = &KINDS[kind.table];
            return Err(ApiError::invalid(stored.group, stored.kind, &old.key.name, &causes));
        }
        self.commit(cx, old, value)
    }

    /// Writes an update that is known to be right.
    pub(crate) fn commit(&mut self, cx: &Context<'_>, old: &Arc<Object>, mut value: Obj) -> Result<Answer, ApiError> {
        let kind = cx.place.kind;
        json::meta_mut(&mut value).insert("resourceVersion".into(), old.rv.to_string().into());
        let candidate = build(kind.table, &value, old.rv);
        if candidate.json == old.json {
            return Ok(Answer::Object { status: 200, kind, object: old.clone() });
        }
        if cx.dry_run() {
            return Ok(Answer::Object { status: 200, kind, object: Arc::new(candidate) });
        }
        if is_finished(&value, kind) {
            self.remove(cx.now, kind.table, old);
            return Ok(Answer::Object { status: 200, kind, object: Arc::new(candidate) });
        }
        let sealed = self.seal(kind.table, &mut value);
        self.stats.writes += 1;
        let object = self.store.put(kind.table, sealed);
        self.after_write(cx.now, kind.table, &object);
        Ok(Answer::Object { status: 200, kind, object })
    }

    /// PATCH of an object or its status.
    pub(crate) fn patch(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let content = cx.request.header("content-type").unwrap_or_default();
        let content = content.split(';').next().unwrap_or_default().trim().to_owned();
        if !PATCH_TYPES.contains(&content.as_str()) {
            return Err(ApiError::unsupported_media_type(&PATCH_TYPES.join(", ")));
        }
        validate_options(cx, "PatchOptions")?;
        if content == APPLY {
            return self.apply(cx);
        }
        let kind = cx.place.kind;
        let old = self.find(cx)?;
        let served = render::object_value(kind, &old);
        let mut value = patched(cx, kind.message(), kind.kind, &kind.api_version(), &served)?;
        check_name(cx, &value)?;
        check_namespace(cx, &mut value)?;
        self.update(cx, &old, value)
    }
}

const APPLY: &str = "application/apply-patch+yaml";
const PATCH_TYPES: [&str; 4] =
    ["application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", APPLY];

/// Applies the patch of the request to an object in the form it is served in, and decodes the result.
pub(crate) fn patched(
    cx: &mut Context<'_>,
    message: usize,
    kind: &str,
    api_version: &str,
    served: &Obj,
) -> Result<Obj, ApiError> {
    let content = cx.request.header("content-type").unwrap_or_default();
    let body = &cx.request.body;
    let mut current = served.clone();
    current.insert("kind".into(), kind.into());
    current.insert("apiVersion".into(), api_version.into());
    let malformed = |why: String| ApiError::bad_request(format!("error decoding patch: {why}"));
    let parsed: Value = serde_json::from_slice(body).map_err(|e| malformed(go_syntax_error(body, &e)))?;
    let (result, shown): (Value, String) = if content.starts_with("application/json-patch+json") {
        let Value::Array(operations) = &parsed else {
            return Err(malformed("json: cannot unmarshal object into Go value of type jsonpatch.Patch".to_owned()));
        };
        let result = patch::json_patch(&Value::Object(current), operations).map_err(|_| ApiError::unprocessable())?;
        let touched = touched_by(operations);
        let shown = patched_text(message, &result, &touched);
        (result, shown)
    } else {
        let Value::Object(patch_map) = &parsed else {
            let what = match parsed {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            return Err(malformed(format!(
                "json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
            )));
        };
        if content.starts_with("application/merge-patch+json") {
            let mut result = Value::Object(current);
            patch::merge(&mut result, &parsed);
            let shown = patched_text(message, &result, &parsed);
            (result, shown)
        } else {
            patch::strategic(message, &mut current, patch_map).map_err(|e| match e {
                PatchError::Inapplicable => ApiError::unprocessable(),
                PatchError::NoMergeKey { item, key } => {
                    ApiError::internal(format!("map: {} does not contain declared merge key: {key}", go_text(&item)))
                }
                PatchError::Malformed(why) => ApiError::bad_request(why),
            })?;
            (Value::Object(current), go_text(&parsed))
        }
    };
    let invalid = |why: &str| {
        let cause = Cause::invalid("patch", &shown.as_str().into(), why);
        ApiError::invalid("", "", "", &[cause])
    };
    let (got_kind, got_version) = (
        result.get("kind").and_then(Value::as_str).unwrap_or_default(),
        result.get("apiVersion").and_then(Value::as_str).unwrap_or_default(),
    );
    if got_kind != kind || got_version != api_version {
        let version = got_version.rsplit('/').next().unwrap_or_default();
        let why = if is_known(got_kind, got_version) {
            let package = cx.place.kind.package();
            format!("converting ({version}.{got_kind}) to ({package}.{kind}): unknown conversion")
        } else {
            unregistered(got_kind, got_version)
        };
        return Err(invalid(&why));
    }
    let (value, findings) = decode::from_value(message, &result).map_err(|e| invalid(&e))?;
    if !findings.is_empty() {
        match cx.query.text("fieldValidation") {
            "Strict" => {
                return Err(invalid(&format!("strict decoding error: {}", findings.join(", "))));
            }
            "Ignore" => {}
            _ => cx.warnings.extend(findings),
        }
    }
    Ok(value)
}

/// A tree of the places that JSON patch operations touch.
fn touched_by(operations: &[Value]) -> Value {
    let mut tree = Value::Object(Map::new());
    for path in operations.iter().flat_map(|o| [o.get("path"), o.get("from")]).flatten().filter_map(Value::as_str) {
        let mut node = &mut tree;
        let steps: Vec<&str> = path.split('/').skip(1).collect();
        for step in &steps[..steps.len().saturating_sub(1)] {
            let Value::Object(map) = node else { break };
            node = map.entry(*step).or_insert_with(|| Value::Object(Map::new()));
        }
    }
    tree
}

/// A patched document as the real server quotes it: what was touched has its keys sorted, the rest
/// keeps the order of the structs.
fn patched_text(message: usize, value: &Value, touched: &Value) -> String {
    let mut out = Vec::new();
    write_patched(Some(message), value, Some(touched), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn write_patched(message: Option<usize>, value: &Value, touched: Option<&Value>, out: &mut Vec<u8>) {
    let Value::Object(map) = value else {
        return encode::any(value, out);
    };
    match (touched, message) {
        (Some(Value::Object(t)), _) => {
            out.push(b'{');
            for (i, (k, v)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                encode::string(k, out);
                out.push(b':');
                let field = message.and_then(|m| schema().message(m).field(k));
                match field.map(|f| &f.ty) {
                    Some(crate::schema::Type::Message(id)) => {
                        write_patched(Some(*id), v, t.get(k), out);
                    }
                    Some(ty) if t.get(k).is_none() => encode::typed(ty, v, out),
                    _ => write_patched(None, v, t.get(k), out),
                }
            }
            out.push(b'}');
        }
        (_, Some(id)) => encode::message(id, map, out),
        _ => encode::any(value, out),
    }
}

/// A value as Go's `%v` prints it.
fn go_text(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs: Vec<String> = map.iter().map(|(k, v)| format!("{k}:{}", go_text(v))).collect();
            format!("map[{}]", pairs.join(" "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::String(s) => s.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// The form of the table.
pub(crate) fn to_stored(kind: &Kind, value: Obj) -> Obj {
    match kind.convert {
        None => value,
        Some(c) => (c.to_stored)(value),
    }
}

fn check_name(cx: &Context<'_>, value: &Obj) -> Result<(), ApiError> {
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

fn check_namespace(cx: &Context<'_>, value: &mut Obj) -> Result<(), ApiError> {
    if !cx.place.kind.namespaced {
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

/// Owner references that name the same uid count once, and are warned about.
fn dedupe_owners(cx: &mut Context<'_>, value: &mut Obj) {
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

/// Whether an object that is being deleted waits for nothing any more.
pub(crate) fn is_finished(value: &Obj, kind: &Kind) -> bool {
    let meta = json::meta(value);
    let waits = json::int(meta, &["deletionGracePeriodSeconds"]).is_some_and(|s| s > 0);
    let held = !json::list(meta, &["finalizers"]).is_empty();
    let own = kind.table == NAMESPACES && !json::list(value, &["spec", "finalizers"]).is_empty();
    meta.contains_key("deletionTimestamp") && !waits && !held && !own
}
