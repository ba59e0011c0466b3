//! The scripted server of the recorded cases: its answers as the bytes of HTTP, and what it was asked as the cases put it.

use std::borrow::Cow;
use std::time::Duration;

use sanskube::object::Resource;
use sanskube::reflector::{Cause, Doing, Step, WatchError};
use sanskube::request::{Call, Failure, Head};
use sanskube::time::Instant;
use serde_json::{Map, Value, json};

use super::recorded::Objects;

/// A list or an object without a version is refused; client-go goes on from the empty version.
pub(super) const NO_VERSION: &str = "what-has-no-version-is-refused";
/// A stream that is of no use any more is stopped; client-go leaves one open when the store refuses a streaming list.
pub(super) const ABANDONED: &str = "an-abandoned-stream-is-stopped";

/// Whether an operation is such a list.
pub(super) fn has_no_version(op: &Value) -> bool {
    op["op"] == "list_returns" && op["rv"] == ""
}

/// What a list is given instead of no version, once it is clear that it is refused without one. A watch from there is in client-go just as one from
/// no version, so that what it does after such a list can be compared, too.
const STAND_IN: &str = "0";

/// Gives the list of an operation a version.
pub(super) fn give_version(case: &mut Value, at: usize) {
    case["ops"][at]["rv"] = json!(STAND_IN);
    case["stand_in"] = json!(true);
}

/// Whether a list of the case was given a version.
pub(super) fn has_stand_in(case: &Value) -> bool {
    case["stand_in"] == true
}

/// Shows no version where a result has the one that stands in for it. A list is asked for at that version where there is none, too.
pub(super) fn without_stand_in(result: &mut Value) {
    let hide = |version: Option<&mut Value>| {
        if let Some(version) = version.filter(|version| **version == STAND_IN) {
            *version = json!("");
        }
    };
    for field in ["rv", "store_rv"] {
        hide(result.get_mut(field));
    }
    for call in result["store_calls"].as_array_mut().into_iter().flatten() {
        hide(call.get_mut("rv"));
    }
    for request in result["requests"].as_array_mut().into_iter().flatten() {
        if request["verb"] == "watch" {
            hide(request.get_mut("resource_version"));
        }
    }
}

/// The head of an answer that is a success.
pub(super) const OK: Head = Head::new(200);

/// The collection that all cases are about.
pub(super) const CONFIG_MAPS: Resource = Resource {
    group: Cow::Borrowed(""),
    version: Cow::Borrowed("v1"),
    plural: Cow::Borrowed("configmaps"),
    kind: Cow::Borrowed("ConfigMap"),
};

/// What the server does in one operation.
pub(super) enum Answer {
    /// A whole answer: head and body.
    Whole(Head, Vec<u8>),
    /// The head of a stream.
    Open,
    /// A line of the stream.
    Line(Vec<u8>),
    /// The stream's end.
    End,
    /// The connection is lost or was never made.
    Failure(Failure),
}

impl Answer {
    /// What an operation of the script is on the wire; none where it is not the server's.
    pub(super) fn of(name: &str, op: &Value, objects: &Objects) -> Option<Self> {
        let line = |event_type: &str, object: Value| {
            let mut line = json!({"type": event_type, "object": object}).to_string().into_bytes();
            line.push(b'\n');
            Self::Line(line)
        };
        let error = &op["error"];
        Some(match name {
            "list_returns" => {
                let items: Vec<Value> = objects.list(&op["objs"]).into_iter().map(|object| object.0).collect();
                let body = json!({
                    "kind": "ConfigMapList",
                    "apiVersion": "v1",
                    "metadata": {"resourceVersion": op["rv"], "continue": op["continue"]},
                    "items": items,
                });
                Self::Whole(OK, body.to_string().into_bytes())
            }
            "list_fails" | "watch_fails" => match (error["transport"].as_str(), error["status"]["code"].as_u64()) {
                (Some("connection_refused"), _) => Self::Failure(Failure::Refused),
                (Some(_), _) => Self::Failure(Failure::Cut),
                (None, Some(code)) => {
                    let head = Head::new(u16::try_from(code).ok()?);
                    Self::Whole(head, error["status"].to_string().into_bytes())
                }
                (None, None) => return None,
            },
            "watch_opens" => Self::Open,
            "watch_closes" => Self::End,
            "event" => line(op["type"].as_str()?, objects.object(&op["obj"]).0),
            "error_event" if error["object"].is_object() => line("ERROR", error["object"].clone()),
            "error_event" => line("ERROR", error["status"].clone()),
            "bookmark" => {
                let mut object =
                    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": op["rv"]}});
                if op["initial_events_end"] == true {
                    object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
                }
                line("BOOKMARK", object)
            }
            _ => return None,
        })
    }
}

/// A request as the cases put it.
pub(super) fn request(call: &Call, now: Instant) -> Value {
    let (_, query) = call.request.path.split_once('?').unwrap_or_default();
    let query: Map<String, Value> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let flag = |name: &str| (query.get(name)? == "true").then_some(true);
    let number = |name: &str| query.get(name)?.as_str()?.parse::<u64>().ok();
    let mut request = json!({
        "verb": if call.watch { "watch" } else { "list" },
        "at_ms": now.as_nanos() / 1_000_000,
        "resource_version": query.get("resourceVersion").map_or("", |version| version.as_str().unwrap_or_default()),
        "resource_version_match": query.get("resourceVersionMatch"),
        "limit": number("limit"),
        "continue": query.get("continue"),
        "allow_watch_bookmarks": flag("allowWatchBookmarks"),
        "send_initial_events": flag("sendInitialEvents"),
    });
    let timeout = number("timeoutSeconds");
    if call.watch != timeout.is_some_and(|seconds| (300..600).contains(&seconds)) {
        request["timeout_seconds"] = json!(timeout);
    }
    request
}

/// An error as client-go's watch error handler is given it: none where a round goes on, or ends by an event.
pub(super) fn error(error: &WatchError) -> Option<Value> {
    let phase = match (error.doing, &error.cause) {
        (Doing::Streaming | Doing::Watching, _) => return None,
        (Doing::Opening, _) => "watch",
        (Doing::Pinned | Doing::Unpinned | Doing::Repeated, Cause::Store(_)) => "store",
        (Doing::Pinned | Doing::Unpinned | Doing::Repeated, _) => "list",
    };
    if !matches!(error.step, Some(Step::NewRound | Step::NewRoundUnpinned)) {
        return None;
    }
    Some(match &error.cause {
        Cause::Status(status) => {
            json!({"class": "status", "code": status.code, "reason": status.reason, "phase": phase})
        }
        Cause::Failed(Failure::Refused) => json!({"class": "connection_refused", "phase": phase}),
        _ => json!({"class": "other", "phase": phase}),
    })
}

/// A time of a case.
pub(super) fn millis(value: &Value) -> Duration {
    Duration::from_millis(value.as_u64().unwrap_or(0))
}
