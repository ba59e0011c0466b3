//! A machine of the core at one end of a wire; at the other one a server that is sane, a liar or away, as the bytes of an input say.

mod answers;
mod users;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::request::{Call, CallId, Encoding, Failure, Head, Method};
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::{ApiServer, Config, Request, Response, WatchId};

use crate::api::START;
use crate::choices::Choices;

/// More outputs than this after one input are taken for an endless loop.
const OUTPUTS: usize = 5000;

pub(crate) struct Script<M> {
    pub(crate) machine: M,
    pub(crate) api: ApiServer,
    pub(crate) now: Now,
    /// Whether the server has ever said what is not so.
    pub(crate) lied: bool,
    pub(crate) stopped: bool,
    in_flight: BTreeMap<CallId, Flight>,
    until: Option<Instant>,
    ids: BTreeSet<CallId>,
    most_calls: usize,
    /// All that the machine has wanted: the same script gives the same again.
    pub(crate) outputs: Vec<(Instant, Output)>,
}

/// A call in flight, and how far its answer has come.
struct Flight {
    call: Call,
    watch: Option<WatchId>,
    head: bool,
}

impl<M: Machine> Script<M> {
    /// A machine that has asked for nothing yet, and that may have so many short calls in flight.
    pub(crate) fn new(machine: M, most_calls: usize) -> Self {
        let now = Now { instant: Instant::from_millis(1), wall: Timestamp::from_seconds(START.wall.as_second()) };
        let api = ApiServer::new(Config { history: 30, managed_fields: false, ..Config::default() }, START);
        let mut script = Self {
            machine,
            api,
            now,
            lied: false,
            stopped: false,
            in_flight: BTreeMap::new(),
            until: None,
            ids: BTreeSet::new(),
            most_calls,
            outputs: Vec::new(),
        };
        script.drain();
        script
    }

    /// One event, whatever the bytes say.
    pub(crate) fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..4 => self.with_call(choices, |script, id, _| script.answer(id, |_| {})),
            4..6 => self.with_call(choices, Self::spoil),
            6 => self.with_call(choices, Self::invent),
            7 => self.with_call(choices, Self::lose),
            8..10 => self.pump(Some(choices)),
            10..12 => self.act_as_user(choices),
            12 => self.advance(Duration::from_millis(1 << choices.below(16))),
            13 => self.advance_to_deadline(),
            14 => match choices.below(4) {
                0 => self.api.restart(),
                1 => self.api.expire_history(["pods", "replicasets"][choices.below(2)]),
                2 => self.advance(Duration::from_secs(60 << choices.below(8))),
                _ => {
                    let seconds = choices.byte().cast_signed();
                    self.now.wall =
                        Timestamp::from_nanos(self.now.wall.as_nanos() + i64::from(seconds) * 10_000_000_000);
                }
            },
            _ => self.stray(choices),
        }
    }

    /// Answers everything as a sane server does, for so long.
    pub(crate) fn be_sane(&mut self, time: Duration) {
        let end = self.now.instant + time;
        for id in self.in_flight.keys().copied().collect::<Vec<_>>() {
            self.fail(id, Failure::Cut);
        }
        for _ in 0..OUTPUTS {
            self.pump(None);
            let waiting = |flight: &&Flight| flight.watch.is_none();
            match self.in_flight.values().find(waiting).map(|flight| flight.call.id) {
                Some(id) => self.answer(id, |_| {}),
                None if self.stopped || self.now.instant >= end => return,
                None => self.advance_to_deadline(),
            }
        }
        panic!("a sane server is asked without end");
    }

    pub(crate) fn give(&mut self, input: Input<'_>) {
        self.machine.handle_input(self.now, input).expect("the input is one for a drained machine");
        self.drain();
    }

    /// Sends a request to the server by another way than the machine.
    pub(crate) fn request(&mut self, method: &str, path: &str, media: &str, body: &str) -> Response {
        let request = Request::new(method, path).with_body(media, body);
        let now = self.server_now();
        self.api.handle_request(now, &request).response().unwrap_or_default()
    }

    /// Takes all that the machine wants until it rests.
    pub(crate) fn drain(&mut self) {
        for _ in 0..OUTPUTS {
            let output = self.machine.poll_output(self.now);
            self.outputs.push((self.now.instant, output.clone()));
            match output {
                Output::Call(call) => self.begin(call),
                Output::Cancel(id) => self.forget(id),
                Output::Stopped => {
                    let calls: Vec<&Call> = self.in_flight.values().map(|flight| &flight.call).collect();
                    assert!(calls.is_empty(), "a machine that has stopped waits for {calls:?}");
                    self.stopped = true;
                    return;
                }
                Output::Wait { until } => {
                    // It could not find out that nothing comes any more if it waited without an end.
                    let until = until.expect("a machine that has not stopped waits for a time");
                    assert!(until > self.now.instant, "never waits for what is past");
                    // A watch lives on for as long as events come of it.
                    for call in self.in_flight.values().map(|flight| &flight.call).filter(|call| !call.watch) {
                        assert!(call.deadline > self.now.instant, "{call:?} outlives its deadline");
                        assert!(until <= call.deadline, "sleeps beyond {call:?}");
                    }
                    self.until = Some(until);
                    return;
                }
            }
        }
        panic!("outputs without end");
    }

    fn begin(&mut self, call: Call) {
        assert!(self.ids.insert(call.id), "an id is used once");
        assert!(!self.stopped && call.deadline > self.now.instant, "{call:?}");
        let request = &call.request;
        assert!(request.path.starts_with('/') && request.path.bytes().all(|c| c.is_ascii_graphic()), "{request:?}");
        assert!(request.body.is_empty() || serde_json::from_slice::<serde_json::Value>(&request.body).is_ok());
        self.in_flight.insert(call.id, Flight { call, watch: None, head: false });
        let short = |flight: &&Flight| !flight.call.watch && flight.call.request.method != Method::Get;
        assert!(self.in_flight.values().filter(short).count() <= self.most_calls, "calls in flight are bounded");
    }

    fn forget(&mut self, id: CallId) {
        let flight = self.in_flight.remove(&id).expect("a call that ends is in flight");
        if let Some(watch) = flight.watch {
            self.api.drop_watch(watch);
        }
    }

    fn with_call(&mut self, choices: &mut Choices<'_>, act: impl FnOnce(&mut Self, CallId, &mut Choices<'_>)) {
        if !self.in_flight.is_empty() {
            let nth = choices.below(self.in_flight.len());
            let id = *self.in_flight.keys().nth(nth).expect("there are so many");
            act(self, id, choices);
        }
    }

    /// An input that does not belong here is refused.
    fn stray(&mut self, choices: &mut Choices<'_>) {
        let call = CallId(1000 + u64::from(choices.byte()));
        if self.ids.contains(&call) {
            return;
        }
        let input = match choices.below(3) {
            0 => Input::End { call },
            1 => Input::Failed { call, failure: Failure::Cut },
            _ => Input::Body { call, bytes: b"{" },
        };
        assert_eq!(self.machine.handle_input(self.now, input), Err(Misuse::UnknownCall));
        self.give(Input::Timeout);
    }

    fn head(&mut self, id: CallId, status: u16, retry_after: Option<u64>, encoding: Encoding) {
        if let Some(flight) = self.in_flight.get_mut(&id) {
            flight.head = true;
            let retry_after = retry_after.map(Duration::from_secs);
            self.give(Input::Head { call: id, head: Head { status, retry_after, encoding } });
        }
    }

    fn body(&mut self, id: CallId, bytes: &[u8]) {
        if self.in_flight.contains_key(&id) && !bytes.is_empty() {
            self.give(Input::Body { call: id, bytes });
        }
    }

    fn end(&mut self, id: CallId) {
        if self.in_flight.contains_key(&id) {
            self.forget(id);
            self.give(Input::End { call: id });
        }
    }

    fn fail(&mut self, id: CallId, failure: Failure) {
        if self.in_flight.contains_key(&id) {
            self.forget(id);
            self.give(Input::Failed { call: id, failure });
        }
    }

    fn advance(&mut self, time: Duration) {
        self.now = self.now.after(time);
        let now = self.server_now();
        self.api.handle_timeout(now);
        self.give(Input::Timeout);
    }

    fn advance_to_deadline(&mut self) {
        let until = self.until.map_or(Duration::from_secs(1), |until| until.since(self.now.instant));
        self.advance(until);
    }

    fn server_now(&self) -> sanskube_apiserver::Now {
        let wall = jiff::Timestamp::from_nanosecond(self.now.wall.as_nanos().into()).unwrap_or(START.wall);
        sanskube_apiserver::Now { monotonic: self.now.instant.since(Instant::ZERO), wall }
    }
}
