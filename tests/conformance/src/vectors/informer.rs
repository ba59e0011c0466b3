//! `informer.jsonl`: the informer on a scripted server: requests out, changes out.
//!
//! Each case is replayed twice: with objects that were created anew as client-go tells of them, and as this project does by default.

mod rules;

use std::collections::BTreeMap;
use std::time::Duration;

use sanskube::delta::{DeltaFifo, InOrderFifo, Queue};
use sanskube::informer::{Filter, HandlerId, HandlerOptions, Informer, Recreated};
use sanskube::key::Key;
use sanskube::reflector::{Config, Recovery};
use sanskube::request::{Call, CallIds};
use sanskube::store::Store;
use sanskube::time::{Instant, Now};
use serde_json::{Map, Value, json};

use super::Check;
use super::recorded::{Objects, Recorded, ops, transform};
use super::script::{self, Answer, NO_VERSION, has_no_version, millis};
use rules::Rules;

pub(super) fn replay(case: &Value, check: &mut Check) {
    for recreated in [Recreated::Update, Recreated::DeleteAndAdd] {
        replay_with(recreated, case, check);
    }
}

fn replay_with(recreated: Recreated, case: &Value, check: &mut Check) {
    let (case, transformed_once) = rules::transformed_once(case);
    if transformed_once {
        check.apply_rule(rules::TRANSFORMED_ONCE);
    }
    let mut script = Script::new(&case, recreated);
    let mut rules = Rules::default();
    let mut left = ops(&case).count();
    for (place, name, op, want) in ops(&case) {
        left -= 1;
        if !script.apply(name, op) {
            return check.fail(format!("{place}: nothing here does that"));
        }
        if has_no_version(op) {
            // From here on client-go is somewhere else.
            check.skip_ops(left + 1);
            return check.apply_rule(NO_VERSION);
        }
        let (mut want, mut got) = (want.clone(), script.take(name == "stop"));
        let (applied, ends) = rules.apply(&mut script, &mut want, &mut got);
        for rule in applied {
            check.apply_rule(rule);
        }
        let fields = want.as_object_mut().expect("a map");
        fields.remove("unordered");
        // Told for one kind of queue alone.
        if !fields.contains_key("store_rv") {
            got["store_rv"] = Value::Null;
        }
        check.same(&format!("{place}, with {recreated:?}"), &want, &got);
        if ends {
            check.skip_ops(left);
            break;
        }
    }
}

struct Handler {
    id: HandlerId,
    /// The label of its filter.
    filter: Option<String>,
    /// What it was told of and not told the end of.
    known: BTreeMap<Key, Value>,
}

/// An informer and its scripted server.
struct Script {
    recreated: Recreated,
    objects: Objects,
    informer: Option<Informer<Recorded>>,
    handlers: BTreeMap<String, Handler>,
    now: Now,
    ids: CallIds,
    call: Option<Call>,
    /// Whether the call in flight is an open stream.
    open: bool,
    requests: Vec<Value>,
    errors: Vec<Value>,
    callbacks: Map<String, Value>,
    /// The keys of what filtered handlers knew of and were told the end of, by handler.
    ends: Vec<(String, Value)>,
    stream_stopped: bool,
}

impl Script {
    fn new(case: &Value, recreated: Recreated) -> Self {
        let given = &case["config"];
        let mut config = Config::new(script::CONFIG_MAPS);
        config.watch_list = given["watch_list"] == true;
        config.resync_period = millis(&given["resync_ms"]);
        config.backoff.jitter = 0.0;
        config.recovery = Recovery::ClientGo;
        // Client-go itself never gives up a call: that is left to its transport.
        config.limits.list_timeout = Duration::MAX;
        config.limits.watch_grace = Duration::MAX;
        let transform = transform(&given["transform"]);
        let queue = match given["queue"].as_str() {
            Some("delta_fifo") => Queue::DeltaFifo(DeltaFifo::new(None, transform)),
            // Handlers take changes after the store has changed, so batches make no difference here.
            Some("real_fifo" | "real_fifo_batch") => Queue::InOrder(InOrderFifo::new(None, transform)),
            Some("atomic_fifo") => {
                Queue::InOrder(InOrderFifo::new(None, transform).with_atomic_lists().with_bookmarks())
            }
            other => panic!("unknown queue {other:?}"),
        };
        let informer = Informer::with_queue(config, queue, Store::new()).with_recreated(recreated);
        let mut script = Self {
            recreated,
            objects: Objects::of(case),
            informer: Some(informer),
            handlers: BTreeMap::new(),
            now: Now::default(),
            ids: CallIds::default(),
            call: None,
            open: false,
            requests: Vec::new(),
            errors: Vec::new(),
            callbacks: Map::new(),
            ends: Vec::new(),
            stream_stopped: false,
        };
        for handler in given["handlers"].as_array().into_iter().flatten() {
            script.add_handler(handler);
        }
        script
    }

    fn informer(&mut self) -> &mut Informer<Recorded> {
        self.informer.as_mut().expect("the informer was not stopped")
    }

    fn due(&self) -> Option<Instant> {
        self.informer.as_ref().and_then(Informer::next_deadline)
    }

    fn add_handler(&mut self, given: &Value) {
        let label = given["filter"].as_str().map(|filter| {
            filter.strip_prefix("label:").unwrap_or_else(|| panic!("unknown filter {filter}")).to_owned()
        });
        let filter =
            label.clone().map(|label| -> Filter<Recorded> { Box::new(move |object| object.label(&label).is_some()) });
        let resync = given.get("resync_ms").map(millis);
        let now = self.now;
        let id = self.informer().add_handler(now, HandlerOptions { resync, filter });
        let name = given["name"].as_str().expect("a handler has a name").to_owned();
        self.handlers.insert(name, Handler { id, filter: label, known: BTreeMap::new() });
    }

    /// Does one operation; whether there is such a one.
    fn apply(&mut self, name: &str, op: &Value) -> bool {
        match name {
            "start" => {}
            "await_request" => {
                self.drain();
                while let (None, Some(due)) = (&self.call, self.due()) {
                    self.advance_to(due);
                }
            }
            "advance" => {
                let target = self.now.instant + millis(&op["ms"]);
                while let Some(due) = self.due().filter(|due| *due <= target) {
                    self.advance_to(due);
                }
                self.advance_to(target);
            }
            "add_handler" => self.add_handler(op),
            "remove_handler" => {
                let name = op["name"].as_str().expect("a handler has a name");
                let handler = self.handlers.remove(name).expect("it was added");
                assert!(self.informer().remove_handler(handler.id));
            }
            "stop" => {
                self.stop_call();
                self.informer = None;
                return true;
            }
            _ => match Answer::of(name, op, &self.objects) {
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
            self.stop_call();
        }
        self.open |= matches!(answer, Answer::Open);
        let informer = self.informer();
        let handled = match answer {
            Answer::Whole(head, body) => informer
                .handle_head(now, id, head)
                .and_then(|()| body.chunks(100).try_for_each(|piece| informer.handle_body(now, id, piece)))
                .and_then(|()| informer.handle_end(now, id)),
            Answer::Open => informer.handle_head(now, id, script::OK),
            Answer::Line(line) => informer.handle_body(now, id, &line),
            Answer::End => informer.handle_end(now, id),
            Answer::Failure(failure) => informer.handle_failure(now, id, failure),
        };
        // A list that was given up is not awaited to its end.
        assert!(handled.is_ok() || self.informer().in_flight() != Some(id), "the call is in flight");
    }

    fn stop_call(&mut self) {
        self.call = None;
        self.stream_stopped |= core::mem::take(&mut self.open);
    }

    fn advance_to(&mut self, instant: Instant) {
        self.now = self.now.after(instant.since(self.now.instant));
        let now = self.now;
        self.informer().handle_timeout(now);
        self.drain();
    }

    fn drain(&mut self) {
        let Self { informer, handlers, objects, .. } = self;
        let informer = informer.as_mut().expect("the informer was not stopped");
        for (name, handler) in handlers {
            while let Some((key, change)) = informer.poll_change(handler.id) {
                let told = objects.change(&change);
                if told["on"] == "delete" {
                    if handler.filter.is_some() && handler.known.contains_key(&key) {
                        self.ends.push((name.clone(), told.clone()));
                    }
                    handler.known.remove(&key);
                } else {
                    handler.known.insert(key, told.clone());
                }
                let list = self.callbacks.entry(name.clone()).or_insert_with(|| json!([]));
                list.as_array_mut().expect("a list").push(told);
            }
        }
        if let Some(error) = informer.poll_error() {
            self.errors.extend(script::error(&error));
        }
        if informer.poll_cancel().is_some() {
            self.stop_call();
        }
        let now = self.now;
        let call = self.informer.as_mut().and_then(|informer| informer.poll_call(now, &mut self.ids));
        if let Some(call) = call {
            self.requests.push(script::request(&call, now.instant));
            self.call = Some(call);
        }
    }

    /// What came of the operation.
    fn take(&mut self, stopped: bool) -> Value {
        let stream_stopped = core::mem::take(&mut self.stream_stopped).then_some(true);
        let Some(informer) = &self.informer else {
            return json!({"stopped": stopped, "stream_stopped": stream_stopped});
        };
        let synced = |handler: &Handler| json!(informer.handler_has_synced(handler.id));
        let handlers: Map<String, Value> =
            self.handlers.iter().map(|(name, handler)| (name.clone(), synced(handler))).collect();
        json!({
            "requests": core::mem::take(&mut self.requests),
            "errors": core::mem::take(&mut self.errors),
            "callbacks": core::mem::take(&mut self.callbacks),
            "stream_stopped": stream_stopped,
            "store": self.objects.sorted(informer.store().iter()),
            "rv": informer.last_sync_resource_version().to_string(),
            "store_rv": informer.store().resource_version().to_string(),
            "synced": informer.has_synced(),
            "handlers_synced": handlers,
        })
    }
}
