//! The options of a deletion, from a body or a query.

use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{ApiError, Cause};
use crate::kind::Kind;
use crate::media::{self, Encoding};
use crate::options::validate_dry_run;
use crate::request::Request;
use crate::schema::schema;
use crate::store::Obj;
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
    pub(super) fn of(cx: &Context<'_>) -> Result<Self, ApiError> {
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
        Ok(decode::from_value(id, body).map_err(ApiError::bad_request)?.value)
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
    pub(super) fn finalizers(&self, kind: &Kind, present: &[Value]) -> Vec<Value> {
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
