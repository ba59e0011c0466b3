//! Bodies of requests: what they should be, and the words for what they are not
//! (apiserver `pkg/endpoints/handlers/create.go`, `rest.go`).

use std::borrow::Cow;

use serde_json::Value;

use crate::context::Context;
use crate::decode::{Decoded, TypeMeta};
use crate::error::ApiError;
use crate::kind::{Kind, Kinds};
use crate::media::{self, Encoding};
use crate::schema::schema;
use crate::store::Obj;
use crate::{decode, protobuf};

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
    let text: Cow<'_, [u8]> = match media::content_type(cx.request)? {
        Encoding::Json => Cow::Borrowed(body),
        Encoding::Yaml => {
            let value =
                crate::yaml::parse(body).map_err(|e| unrecognized(format!("couldn't get version/kind; {e}")))?;
            serde_json::to_vec(&value).unwrap_or_default().into()
        }
        Encoding::Protobuf => {
            let (kind, api_version, value) =
                protobuf::decode(body, schema().id(expected.message)).map_err(unrecognized)?;
            let mut map = value;
            map.insert("kind".into(), kind.into());
            map.insert("apiVersion".into(), api_version.into());
            serde_json::to_vec(&Value::Object(map)).unwrap_or_default().into()
        }
    };
    // Mostly it is what it should be, and need not be looked at before. What decoding passes over may be no JSON.
    let decoded = decode::from_slice(schema().id(expected.message), &text);
    if !decoded.as_ref().is_ok_and(|decoded| decoded.warnings.is_empty() && expected.is_met_by(&decoded.type_meta)) {
        check_type(cx.kinds, &text, expected).map_err(|why| match why {
            Mistyped::Unhandled(error) => error,
            Mistyped::Unrecognized(why) => unrecognized(why),
        })?;
    }
    let unhandled = |why: &str| expected.unhandled(expected.kind, expected.api_version, why);
    let Decoded { value, warnings, .. } = decoded.map_err(|e| unhandled(&e))?;
    if !warnings.is_empty() {
        match cx.query.text("fieldValidation") {
            "Strict" => {
                return Err(unhandled(&format!("strict decoding error: {}", warnings.join(", "))));
            }
            "Ignore" => {}
            _ => cx.warnings.extend(warnings),
        }
    }
    Ok(value)
}

/// Why a body is not of the type that it should be.
enum Mistyped {
    Unhandled(ApiError),
    Unrecognized(String),
}

impl Expected<'_> {
    /// Whether a body that says this of its type is what it should be.
    fn is_met_by(&self, found: &TypeMeta) -> bool {
        let meets = |found: &Option<String>, wanted: &str| {
            found.as_deref().is_none_or(|found| found.is_empty() || found == wanted)
        };
        !found.odd && meets(&found.kind, self.kind) && meets(&found.api_version, self.api_version)
    }

    fn unhandled(&self, kind: &str, api_version: &str, why: &str) -> ApiError {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let expected = self.kind;
        ApiError::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {expected}: {why}"))
    }
}

/// Checks that a body is JSON, and of the type that it should be.
fn check_type(kinds: &Kinds, text: &[u8], expected: &Expected<'_>) -> Result<(), Mistyped> {
    #[derive(serde::Deserialize, Default)]
    #[serde(default)]
    struct TypeMeta {
        #[serde(rename = "apiVersion")]
        api_version: Option<String>,
        kind: Option<String>,
    }
    let head: TypeMeta = match serde_json::from_slice::<Value>(text) {
        Err(e) => {
            let why = format!("couldn't get version/kind; json parse error: {}", go_syntax_error(text, &e));
            return Err(Mistyped::Unrecognized(why));
        }
        Ok(Value::Object(_)) => serde_json::from_slice(text).unwrap_or_default(),
        Ok(Value::Null) => TypeMeta::default(),
        Ok(other) => {
            let what = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            return Err(Mistyped::Unrecognized(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {what} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            )));
        }
    };
    let given = |v: Option<String>, or: &str| v.filter(|v| !v.is_empty()).unwrap_or_else(|| or.to_owned());
    let kind = given(head.kind, expected.kind);
    let api_version = given(head.api_version, expected.api_version);
    if kind == expected.kind && api_version == expected.api_version {
        return Ok(());
    }
    let why = if is_known(kinds, &kind, &api_version) {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let to = format!("{}.{}", expected.package, expected.kind);
        format!("converting ({version}.{kind}) to ({to}): unknown conversion")
    } else {
        unregistered(&kind, &api_version)
    };
    Err(Mistyped::Unhandled(expected.unhandled(&kind, &api_version, &why)))
}

/// Whether the real API server has such a kind.
pub(crate) fn is_known(kinds: &Kinds, kind: &str, api_version: &str) -> bool {
    let item = kind.strip_suffix("List").unwrap_or(kind);
    kinds.iter().any(|k| k.kind == item && k.api_version() == api_version)
        || OTHER_KINDS.iter().any(|(v, kinds)| *v == api_version && (kinds.contains(&kind) || kinds.contains(&item)))
}

/// The complaint about a kind that nobody has.
pub(crate) fn unregistered(kind: &str, api_version: &str) -> String {
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
    let message = error.to_string();
    // Go reads 10 000 levels, this server 128: no object of Kubernetes has as many.
    if message.starts_with("recursion limit exceeded") {
        return "exceeded max depth".to_owned();
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
pub(crate) fn expected<'a>(kind: &'a Kind, api_version: &'a str) -> Expected<'a> {
    Expected { kind: &kind.kind, api_version, message: kind.message_name(), package: kind.package() }
}
