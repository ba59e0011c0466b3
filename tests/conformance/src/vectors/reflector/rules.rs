//! Where the reflector knowingly differs from client-go, and what is wanted instead.

use sanskube::reflector::{Cause, Doing, Recovery, Step};
use sanskube::time::Instant;
use serde_json::{Value, json};

use super::super::check::same;
use super::super::script::{ABANDONED, NO_VERSION, has_no_version};
use super::Script;

/// After a watch expired the list is not pinned to the version that expired.
const EXPIRED: &str = "an-expired-watch-clears-the-pin";
/// A watch that reports an error is resumed; client-go lists anew.
const REPORTED: &str = "a-reported-error-resumes-the-watch";
/// An unpinned list that is answered with 410 is not repeated at once.
const UNPINNED: &str = "an-unpinned-list-is-not-repeated-at-once";
/// A pinned list that the server calls a bad request is repeated without the version; client-go asks for the same again.
const BAD_VERSION: &str = "a-bad-version-clears-the-pin";
/// The back-off starts over after a healthy time; in client-go, every two minutes.
const HEALTHY: &str = "the-back-off-starts-over-after-a-healthy-time";

/// What is wanted of an operation once the rules are applied.
pub(super) struct Applied {
    pub(super) want: Value,
    pub(super) names: Vec<&'static str>,
    /// Whether the rest of the case cannot be compared any more.
    pub(super) ends: bool,
}

/// Follows a case: its back-offs and versions.
#[derive(Default)]
pub(super) struct Rules {
    /// When the last back-off began and how long it was, in milliseconds.
    last: Option<(u64, u64)>,
    /// The version after the operation before.
    version: Value,
}

impl Rules {
    /// What is wanted of an operation that gave `got`.
    pub(super) fn apply(&mut self, script: &Script, op: &Value, want: Value, got: &Value) -> Applied {
        let mut applied = Applied { want, names: Vec::new(), ends: false };
        if has_no_version(op) {
            applied.want = json!({"rv": self.version, "errors": [{"class": "other", "phase": "list"}]});
            applied.names.push(NO_VERSION);
            applied.ends = true;
            return applied;
        }
        if applied.want["stream_abandoned"] == true {
            applied.want["stream_abandoned"] = Value::Null;
            applied.want["stream_stopped"] = json!(true);
            applied.names.push(ABANDONED);
        }
        if script.reflector.config().recovery == Recovery::Prudent && !same(&applied.want, got) {
            self.apply_recovery(script, op, &mut applied, got);
            applied.ends = !applied.names.is_empty();
        }
        self.follow(script, got);
        self.version = got["rv"].clone();
        applied
    }

    /// The rules of [`Recovery::Prudent`]: they change which request follows a failure, and when.
    fn apply_recovery(&self, script: &Script, op: &Value, applied: &mut Applied, got: &Value) {
        let Some((failed, error)) = &script.last_error else { return };
        if let (Doing::Pinned, Cause::Status(status)) = (error.doing, &error.cause)
            && status.is_bad_request()
            && op["op"] == "list_fails"
        {
            // In pages as large as those of the list that failed.
            applied.want["requests"] = json!([{
                "verb": "list",
                "at_ms": failed.as_nanos() / 1_000_000,
                "resource_version": "",
                "limit": got["requests"][0]["limit"],
            }]);
            applied.want["errors"] = Value::Null;
            applied.names.push(BAD_VERSION);
            return;
        }
        let request = &applied.want["requests"][0];
        let (Some(wanted_at), version) = (request["at_ms"].as_u64(), applied.want["rv"].clone()) else { return };
        let at = self.due(*failed);
        match (error.doing, &error.cause) {
            (Doing::Unpinned, Cause::Status(_)) if error.step == Some(Step::NewRound) && wanted_at < at => {
                applied.want["requests"] = json!([]);
                applied.want["errors"] = json!([{
                    "class": "status",
                    "code": op["error"]["status"]["code"],
                    "reason": op["error"]["status"]["reason"],
                    "phase": "list",
                }]);
                applied.names.push(UNPINNED);
                return;
            }
            (Doing::Opening | Doing::Watching, Cause::Status(status)) if status.is_expired() => {
                applied.want["requests"][0]["resource_version"] = json!("");
                if request_is_list(&applied.want) {
                    let page = script.reflector.config().page_size.unwrap_or(500);
                    applied.want["requests"][0]["limit"] = json!(page);
                }
                applied.names.push(EXPIRED);
            }
            (Doing::Watching, Cause::Status(_) | Cause::UnknownError)
                if error.step == Some(Step::Resume) && wanted_is_not_a_watch(&applied.want) =>
            {
                applied.want["requests"][0] = json!({
                    "verb": "watch", "at_ms": wanted_at, "resource_version": version, "allow_watch_bookmarks": true
                });
                applied.names.push(REPORTED);
            }
            _ => {}
        }
        if wanted_at < at {
            applied.want["requests"][0]["at_ms"] = json!(at);
            applied.names.push(HEALTHY);
        }
    }

    /// When the back-off that began with a failure at `failed` ends, in milliseconds.
    fn due(&self, failed: Instant) -> u64 {
        let failed = failed.as_nanos() / 1_000_000;
        let delay = match self.last {
            Some((began, delay)) if failed - began <= 120_000 => (2 * delay).min(30_000),
            _ => 800,
        };
        failed + delay
    }

    /// Takes note of a back-off that was waited out.
    fn follow(&mut self, script: &Script, got: &Value) {
        let Some((failed, error)) = &script.last_error else { return };
        let failed = failed.as_nanos() / 1_000_000;
        let backed_off = matches!(error.step, Some(Step::NewRound | Step::NewRoundUnpinned | Step::Resume));
        let known = self.last.is_some_and(|(began, _)| began == failed);
        if let (true, false, Some(at)) = (backed_off, known, got["requests"][0]["at_ms"].as_u64()) {
            self.last = Some((failed, at - failed));
        }
    }
}

fn request_is_list(want: &Value) -> bool {
    want["requests"][0]["verb"] == "list"
}

fn wanted_is_not_a_watch(want: &Value) -> bool {
    request_is_list(want) || want["requests"][0]["send_initial_events"] == true
}
