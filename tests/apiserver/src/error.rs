//! Refusals: the `Status` objects that answer a request that failed
//! (apimachinery `pkg/api/errors/errors.go`).

use serde_json::{Map, Value, json};

/// A refusal, ready to be sent as a `Status`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The `details` of the Status; absent, or an object that may be empty.
    pub(crate) details: Option<Value>,
    /// Seconds for a `Retry-After` header.
    pub(crate) retry_after: Option<u32>,
    /// Where an expired list goes on.
    pub(crate) continue_token: Option<String>,
}

/// What a refusal is about: `details` has group, kind (the plural resource) and name of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
}

impl Subject<'_> {
    /// `replicasets.apps`, or `pods` in the core group.
    pub(crate) fn qualified(&self) -> String {
        qualified(self.resource, self.group)
    }

    fn details(&self, name: &str) -> Map<String, Value> {
        let mut details = Map::new();
        if !name.is_empty() {
            details.insert("name".into(), name.into());
        }
        if !self.group.is_empty() {
            details.insert("group".into(), self.group.into());
        }
        details.insert("kind".into(), self.resource.into());
        details
    }
}

fn qualified(word: &str, group: &str) -> String {
    if group.is_empty() { word.to_owned() } else { format!("{word}.{group}") }
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>, details: Option<Value>) -> Self {
        Self { code, reason, message: message.into(), details, retry_after: None, continue_token: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message, None)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized", None)
    }

    pub(crate) fn forbidden(subject: Subject<'_>, name: &str, why: &str) -> Self {
        let named = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
        let message = format!("{}{named} is forbidden: {why}", subject.qualified());
        Self::new(403, "Forbidden", message, Some(subject.details(name).into()))
    }

    /// A path that is no resource.
    pub(crate) fn path_forbidden(message: &str) -> Self {
        Self::new(403, "Forbidden", message, Some(json!({})))
    }

    pub(crate) fn not_found(subject: Subject<'_>, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", subject.qualified());
        Self::new(404, "NotFound", message, Some(subject.details(name).into()))
    }

    /// A path that leads nowhere.
    pub(crate) fn no_such_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource", Some(json!({})))
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message, Some(json!({})))
    }

    /// A creation of a custom kind that is about to end (`apiextensions-apiserver` `pkg/apiserver/customresource_handler.go`).
    pub(crate) fn terminating_definition() -> Self {
        let message = "create not allowed while custom resource definition is terminating";
        Self::new(405, "MethodNotAllowed", message, Some(json!({})))
    }

    pub(crate) fn not_acceptable(message: impl Into<String>, details: Option<Value>) -> Self {
        Self::new(406, "NotAcceptable", message, details)
    }

    pub(crate) fn already_exists(subject: Subject<'_>, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", subject.qualified());
        Self::new(409, "AlreadyExists", message, Some(subject.details(name).into()))
    }

    pub(crate) fn conflict(subject: Subject<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", subject.qualified());
        Self::new(409, "Conflict", message, Some(subject.details(name).into()))
    }

    /// An update that carries an old resourceVersion.
    pub(crate) fn modified(subject: Subject<'_>, name: &str) -> Self {
        Self::conflict(
            subject,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// A server-side apply that would overwrite others' fields.
    pub(crate) fn apply_conflict(message: String, causes: Vec<Value>) -> Self {
        Self::new(409, "Conflict", message, Some(json!({ "causes": causes })))
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message, None)
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message, None)
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> Self {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}");
        Self::new(415, "UnsupportedMediaType", message, None)
    }

    /// The object is not valid: one cause for each fault.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let mut sentences: Vec<String> = Vec::new();
        for cause in causes {
            let sentence = format!("{}: {}", cause.field, cause.message);
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let joined = match sentences.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} \"{name}\" is invalid: {joined}", qualified(kind, group));
        let mut details = Map::new();
        for (key, text) in [("name", name), ("group", group), ("kind", kind)] {
            if !text.is_empty() {
                details.insert(key.into(), text.into());
            }
        }
        details.insert("causes".into(), causes.iter().map(Cause::to_value).collect());
        Self::new(422, "Invalid", message, Some(details.into()))
    }

    /// A patch that cannot be applied, without saying why.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, "Invalid", message, Some(json!({})))
    }

    pub(crate) fn too_many_requests(message: &str, causes: Vec<Value>) -> Self {
        Self::new(429, "TooManyRequests", message, Some(json!({ "causes": causes })))
    }

    /// What the real server did not foresee: a 500 without a reason.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message, None)
    }

    /// A version that this server has not reached.
    pub(crate) fn version_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let details = json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        });
        Self { retry_after: Some(1), ..Self::new(504, "Timeout", message, Some(details)) }
    }

    /// Any refusal, as a fault rule words it.
    pub(crate) fn injected(code: u16, reason: &'static str, message: &str, retry_after: Option<u32>) -> Self {
        let details = retry_after.map(|s| json!({ "retryAfterSeconds": s }));
        Self { retry_after, ..Self::new(code, reason, message, details) }
    }

    /// The `Status` object as JSON text.
    pub(crate) fn status(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(b"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
        if let Some(token) = &self.continue_token {
            out.extend_from_slice(format!("\"continue\":\"{token}\"").as_bytes());
        }
        out.extend_from_slice(b"},\"status\":\"Failure\",\"message\":");
        crate::encode::string(&self.message, &mut out);
        if !self.reason.is_empty() {
            out.extend_from_slice(format!(",\"reason\":\"{}\"", self.reason).as_bytes());
        }
        if let Some(details) = &self.details {
            out.extend_from_slice(b",\"details\":");
            write_details(details, &mut out);
        }
        out.extend_from_slice(format!(",\"code\":{}}}", self.code).as_bytes());
        out
    }
}

/// Details with their keys in the order of the Go struct.
fn write_details(details: &Value, out: &mut Vec<u8>) {
    let id = crate::schema::schema().id("meta.StatusDetails");
    match details {
        Value::Object(map) => crate::encode::message(id, map, out),
        other => crate::encode::any(other, out),
    }
}

/// One fault of an object (apimachinery `util/validation/field/errors.go`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cause {
    reason: &'static str,
    message: String,
    field: String,
}

impl Cause {
    /// `value` is the offending value as JSON.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::invalid_text(field, &value.to_string(), detail)
    }

    pub(crate) fn invalid_text(field: impl Into<String>, value: &str, detail: &str) -> Self {
        Self { reason: "FieldValueInvalid", message: format!("Invalid value: {value}: {detail}"), field: field.into() }
    }

    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {detail}"), field: field.into() }
    }

    pub(crate) fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        Self::not_supported_json(field, &format!("\"{value}\""), supported)
    }

    /// The value is given as JSON.
    pub(crate) fn not_supported_json(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|s| format!("\"{s}\"")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", list.join(", "));
        Self { reason: "FieldValueNotSupported", message, field: field.into() }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self { reason: "FieldValueDuplicate", message: format!("Duplicate value: {value}"), field: field.into() }
    }

    pub(crate) fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self { reason: "FieldValueNotFound", message: format!("Not found: {value}"), field: field.into() }
    }

    pub(crate) fn too_long(field: impl Into<String>, max: usize) -> Self {
        let message = format!("Too long: may not be more than {max} bytes");
        Self { reason: "FieldValueTooLong", message, field: field.into() }
    }

    fn to_value(&self) -> Value {
        json!({ "reason": self.reason, "message": self.message, "field": self.field })
    }
}
