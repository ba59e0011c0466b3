//! PATCH: applies the patch of a request to an object and decodes the result
//! (apiserver `pkg/endpoints/handlers/patch.go`).

use serde_json::{Map, Value};

use crate::body::{go_syntax_error, is_known, unregistered};
use crate::context::{Answer, Context};
use crate::create::{check_name, check_namespace};
use crate::decode::Decoded;
use crate::error::{ApiError, Cause};
use crate::options::validate_options;
use crate::patch::{self, PatchError};
use crate::schema::schema;
use crate::server::ApiServer;
use crate::store::Obj;
use crate::{decode, encode, render};

const APPLY: &str = "application/apply-patch+yaml";

const STRATEGIC: &str = "application/strategic-merge-patch+json";

const JSON_PATCH: &str = "application/json-patch+json";

const MERGE_PATCH: &str = "application/merge-patch+json";

const PATCH_TYPES: [&str; 4] = [JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY];

impl ApiServer {
    /// PATCH of an object or its status.
    pub(crate) fn patch(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let content = cx.request.header("content-type").unwrap_or_default();
        let content = content.split(';').next().unwrap_or_default().trim().to_owned();
        let mut types = PATCH_TYPES.to_vec();
        if cx.kind().is_open() {
            types.retain(|t| *t != STRATEGIC);
        }
        if !types.contains(&content.as_str()) {
            return Err(ApiError::unsupported_media_type(&types.join(", ")));
        }
        validate_options(cx, "PatchOptions")?;
        if content == APPLY {
            return self.apply(cx);
        }
        let kind = cx.kind();
        let old = self.find(cx)?;
        let served = render::object_value(kind, &old);
        let mut value = patched(cx, kind.message(), &kind.kind, &kind.api_version(), &served)?;
        check_name(cx, &value)?;
        check_namespace(cx, &mut value)?;
        self.update(cx, &old, value)
    }
}

/// Applies the patch of the request to an object in the form it is served in, and decodes the result.
pub(crate) fn patched(
    cx: &mut Context<'_>,
    message: usize,
    kind: &str,
    api_version: &str,
    served: &Obj,
) -> Result<Obj, ApiError> {
    let body = &cx.request.body;
    let parsed: Value = serde_json::from_slice(body).map_err(|e| malformed(&go_syntax_error(body, &e)))?;
    let patch = Patch { content: cx.request.header("content-type").unwrap_or_default(), message, parsed: &parsed };
    let mut current = served.clone();
    current.insert("kind".into(), kind.into());
    current.insert("apiVersion".into(), api_version.into());
    let result = patch.apply(current)?;
    let (got_kind, got_version) = (
        result.get("kind").and_then(Value::as_str).unwrap_or_default(),
        result.get("apiVersion").and_then(Value::as_str).unwrap_or_default(),
    );
    if got_kind != kind || got_version != api_version {
        let version = got_version.rsplit('/').next().unwrap_or_default();
        let why = if is_known(cx.kinds, got_kind, got_version) {
            let package = cx.kind().package();
            format!("converting ({version}.{got_kind}) to ({package}.{kind}): unknown conversion")
        } else {
            unregistered(got_kind, got_version)
        };
        return Err(patch.invalid(&result, &why));
    }
    // What is wrong with the result is told along with it, which decoding uses up.
    let again = |why: &str| {
        let mut current = served.clone();
        current.insert("kind".into(), kind.into());
        current.insert("apiVersion".into(), api_version.into());
        match patch.apply(current) {
            Ok(result) => patch.invalid(&result, why),
            Err(error) => error,
        }
    };
    let Decoded { value, warnings, .. } = decode::from_value(message, result).map_err(|e| again(&e))?;
    if !warnings.is_empty() {
        match cx.query.text("fieldValidation") {
            "Strict" => {
                return Err(again(&format!("strict decoding error: {}", warnings.join(", "))));
            }
            "Ignore" => {}
            _ => cx.warnings.extend(warnings),
        }
    }
    Ok(value)
}

/// A patch of an object of a message.
struct Patch<'a> {
    content: &'a str,
    message: usize,
    parsed: &'a Value,
}

impl Patch<'_> {
    fn apply(&self, mut current: Obj) -> Result<Value, ApiError> {
        if self.content.starts_with(JSON_PATCH) {
            let Value::Array(operations) = self.parsed else {
                return Err(malformed("json: cannot unmarshal object into Go value of type jsonpatch.Patch"));
            };
            return patch::json_patch(&Value::Object(current), operations).map_err(|_| ApiError::unprocessable());
        }
        let Value::Object(patch_map) = self.parsed else {
            let what = match self.parsed {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            let why = format!("json: cannot unmarshal {what} into Go value of type map[string]interface {{}}");
            return Err(malformed(&why));
        };
        if self.content.starts_with(MERGE_PATCH) {
            let mut result = Value::Object(current);
            patch::merge(&mut result, self.parsed);
            return Ok(result);
        }
        patch::strategic(self.message, &mut current, patch_map).map_err(|e| match e {
            PatchError::Inapplicable => ApiError::unprocessable(),
            PatchError::NoMergeKey { item, key } => {
                ApiError::internal(format!("map: {} does not contain declared merge key: {key}", go_text(&item)))
            }
            PatchError::Malformed(why) => ApiError::bad_request(why),
        })?;
        Ok(Value::Object(current))
    }

    /// What is wrong with the result of the patch.
    fn invalid(&self, result: &Value, why: &str) -> ApiError {
        let shown = match self.parsed {
            Value::Array(operations) => patched_text(self.message, result, &touched_by(operations)),
            parsed if self.content.starts_with(MERGE_PATCH) => patched_text(self.message, result, parsed),
            parsed => go_text(parsed),
        };
        let cause = Cause::invalid("patch", &shown.as_str().into(), why);
        ApiError::invalid("", "", "", &[cause])
    }
}

fn malformed(why: &str) -> ApiError {
    ApiError::bad_request(format!("error decoding patch: {why}"))
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
