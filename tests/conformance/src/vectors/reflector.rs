//! `reflector.jsonl`: the bare reflector on a scripted server.
//!
//! Each case is replayed twice: recovering as client-go does, which must give what client-go gave from the first operation to the last;
//! and as the reflector recovers by default, up to the first operation where one of the [`rules`] holds.

mod rules;

use std::sync::Arc;

use sanskube::error::Misuse;
use sanskube::machine::Part;
use sanskube::object::Transform;
use sanskube::reflector::{Recovery, Reflector, ReflectorStore, WatchError};
use sanskube::request::CallId;
use sanskube::resource_version::ResourceVersion;
use sanskube::time::{Instant, Now};
use serde_json::{Value, json};

use super::Check;
use super::recorded::{Objects, Recorded, ops, transform};
use super::script::{Answer, millis};
use super::scripted::{Scripted, Wire, config};
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
    wire: Wire,
    /// The last failure of a call, and when it was.
    last_error: Option<(Instant, WatchError)>,
}

impl Script {
    fn new(case: &Value, recovery: Recovery) -> Self {
        let given = &case["config"];
        let mut config = config(given, recovery);
        config.page_size = given["page_size"].as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        config.internal_error_retry = millis(&given["max_internal_error_retry_ms"]);
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
            wire: Wire::default(),
            last_error: None,
        }
    }

    /// Does one operation; whether there is such a one.
    fn apply(&mut self, name: &str, op: &Value) -> bool {
        match name {
            "start" => {}
            "await_request" => self.await_request(),
            "advance" => self.advance(millis(&op["ms"])),
            "store_fails" => self.store.fails.extend(op["call"].as_str().map(str::to_owned)),
            _ => match Answer::of(name, op, &self.store.objects) {
                Some(answer) => self.answer(answer),
                None => return false,
            },
        }
        self.drain();
        true
    }

    /// What came of the operation.
    fn take(&mut self, unordered: bool) -> Value {
        let mut seen = self.wire.take();
        seen["store_calls"] = Value::Array(core::mem::take(&mut self.store.calls));
        seen["rv"] = json!(self.reflector.last_sync_resource_version().to_string());
        seen["unordered"] = json!(unordered.then_some(true));
        seen
    }
}

impl Scripted for Script {
    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn due(&self) -> Option<Instant> {
        self.reflector.next_deadline()
    }

    fn in_flight(&self) -> Option<CallId> {
        self.reflector.in_flight()
    }

    fn handle_timeout(&mut self, now: Now) {
        self.reflector.handle_timeout(now, &mut self.store);
    }

    fn handle_part(&mut self, now: Now, call: CallId, part: Part) -> Result<(), Misuse> {
        let (reflector, store) = (&mut self.reflector, &mut self.store);
        match part {
            Part::Body(bytes) => reflector.handle_body(now, call, &bytes, store),
            Part::End => reflector.handle_end(now, call, store),
            Part::Failed(failure) => reflector.handle_failure(now, call, failure),
            Part::Head(head) => reflector.handle_head(now, call, head),
        }
    }

    fn drain(&mut self) {
        if let Some(error) = self.reflector.poll_error() {
            self.wire.note(&error);
            // A refused event is no failure of a call.
            if error.step.is_some() {
                self.last_error = Some((self.wire.now.instant, error));
            }
        }
        if self.reflector.poll_cancel().is_some() {
            self.wire.stop();
        }
        let now = self.wire.now;
        let call = self.reflector.poll_call(now, &mut self.wire.ids);
        self.wire.begin(call);
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
