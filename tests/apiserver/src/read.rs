//! Reads: one object, and lists with selectors, pages and versions
//! (API concepts, "Retrieving large results sets in chunks" and "Resource versions").

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{NO_PAD, URL_SAFE_NO_PAD};
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use crate::context::{Answer, Context};
use crate::error::{ApiError, Cause};
use crate::render::List;
use crate::selector::Selector;
use crate::server::ApiServer;
use crate::store::Key;

const EXPIRED_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
const EXPIRED_VERSION: &str = "The resourceVersion for the provided list is too old.";

/// As Go decodes: what the last character has too much is ignored.
const LENIENT: GeneralPurpose = {
    let config: GeneralPurposeConfig = NO_PAD;
    GeneralPurpose::new(&URL_SAFE, config.with_decode_allow_trailing_bits(true))
};

/// Where a list goes on.
struct Continue {
    /// `None` means the present state, whatever it is.
    rv: Option<u64>,
    start: Key,
}

impl Continue {
    /// The token. Its `start` is the key after the prefix of the list.
    fn token(rv: i64, namespace: &str, key: &Key, slash: &str) -> String {
        let start = if namespace.is_empty() && !key.namespace.is_empty() {
            format!("{slash}{}/{}\0", key.namespace, key.name)
        } else {
            format!("{slash}{}\0", key.name)
        };
        let start = serde_json::to_string(&start).expect("a string is always writable");
        URL_SAFE_NO_PAD.encode(format!("{{\"v\":\"meta.k8s.io/v1\",\"rv\":{rv},\"start\":{start}}}"))
    }

    fn parse(token: &str, namespace: &str, namespaced: bool) -> Result<Self, ApiError> {
        let fail =
            |why: &str| ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = LENIENT.decode(token.trim_end_matches('=')).map_err(|_| fail("illegal base64 data"))?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
            let first = bytes.first().copied().unwrap_or_default();
            fail(&format!("invalid character '{}' looking for beginning of value", character(first)))
        })?;
        let version = value.get("v").and_then(Value::as_str).unwrap_or_default();
        if version != "meta.k8s.io/v1" {
            return Err(fail(&format!("server does not recognize this encoded version \"{version}\"")));
        }
        let rv = value.get("rv").and_then(Value::as_i64).unwrap_or(0);
        if rv == 0 {
            return Err(fail("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        let start = value.get("start").and_then(Value::as_str).unwrap_or_default();
        let start = start.trim_start_matches('/').trim_end_matches('\0');
        if start.is_empty() {
            return Err(fail("encoded start key empty (version meta.k8s.io/v1)"));
        }
        let start = match start.split_once('/') {
            Some((ns, name)) if namespace.is_empty() && namespaced => Key::new(ns, name),
            _ => Key::new(namespace, start),
        };
        Ok(Self { rv: u64::try_from(rv).ok(), start })
    }
}

/// A byte as Go quotes it.
fn character(b: u8) -> String {
    if b.is_ascii_graphic() || b == b' ' { char::from(b).to_string() } else { format!("\\x{b:02x}") }
}

/// The version parameters of a list or watch, checked together (`ValidateListOptions`).
pub(crate) fn validate_list_options(cx: &Context<'_>, watch: bool) -> Result<(), ApiError> {
    let rv = cx.query.text("resourceVersion");
    let matching = cx.query.text("resourceVersionMatch");
    let initial = cx.query.get("sendInitialEvents");
    let field = "resourceVersionMatch";
    let mut causes = Vec::new();
    if watch {
        if initial.is_some() && matching != "NotOlderThan" {
            let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            causes.push(Cause::forbidden(field, detail));
        }
        if !matching.is_empty() {
            if initial.is_none() {
                let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                causes.push(Cause::forbidden(field, detail));
            }
            if matching != "NotOlderThan" {
                causes.push(Cause::not_supported(field, matching, &["NotOlderThan"]));
            }
        }
    } else {
        if !matching.is_empty() {
            if rv.is_empty() {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                causes.push(Cause::forbidden(field, detail));
            }
            if !cx.query.text("continue").is_empty() {
                let detail = "resourceVersionMatch is forbidden when continue is provided";
                causes.push(Cause::forbidden(field, detail));
            }
            if matching != "Exact" && matching != "NotOlderThan" {
                causes.push(Cause::not_supported(field, matching, &["Exact", "NotOlderThan", ""]));
            }
            if matching == "Exact" && rv == "0" {
                let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                causes.push(Cause::forbidden(field, detail));
            }
        }
        if initial.is_some() {
            causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &causes)) }
}

/// Parses a version; the wording of the fault if it is none.
pub(crate) fn parse_version(text: &str) -> Result<Option<u64>, String> {
    match text {
        "" | "0" => Ok(None),
        _ => text.parse().map(Some).map_err(|_| {
            let fault = format!("strconv.ParseUint: parsing \"{text}\": invalid syntax");
            format!("resourceVersion: Invalid value: \"{text}\": {fault}")
        }),
    }
}

impl ApiServer {
    pub(crate) fn read(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let text = cx.query.text("resourceVersion");
        let version = parse_version(text).map_err(ApiError::internal)?;
        let cached = self.cached_version(cx).filter(|_| !text.is_empty());
        let newest = cached.unwrap_or_else(|| self.store.rv());
        if let Some(rv) = version.filter(|rv| *rv > newest) {
            return Ok(self.too_large(cx, rv, newest));
        }
        let object = match cached {
            Some(rv) => {
                let found = self.store.table(cx.kind().table).object_at(&cx.key(), rv).cloned();
                found.ok_or_else(|| ApiError::not_found(cx.kind().subject(), &cx.place.name))?
            }
            None => self.find(cx)?,
        };
        Ok(Answer::Object { status: 200, object })
    }

    /// How far the cache of the replica has come that serves a request; none if it is up to date.
    pub(crate) fn cached_version(&self, cx: &Context<'_>) -> Option<u64> {
        let replicas = self.faults.replicas();
        let version = replicas.version(replicas.serving(cx.request))?;
        let table = self.store.table(cx.kind().table);
        let oldest = table.oldest_snapshot().max(table.oldest_watch());
        Some(version.max(oldest)).filter(|version| *version < self.store.rv())
    }

    /// The answer to a request for a version from the future: a 504 after a while.
    fn too_large(&self, cx: &Context<'_>, rv: u64, newest: u64) -> Answer {
        let at = cx.now.monotonic + self.config.future_version_wait;
        Answer::Delayed(at, ApiError::version_too_large(rv, newest))
    }

    pub(crate) fn list(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let kind = cx.kind();
        let selector = Selector::parse(kind, cx.query.text("labelSelector"), cx.query.text("fieldSelector"))?;
        let limit = cx.query.int("limit")?.unwrap_or(0);
        validate_list_options(cx, false)?;
        let version_text = cx.query.text("resourceVersion");
        let token = cx.query.text("continue");
        let version =
            parse_version(version_text).map_err(|e| ApiError::bad_request(format!("invalid resource version: {e}")))?;
        let cached = self.cached_version(cx).filter(|_| !version_text.is_empty());
        let newest = cached.unwrap_or_else(|| self.store.rv());
        if let Some(rv) = version.filter(|rv| *rv > newest) {
            return Ok(self.too_large(cx, rv, newest));
        }
        if !token.is_empty() && version.is_some() {
            return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
        }
        let namespace = cx.place.namespace.as_str();
        let from = match token {
            "" => None,
            _ => Some(Continue::parse(token, namespace, kind.namespaced)?),
        };
        let exact = cx.query.text("resourceVersionMatch") == "Exact"
            || version.is_some() && limit > 0 && cx.query.get("resourceVersionMatch").is_none();
        let at = match &from {
            Some(from) => from.rv,
            None if exact => version,
            None => cached,
        };
        // A list at version 0 comes from the cache, which has it all.
        let limit = if version_text == "0" && from.is_none() && kind.traits.cached { 0 } else { limit };
        let start = from.as_ref().map(|f| &f.start);
        let found = self.store.table(kind.table).snapshot(namespace, start, at);
        let Ok(mut items) = found else {
            return Err(match &from {
                Some(from) => {
                    let fresh = Continue::token(-1, namespace, &from.start, "");
                    ApiError { continue_token: Some(fresh), ..ApiError::expired(EXPIRED_CONTINUE) }
                }
                None => ApiError::expired(EXPIRED_VERSION),
            });
        };
        items.retain(|o| selector.matches(o));
        let rv = at.unwrap_or_else(|| self.store.rv());
        let mut list = List { items, rv: rv.to_string(), token: String::new(), remaining: None };
        let limit = usize::try_from(limit).unwrap_or(0);
        if limit > 0 && list.items.len() > limit {
            let rest = list.items.len() - limit;
            list.items.truncate(limit);
            if let Some(last) = list.items.last() {
                list.token = Continue::token(i64::try_from(rv).unwrap_or(i64::MAX), namespace, &last.key, "/");
            }
            list.remaining = selector.is_empty().then_some(rest as u64);
        }
        Ok(Answer::List(list))
    }

    pub(crate) fn pod_log(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let pod = self.find(cx)?;
        let node = crate::json::text(&pod.value(), &["spec", "nodeName"]).to_owned();
        if node.is_empty() {
            return Ok(Answer::Raw(crate::request::Response { status: 204, ..Default::default() }));
        }
        Err(ApiError::internal(format!(
            "Get \"https://{node}:10250/containerLogs\": this API server has no kubelets to ask for logs"
        )))
    }
}
