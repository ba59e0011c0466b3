//! `reflector.jsonl`: the bare reflector on a scripted server.
//!
//! Each case is replayed twice: recovering as client-go does, which must give what client-go gave from the first operation to the last;
//! and as the reflector recovers by default, up to the first operation where one of the [`rules`] holds.

mod rules;

use std::sync::Arc;
use std::time::Duration;

use sanskube::object::Transform;
use sanskube::reflector::{Config, Recovery, Reflector, ReflectorStore, WatchError};
use sanskube::request::{Call, CallIds};
use sanskube::resource_version::ResourceVersion;
use sanskube::time::{Instant, Now};
use serde_json::{Value, json};

use super::Check;
use super::recorded::{Objects, Recorded, ops, transform};
use super::script::{self, Answer, millis};
use rules::Rules;

pub(super) fn replay(case: &Value, check: &mut Check) {
    for recovery in [Recovery::ClientGo, Recovery::Prudent] {
        let mut script = Script::new(case, recovery);
        let mut rules = Rules::default();
        let mut left = ops(case).count();
        for (place, name, op, want) in ops(case) {
            left -= 1;
            if !script.apply(name, op) {
                return check.fail(format!("{place}: nothing here does that"));
            }
            let got = order(&script.take(want["unordered"] == true));
            let applied = rules.apply(&script, op, order(want), &got);
            for rule in applied.names {
                check.apply_rule(rule);
            }
            check.same(&format!("{place}, recovering as {recovery:?}"), &applied.want, &got);
            if applied.ends {
                check.skip_ops(left);
                break;
            }
        }
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
    ids: CallIds,
    call: Option<Call>,
    /// Whether the call in flight is an open stream.
    open: bool,
    requests: Vec<Value>,
    errors: Vec<Value>,
    /// The last failure of a call, and when it was.
    last_error: Option<(Instant, WatchError)>,
    stream_stopped: bool,
}

impl Script {
    fn new(case: &Value, recovery: Recovery) -> Self {
        let given = &case["config"];
        let mut config = Config::new(script::CONFIG_MAPS);
        config.watch_list = given["watch_list"] == true;
        config.page_size = given["page_size"].as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        config.resync_period = millis(&given["resync_ms"]);
        config.internal_error_retry = millis(&given["max_internal_error_retry_ms"]);
        config.backoff.jitter = 0.0;
        config.recovery = recovery;
        // Client-go itself never gives up a call: that is left to its transport.
        config.limits.list_timeout = Duration::MAX;
        config.limits.watch_grace = Duration::MAX;
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
            ids: CallIds::default(),
            call: None,
            open: false,
            requests: Vec::new(),
            errors: Vec::new(),
            last_error: None,
            stream_stopped: false,
        }
    }

    /// Does one operation; whether there is such a one.
    fn apply(&mut self, name: &str, op: &Value) -> bool {
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
        json!({
            "requests": core::mem::take(&mut self.requests),
            "errors": core::mem::take(&mut self.errors),
            "store_calls": core::mem::take(&mut self.store.calls),
            "stream_stopped": core::mem::take(&mut self.stream_stopped).then_some(true),
            "rv": self.reflector.last_sync_resource_version().to_string(),
            "unordered": unordered.then_some(true),
        })
    }
}

/// Writes down what a store is told.
struct Recorder {
    objects: Objects,
    calls: Vec<Value>,
    /// The names of calls that are to fail, once for each time they stand here.
    fails: Vec<String>,
    takes_bookmarks: bool,
    should_resync: bool,
    transform: Option<Transform<Recorded>>,
}

impl Recorder {
    fn note(&mut self, name: &str, mut call: Value) -> Result<(), String> {
        call["call"] = json!(name);
        let fails = self.fails.iter().position(|fails| fails == name);
        if let Some(at) = fails {
            self.fails.remove(at);
            call["failed"] = json!(true);
        }
        self.calls.push(call);
        fails.map_or(Ok(()), |_| Err("scripted".to_owned()))
    }
}

impl ReflectorStore<Recorded> for Recorder {
    type Error = String;

    /// The transformer of a store sees the objects of a streaming list alone, as in client-go.
    fn hold(&mut self, object: Recorded) -> Result<Arc<Recorded>, String> {
        let object = match &self.transform {
            Some(transform) => transform(object).map_err(|refused| refused.to_string())?,
            None => object,
        };
        Ok(Arc::new(object))
    }

    fn replace(&mut self, objects: Vec<Arc<Recorded>>, version: &ResourceVersion) -> Result<(), String> {
        let names: Vec<Value> = objects.iter().map(|object| self.objects.name(object)).collect();
        self.note("replace", json!({"objs": names, "rv": version.to_string()}))
    }

    fn add(&mut self, object: Recorded) -> Result<(), String> {
        self.note("add", json!({"obj": self.objects.name(&object)}))
    }

    fn update(&mut self, object: Recorded) -> Result<(), String> {
        self.note("update", json!({"obj": self.objects.name(&object)}))
    }

    fn delete(&mut self, object: Recorded) -> Result<(), String> {
        self.note("delete", json!({"obj": self.objects.name(&object)}))
    }

    fn resync(&mut self) -> Result<(), String> {
        self.note("resync", json!({}))
    }

    fn should_resync(&mut self) -> bool {
        self.should_resync
    }

    fn bookmark(&mut self, version: &ResourceVersion) -> Result<(), String> {
        if self.takes_bookmarks { self.note("bookmark", json!({"rv": version.to_string()})) } else { Ok(()) }
    }

    fn update_resource_version(&mut self, version: &ResourceVersion) {
        if self.takes_bookmarks {
            self.calls.push(json!({"call": "update_resource_version", "rv": version.to_string()}));
        }
    }
}
