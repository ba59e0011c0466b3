//! The informer and the scripted server of the recorded cases.

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

use super::super::recorded::{Objects, Recorded, transform};
use super::super::recovery::{Failed, Recoveries};
use super::super::script::{self, Answer, millis};
use super::rules::Rules;

pub(super) struct Handler {
    pub(super) id: HandlerId,
    /// The label of its filter.
    pub(super) filter: Option<String>,
    /// What it was told of and not told the end of.
    known: BTreeMap<Key, Value>,
}

/// An informer and its scripted server.
pub(super) struct Script {
    pub(super) recovery: Recovery,
    pub(super) recreated: Recreated,
    pub(super) rules: Rules,
    pub(super) recoveries: Recoveries,
    /// The last failure of a call, and when it was.
    pub(super) last_error: Option<Failed>,
    /// Whether what follows it was decided in client-go's way.
    pub(super) as_client_go: bool,
    /// When the last operation began.
    pub(super) before: Instant,
    /// Whether a version stands in for one that a list did not have.
    has_stand_in: bool,
    pub(super) objects: Objects,
    pub(super) informer: Option<Informer<Recorded>>,
    pub(super) handlers: BTreeMap<String, Handler>,
    pub(super) now: Now,
    ids: CallIds,
    pub(super) call: Option<Call>,
    /// Whether the call in flight is an open stream.
    pub(super) open: bool,
    requests: Vec<Value>,
    errors: Vec<Value>,
    callbacks: Map<String, Value>,
    /// The keys of what filtered handlers knew of and were told the end of, by handler.
    pub(super) ends: Vec<(String, Value)>,
    stream_stopped: bool,
}

impl Script {
    /// An informer that has not started, in client-go's ways.
    pub(super) fn new(case: &Value, recreated: Recreated) -> Self {
        let given = &case["config"];
        let mut config = Config::new(script::CONFIG_MAPS);
        config.watch_list = given["watch_list"] == true;
        config.resync_period = millis(&given["resync_ms"]);
        config.backoff.jitter = 0.0;
        config.recovery = Recovery::ClientGo;
        // Client-go itself never gives up a call: that is left to its transport.
        config.limits.list_timeout = Duration::MAX;
        config.limits.watch_grace = Duration::MAX;
        config.limits.call_timeout = Duration::MAX;
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
            recovery: Recovery::ClientGo,
            recreated,
            rules: Rules::default(),
            recoveries: Recoveries::default(),
            last_error: None,
            as_client_go: true,
            before: Instant::ZERO,
            has_stand_in: script::has_stand_in(case),
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
    pub(super) fn apply(&mut self, name: &str, op: &Value) -> bool {
        self.before = self.now.instant;
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
            // A refused event is no failure of a call.
            if error.step.is_some() {
                self.last_error = Some((self.now.instant, error));
                self.as_client_go = self.recovery == Recovery::ClientGo;
            }
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
    pub(super) fn take(&mut self, stopped: bool) -> Value {
        let stream_stopped = core::mem::take(&mut self.stream_stopped).then_some(true);
        if self.informer.is_none() {
            return json!({"stopped": stopped, "stream_stopped": stream_stopped});
        }
        let mut result = self.shown();
        result["requests"] = core::mem::take(&mut self.requests).into();
        result["errors"] = core::mem::take(&mut self.errors).into();
        result["callbacks"] = core::mem::take(&mut self.callbacks).into();
        result["stream_stopped"] = json!(stream_stopped);
        if self.has_stand_in {
            script::without_stand_in(&mut result);
        }
        result
    }

    /// What can be seen of the informer at any time.
    pub(super) fn shown(&self) -> Value {
        let Some(informer) = &self.informer else { return Value::Null };
        let synced = |handler: &Handler| json!(informer.handler_has_synced(handler.id));
        let handlers: Map<String, Value> =
            self.handlers.iter().map(|(name, handler)| (name.clone(), synced(handler))).collect();
        json!({
            "store": self.objects.sorted(informer.store().iter()),
            "rv": informer.last_sync_resource_version().to_string(),
            "store_rv": informer.store().resource_version().to_string(),
            "synced": informer.has_synced(),
            "handlers_synced": handlers,
        })
    }
}
