//! `reflector.jsonl`: the bare reflector on a scripted server.
//!
//! Each case is replayed twice: recovering as client-go does, which must give what client-go gave; and as the reflector recovers by default,
//! where the rules of [`super::recovery`] say what is wanted instead.

mod recorder;

use std::time::Duration;

use sanskube::reflector::{Config, Recovery, Reflector};
use sanskube::request::{Call, CallIds};
use sanskube::time::{Instant, Now};
use serde_json::{Value, json};

use super::Check;
use super::recorded::{Objects, Recorded, op, transform};
use super::recovery::{Client, Failed, Recoveries, lead_elsewhere};
use super::script::{self, ABANDONED, Answer, NO_VERSION, has_no_version, millis};
use recorder::Recorder;

pub(super) fn replay(case: &Value, check: &mut Check) {
    for recovery in [Recovery::ClientGo, Recovery::Prudent] {
        replay_with(recovery, case.clone(), check);
    }
}

fn replay_with(recovery: Recovery, mut case: Value, check: &mut Check) {
    let (mut script, mut at) = (Script::at(&case, 0, recovery), 0);
    while let Some((place, name, op, want)) = op(&case, at) {
        let place = format!("{place}, recovering as {recovery:?}");
        let before = script.reflector.last_sync_resource_version().to_string();
        if !script.apply(name, op) {
            return check.fail(format!("{place}: nothing here does that"));
        }
        let got = order(&script.take(want["unordered"] == true));
        if has_no_version(op) {
            check.apply_rule(NO_VERSION);
            let want = json!({"rv": before, "errors": [{"class": "other", "phase": "list"}]});
            check.same(&place, &want, &got);
            script::give_version(&mut case, at);
            script = Script::at(&case, at, recovery);
            continue;
        }
        let mut want = order(want);
        if want["stream_abandoned"] == true {
            want["stream_abandoned"] = Value::Null;
            want["stream_stopped"] = json!(true);
            check.apply_rule(ABANDONED);
        }
        let mut rules = Vec::new();
        if recovery == Recovery::Prudent {
            rules = script.recoveries.apply(script.client(), op, &mut want, &got);
        }
        check.same(&place, &want, &got);
        at += 1;
        if lead_elsewhere(&rules) {
            script = Script::at(&case, at, recovery);
        } else {
            script.follow(op, &got);
        }
        rules.into_iter().for_each(|rule| check.apply_rule(rule));
    }
}

/// With the objects of an unordered replace in order.
fn order(result: &Value) -> Value {
    let mut result = result.clone();
    if result["unordered"] == true
        && let Some(objects) = result["store_calls"][0]["objs"].as_array_mut()
    {
        objects.sort_by_key(Value::to_string);
    }
    result
}

/// A reflector and its scripted server.
struct Script {
    store: Recorder,
    reflector: Reflector<Recorded>,
    now: Now,
    /// When the last operation began.
    before: Instant,
    ids: CallIds,
    call: Option<Call>,
    /// Whether the call in flight is an open stream.
    open: bool,
    requests: Vec<Value>,
    errors: Vec<Value>,
    /// The last failure of a call, and when it was.
    last_error: Option<Failed>,
    /// Whether what follows it was decided in client-go's way.
    as_client_go: bool,
    stream_stopped: bool,
    recoveries: Recoveries,
    /// Whether a version stands in for one that a list did not have.
    has_stand_in: bool,
}

impl Script {
    /// A reflector that is where client-go is after so many operations, and recovers in this way from then on.
    fn at(case: &Value, count: usize, recovery: Recovery) -> Self {
        let mut script = Self::new(case);
        for at in 0..count {
            let (_, name, op, _) = op(case, at).expect("it was done before");
            script.apply(name, op);
            let got = script.take(false);
            script.follow(op, &got);
        }
        script.reflector.set_recovery(recovery);
        script
    }

    fn new(case: &Value) -> Self {
        let given = &case["config"];
        let mut config = Config::new(script::CONFIG_MAPS);
        config.watch_list = given["watch_list"] == true;
        config.page_size = given["page_size"].as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        config.resync_period = millis(&given["resync_ms"]);
        config.internal_error_retry = millis(&given["max_internal_error_retry_ms"]);
        config.backoff.jitter = 0.0;
        config.recovery = Recovery::ClientGo;
        // Client-go itself never gives up a call: that is left to its transport.
        config.limits.list_timeout = Duration::MAX;
        config.limits.watch_grace = Duration::MAX;
        config.limits.call_timeout = Duration::MAX;
        Self {
            store: Recorder {
                objects: Objects::of(case),
                calls: Vec::new(),
                fails: Vec::new(),
                takes_bookmarks: given["bookmark_store"] == true,
                should_resync: given["should_resync"] != "never",
                transform: transform(&given["transform"]).filter(|_| given["watch_list"] == true),
            },
            reflector: Reflector::new(config),
            now: Now::default(),
            before: Instant::ZERO,
            ids: CallIds::default(),
            call: None,
            open: false,
            requests: Vec::new(),
            errors: Vec::new(),
            last_error: None,
            as_client_go: true,
            stream_stopped: false,
            recoveries: Recoveries::default(),
            has_stand_in: script::has_stand_in(case),
        }
    }

    fn client(&self) -> Client<'_> {
        let config = self.reflector.config();
        Client {
            failed: self.last_error.as_ref(),
            as_client_go: self.as_client_go,
            page: config.page_size.unwrap_or(500),
            resync: if self.store.should_resync {
                u64::try_from(config.resync_period.as_millis()).unwrap_or(0)
            } else {
                0
            },
            before: self.before,
            now: self.now.instant,
        }
    }

    fn follow(&mut self, op: &Value, got: &Value) {
        let mut recoveries = core::mem::take(&mut self.recoveries);
        recoveries.follow(self.client(), op, got);
        self.recoveries = recoveries;
    }

    /// Does one operation; whether there is such a one.
    fn apply(&mut self, name: &str, op: &Value) -> bool {
        self.before = self.now.instant;
        match name {
            "start" => {}
            "await_request" => {
                self.drain();
                while let (None, Some(due)) = (&self.call, self.reflector.next_deadline()) {
                    self.advance_to(due);
                }
            }
            "advance" => {
                let target = self.now.instant + millis(&op["ms"]);
                while let Some(due) = self.reflector.next_deadline().filter(|due| *due <= target) {
                    self.advance_to(due);
                }
                self.advance_to(target);
            }
            "store_fails" => self.store.fails.extend(op["call"].as_str().map(str::to_owned)),
            _ => match Answer::of(name, op, &self.store.objects) {
                Some(answer) => self.answer(answer),
                None => return false,
            },
        }
        self.drain();
        true
    }

    fn answer(&mut self, answer: Answer) {
        let Some(call) = &self.call else { return };
        let (id, now, ends) = (call.id, self.now, !matches!(answer, Answer::Open | Answer::Line(_)));
        if ends {
            self.stop();
        }
        let (reflector, store) = (&mut self.reflector, &mut self.store);
        let handled = match answer {
            Answer::Whole(head, body) => reflector
                .handle_head(now, id, head)
                .and_then(|()| body.chunks(100).try_for_each(|piece| reflector.handle_body(now, id, piece, store)))
                .and_then(|()| reflector.handle_end(now, id, store)),
            Answer::Open => {
                self.open = true;
                reflector.handle_head(now, id, script::OK)
            }
            Answer::Line(line) => reflector.handle_body(now, id, &line, store),
            Answer::End => reflector.handle_end(now, id, store),
            Answer::Failure(failure) => reflector.handle_failure(now, id, failure),
        };
        // A list that was given up is not awaited to its end.
        assert!(handled.is_ok() || self.reflector.in_flight() != Some(id), "the call is in flight");
    }

    fn stop(&mut self) {
        self.call = None;
        self.stream_stopped |= core::mem::take(&mut self.open);
    }

    fn advance_to(&mut self, instant: Instant) {
        self.now = self.now.after(instant.since(self.now.instant));
        self.reflector.handle_timeout(self.now, &mut self.store);
        self.drain();
    }

    fn drain(&mut self) {
        if let Some(error) = self.reflector.poll_error() {
            self.errors.extend(script::error(&error));
            // A refused event is no failure of a call.
            if error.step.is_some() {
                self.last_error = Some((self.now.instant, error));
                self.as_client_go = self.reflector.config().recovery == Recovery::ClientGo;
            }
        }
        if self.reflector.poll_cancel().is_some() {
            self.stop();
        }
        if let Some(call) = self.reflector.poll_call(self.now, &mut self.ids) {
            self.requests.push(script::request(&call, self.now.instant));
            self.call = Some(call);
        }
    }

    /// What came of the operation.
    fn take(&mut self, unordered: bool) -> Value {
        let mut result = json!({
            "requests": core::mem::take(&mut self.requests),
            "errors": core::mem::take(&mut self.errors),
            "store_calls": core::mem::take(&mut self.store.calls),
            "stream_stopped": core::mem::take(&mut self.stream_stopped).then_some(true),
            "rv": self.reflector.last_sync_resource_version().to_string(),
            "unordered": unordered.then_some(true),
        });
        if self.has_stand_in {
            script::without_stand_in(&mut result);
        }
        result
    }
}

#[cfg(test)]
mod tests;
