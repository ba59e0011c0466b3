//! `informer.jsonl`: the informer on a scripted server: requests out, changes out.
//!
//! Each case is replayed twice: with objects that were created anew as client-go tells of them, and as this project does by default.

mod rules;

use std::collections::BTreeMap;

use sanskube::delta::{DeltaFifo, InOrderFifo, Queue};
use sanskube::error::Misuse;
use sanskube::informer::{Filter, HandlerId, HandlerOptions, Informer, Recreated};
use sanskube::key::Key;
use sanskube::machine::Part;
use sanskube::reflector::Recovery;
use sanskube::request::CallId;
use sanskube::store::Store;
use sanskube::time::{Instant, Now};
use serde_json::{Map, Value, json};

use super::Check;
use super::recorded::{Objects, Recorded, ops, transform};
use super::script::{Answer, NO_VERSION, has_no_version, millis};
use super::scripted::{Scripted, Wire, config};
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
    wire: Wire,
    callbacks: Map<String, Value>,
    /// The keys of what filtered handlers knew of and were told the end of, by handler.
    ends: Vec<(String, Value)>,
}

impl Script {
    fn new(case: &Value, recreated: Recreated) -> Self {
        let given = &case["config"];
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
        let informer =
            Informer::with_queue(config(given, Recovery::ClientGo), queue, Store::new()).with_recreated(recreated);
        let mut script = Self {
            recreated,
            objects: Objects::of(case),
            informer: Some(informer),
            handlers: BTreeMap::new(),
            wire: Wire::default(),
            callbacks: Map::new(),
            ends: Vec::new(),
        };
        for handler in given["handlers"].as_array().into_iter().flatten() {
            script.add_handler(handler);
        }
        script
    }

    fn informer(&mut self) -> &mut Informer<Recorded> {
        self.informer.as_mut().expect("the informer was not stopped")
    }

    fn add_handler(&mut self, given: &Value) {
        let label = given["filter"].as_str().map(|filter| {
            filter.strip_prefix("label:").unwrap_or_else(|| panic!("unknown filter {filter}")).to_owned()
        });
        let filter =
            label.clone().map(|label| -> Filter<Recorded> { Box::new(move |object| object.label(&label).is_some()) });
        let resync = given.get("resync_ms").map(millis);
        let now = self.wire.now;
        let id = self.informer().add_handler(now, HandlerOptions { resync, filter });
        let name = given["name"].as_str().expect("a handler has a name").to_owned();
        self.handlers.insert(name, Handler { id, filter: label, known: BTreeMap::new() });
    }

    /// Does one operation; whether there is such a one.
    fn apply(&mut self, name: &str, op: &Value) -> bool {
        match name {
            "start" => {}
            "await_request" => self.await_request(),
            "advance" => self.advance(millis(&op["ms"])),
            "add_handler" => self.add_handler(op),
            "remove_handler" => {
                let name = op["name"].as_str().expect("a handler has a name");
                let handler = self.handlers.remove(name).expect("it was added");
                assert!(self.informer().remove_handler(handler.id));
            }
            "stop" => {
                self.wire.stop();
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

    /// What came of the operation.
    fn take(&mut self, stopped: bool) -> Value {
        let Some(informer) = &self.informer else {
            return json!({"stopped": stopped, "stream_stopped": self.wire.take_stopped()});
        };
        let synced = |handler: &Handler| json!(informer.handler_has_synced(handler.id));
        let handlers: Map<String, Value> =
            self.handlers.iter().map(|(name, handler)| (name.clone(), synced(handler))).collect();
        let mut seen = self.wire.take();
        seen["callbacks"] = Value::Object(core::mem::take(&mut self.callbacks));
        seen["store"] = json!(self.objects.sorted(informer.store().iter()));
        seen["rv"] = json!(informer.last_sync_resource_version().to_string());
        seen["store_rv"] = json!(informer.store().resource_version().to_string());
        seen["synced"] = json!(informer.has_synced());
        seen["handlers_synced"] = Value::Object(handlers);
        seen
    }
}

impl Scripted for Script {
    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn due(&self) -> Option<Instant> {
        self.informer.as_ref().and_then(Informer::next_deadline)
    }

    fn in_flight(&self) -> Option<CallId> {
        self.informer.as_ref().and_then(Informer::in_flight)
    }

    fn handle_timeout(&mut self, now: Now) {
        self.informer().handle_timeout(now);
    }

    fn handle_part(&mut self, now: Now, call: CallId, part: Part) -> Result<(), Misuse> {
        let informer = self.informer();
        match part {
            Part::Body(bytes) => informer.handle_body(now, call, &bytes),
            Part::End => informer.handle_end(now, call),
            Part::Failed(failure) => informer.handle_failure(now, call, failure),
            Part::Head(head) => informer.handle_head(now, call, head),
        }
    }

    fn drain(&mut self) {
        let Self { informer, handlers, objects, wire, .. } = self;
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
            wire.note(&error);
        }
        if informer.poll_cancel().is_some() {
            wire.stop();
        }
        let call = informer.poll_call(wire.now, &mut wire.ids);
        wire.begin(call);
    }
}
