//! The rules for how failures are recovered from: which request follows, and when.
//!
//! They hold by default and not where recovery is to be as in client-go. Each says what is wanted of the operation in which client-go makes its
//! request; where the two part ways there, the client is then put where client-go is, so that what follows is compared, too.

use sanskube::reflector::{Cause, Doing, Step, WatchError};
use sanskube::time::Instant;
use serde_json::{Value, json};

use super::check::same;

/// After a watch expired the list is not pinned to the version that expired.
const EXPIRED: &str = "an-expired-watch-clears-the-pin";
/// A watch that reports an error is resumed; client-go lists anew.
pub(super) const REPORTED: &str = "a-reported-error-resumes-the-watch";
/// An unpinned list that is answered with 410 is not repeated at once.
const UNPINNED: &str = "an-unpinned-list-is-not-repeated-at-once";
/// A pinned list that the server calls a bad request is repeated without the version; client-go asks for the same again.
const BAD_VERSION: &str = "a-bad-version-clears-the-pin";
/// The back-off starts over after a healthy time; in client-go, every two minutes.
const HEALTHY: &str = "the-back-off-starts-over-after-a-healthy-time";

/// A failure of a call, and when it was.
pub(super) type Failed = (Instant, WatchError);

/// Whether a client has left client-go's way by these rules, and must be put where client-go is before what follows can be compared. Where a version
/// is all that differs the two are still asking for the same thing.
pub(super) fn lead_elsewhere(rules: &[&'static str]) -> bool {
    rules.iter().any(|rule| *rule != EXPIRED)
}

/// What is to be known of a client at the end of an operation.
#[derive(Clone, Copy)]
pub(super) struct Client<'a> {
    /// The last failure.
    pub(super) failed: Option<&'a Failed>,
    /// Whether what follows that failure was decided in client-go's way.
    pub(super) as_client_go: bool,
    /// The limit of a list that is not pinned.
    pub(super) page: u32,
    /// How often its store is resynced, in milliseconds; zero for never.
    pub(super) resync: u64,
    /// When the operation began.
    pub(super) before: Instant,
    /// When it has ended.
    pub(super) now: Instant,
}

/// Follows the requests, back-offs and resyncs of a case.
#[derive(Default)]
pub(super) struct Recoveries {
    /// When the store was given the last list, in milliseconds: resyncs count from there.
    listed: Option<u64>,
    /// Whether a watch has expired since.
    expired: bool,
    /// When the last back-off began and how long it was, in milliseconds.
    last: Option<(u64, u64)>,
    /// The limit of the last list that was asked for.
    limit: Value,
}

impl Recoveries {
    /// Changes what is wanted of an operation that gave `got` to what is wanted by default, and tells the rules that did.
    pub(super) fn apply(&self, client: Client<'_>, op: &Value, want: &mut Value, got: &Value) -> Vec<&'static str> {
        let mut applied = Vec::new();
        let Some((failed, error)) = client.failed.filter(|_| !client.as_client_go && !same(want, got)) else {
            return applied;
        };
        let status = &op["error"]["status"];
        if let (Doing::Pinned, Cause::Status(refusal)) = (error.doing, &error.cause)
            && refusal.is_bad_request()
            && op["op"] == "list_fails"
        {
            // In pages as large as those of the list that failed.
            want["requests"] =
                json!([{"verb": "list", "at_ms": millis(*failed), "resource_version": "", "limit": self.limit}]);
            want["errors"] = Value::Null;
            return vec![BAD_VERSION];
        }
        if self.is_resuming(client)
            && let Some(calls) = self.resyncs(client).filter(|calls| !same(&want["store_calls"], calls))
        {
            want["store_calls"] = calls;
            // Client-go resumes the others, too, if sooner.
            let is_other = error.doing == Doing::Opening
                || matches!(&error.cause, Cause::Status(status) if status.is_too_many_requests());
            applied.push(if is_other { HEALTHY } else { REPORTED });
        }
        let Some(wanted_at) = want["requests"][0]["at_ms"].as_u64() else { return applied };
        let at = self.due(*failed);
        let version = want["rv"].clone();
        let is_list = want["requests"][0]["verb"] == "list";
        let begins_round = is_list || want["requests"][0]["send_initial_events"] == true;
        match (error.doing, &error.cause) {
            (Doing::Unpinned, Cause::Status(_)) if op["op"] == "list_fails" => {
                want["requests"] = json!([]);
                want["errors"] = json!([{
                    "class": "status", "code": status["code"], "reason": status["reason"], "phase": "list",
                }]);
                return vec![UNPINNED];
            }
            (Doing::Watching, Cause::Status(_) | Cause::UnknownError)
                if error.step == Some(Step::Resume) && begins_round =>
            {
                want["requests"][0] = json!({
                    "verb": "watch", "at_ms": wanted_at, "resource_version": version, "allow_watch_bookmarks": true
                });
                applied = vec![REPORTED];
            }
            _ => {}
        }
        if begins_round && !applied.contains(&REPORTED) && self.expired && want["requests"][0]["resource_version"] != ""
        {
            want["requests"][0]["resource_version"] = json!("");
            if is_list && error.step != Some(Step::ListInFull) {
                want["requests"][0]["limit"] = json!(client.page);
            }
            applied.push(EXPIRED);
        }
        if wanted_at < at && self.backs_off(*failed, error) {
            want["requests"][0]["at_ms"] = json!(at);
            if at > millis(client.now) {
                want["requests"] = json!([]);
            }
            applied.retain(|rule| *rule != HEALTHY);
            applied.push(HEALTHY);
        }
        applied
    }

    /// Takes note of what was asked for and stored, and of the back-off that was waited out before.
    pub(super) fn follow(&mut self, client: Client<'_>, op: &Value, got: &Value) {
        let is_replaced =
            got["store_calls"].as_array().is_some_and(|calls| calls.iter().any(|call| call["call"] == "replace"));
        if is_replaced {
            self.listed = Some(millis(client.now));
        }
        // What an informer has stored does not show as a call.
        let is_listed = op["op"] == "list_returns"
            && (got["requests"][0]["verb"] == "watch" || got["errors"][0]["phase"] == "store");
        let is_streamed = op["op"] == "bookmark" && op["initial_events_end"] == true;
        let expires = |(at, error): &Failed| has_expired(error) && self.backs_off(*at, error);
        let is_over = client.as_client_go || is_replaced || is_listed || is_streamed;
        self.expired = !is_over && (self.expired || client.failed.is_some_and(expires));
        let request = &got["requests"][0];
        if request["verb"] == "list" {
            self.limit = request["limit"].clone();
        }
        let (Some((failed, error)), Some(at)) = (client.failed, request["at_ms"].as_u64()) else { return };
        if self.backs_off(*failed, error) {
            self.last = Some((millis(*failed), at - millis(*failed)));
        }
    }

    /// Whether a failure leads to a back-off, and it was not waited out yet.
    fn backs_off(&self, failed: Instant, error: &WatchError) -> bool {
        matches!(error.step, Some(Step::NewRound | Step::NewRoundUnpinned | Step::Resume))
            && self.last.is_none_or(|(began, _)| began != millis(failed))
    }

    /// Whether a watch is about to be resumed: its round goes on, and with it the resyncs.
    pub(super) fn is_resuming(&self, client: Client<'_>) -> bool {
        client.failed.filter(|_| !client.as_client_go).is_some_and(|(at, error)| {
            matches!(error.doing, Doing::Opening | Doing::Watching)
                && error.step == Some(Step::Resume)
                && self.backs_off(*at, error)
        })
    }

    /// The resyncs of the operation, if there are any.
    fn resyncs(&self, client: Client<'_>) -> Option<Value> {
        let listed = self.listed.filter(|_| client.resync > 0)?;
        let rounds = |at: Instant| (millis(at) - listed) / client.resync;
        let count = rounds(client.now) - rounds(client.before);
        (count > 0).then(|| (0..count).map(|_| json!({"call": "resync"})).collect())
    }

    /// When the back-off that began with a failure at `failed` ends, in milliseconds.
    fn due(&self, failed: Instant) -> u64 {
        let failed = millis(failed);
        let delay = match self.last {
            Some((began, delay)) if failed - began <= 120_000 => (2 * delay).min(30_000),
            _ => 800,
        };
        failed + delay
    }
}

/// Whether this is a watch that began at a version which the server does not have any more.
fn has_expired(error: &WatchError) -> bool {
    matches!(error.doing, Doing::Opening | Doing::Watching)
        && matches!(&error.cause, Cause::Status(status) if status.is_expired())
}

fn millis(instant: Instant) -> u64 {
    instant.as_nanos() / 1_000_000
}
