//! A machine of the core at one end of a wire; at the other one a server that is sane, a liar or away, as the bytes of an input say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::request::{Call, CallId, Failure, Head, Method};
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::{ApiServer, Config, Reply, Request, Response, WatchId, WatchState};

use crate::api::START;
use crate::choices::{Choices, pieces};

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
        let api = ApiServer::new(Config { history: 30, ..Config::default() }, START);
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

    fn drain(&mut self) {
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
                    assert!(until.is_none_or(|until| until > self.now.instant), "never waits for what is past");
                    assert!(until.is_some() || !self.in_flight.is_empty(), "waits for something");
                    self.until = until;
                    for flight in self.in_flight.values() {
                        assert!(flight.call.deadline > self.now.instant, "{:?} outlives its deadline", flight.call);
                        assert!(
                            until.is_some_and(|until| until <= flight.call.deadline),
                            "wakes for {:?}",
                            flight.call
                        );
                    }
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

    /// Answers a call as the server does, but for what `spoil` does to the body.
    fn answer(&mut self, id: CallId, spoil: impl FnOnce(&mut Vec<u8>)) {
        let flight = &self.in_flight[&id];
        if flight.head {
            return;
        }
        let request = &flight.call.request;
        let mut asked = Request::new(request.method.as_str(), &request.path);
        if !request.body.is_empty() {
            asked = asked.with_body(request.content_type, request.body.clone());
        }
        match self.api.handle_request(self.server_now(), &asked) {
            Reply::Response(response) | Reply::Delayed { response, .. } => {
                let mut body = response.body;
                spoil(&mut body);
                let retry_after = response.headers.iter().find(|(name, _)| *name == "retry-after");
                let retry_after = retry_after.and_then(|(_, seconds)| seconds.parse().ok()).map(Duration::from_secs);
                self.head(id, Head { status: response.status, retry_after });
                self.body(id, &body);
                self.end(id);
            }
            Reply::Hangup => self.fail(id, Failure::Cut),
            Reply::Watch { id: watch, head } => {
                self.head(id, Head { status: head.status, retry_after: None });
                match self.in_flight.get_mut(&id) {
                    Some(flight) => flight.watch = Some(watch),
                    None => self.api.drop_watch(watch),
                }
            }
        }
    }

    /// Answers a call with what the server says, spoilt.
    fn spoil(&mut self, id: CallId, choices: &mut Choices<'_>) {
        self.lied = true;
        self.answer(id, |body| spoil(body, choices));
    }

    /// Answers a call with anything.
    fn invent(&mut self, id: CallId, choices: &mut Choices<'_>) {
        self.lied = true;
        if !self.in_flight[&id].head {
            let status =
                *choices.pick(&[200, 0, 201, 204, 301, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504, 999]);
            let seconds = *choices.pick(&[None, Some(0), Some(20), Some(u64::MAX)]);
            self.head(id, Head { status, retry_after: seconds.map(Duration::from_secs) });
        }
        let length = usize::from(choices.byte());
        match choices.below(4) {
            0 => self.body(id, &b"[".repeat(length * 100)),
            1 => self.body(id, &b"{\"items\":[".iter().chain(&b"{\"a\":".repeat(length)).copied().collect::<Vec<_>>()),
            _ => {
                let bytes = choices.take(length);
                self.body(id, bytes);
            }
        }
        match choices.below(3) {
            0 => self.end(id),
            1 => self.fail(id, Failure::Cut),
            _ => {}
        }
    }

    /// Loses a call, or its answer after it took effect.
    fn lose(&mut self, id: CallId, choices: &mut Choices<'_>) {
        if choices.percent(50) && !self.in_flight[&id].call.watch {
            let request = self.in_flight[&id].call.request.clone();
            let asked = Request::new(request.method.as_str(), &request.path);
            let asked =
                if request.body.is_empty() { asked } else { asked.with_body(request.content_type, request.body) };
            drop(self.api.handle_request(self.server_now(), &asked));
        }
        let failure = *choices.pick(&[Failure::Cut, Failure::Refused, Failure::TimedOut, Failure::TooLarge]);
        self.fail(id, failure);
    }

    /// Delivers what the watches have to say: to its end, or with `choices` a part of it, spoilt perhaps.
    fn pump(&mut self, mut choices: Option<&mut Choices<'_>>) {
        while self.api.poll_ready().is_some() {}
        let open = |flight: &Flight| Some((flight.call.id, flight.watch?));
        for (id, watch) in self.in_flight.values().filter_map(open).collect::<Vec<_>>() {
            let mut frames = Vec::new();
            let state = self.api.poll_watch(watch, self.server_now(), usize::MAX, &mut frames);
            if let Some(choices) = choices.as_mut().filter(|choices| !choices.is_empty()) {
                if choices.percent(10) {
                    self.lied = true;
                    spoil(&mut frames, choices);
                }
                for piece in pieces(&frames, choices) {
                    self.body(id, piece);
                }
            } else {
                self.body(id, &frames);
            }
            match state {
                WatchState::Ended => self.end(id),
                WatchState::Cut => self.fail(id, Failure::Cut),
                WatchState::More | WatchState::Open => {}
            }
        }
    }

    /// Changes something behind the back of the machine.
    fn act_as_user(&mut self, choices: &mut Choices<'_>) {
        const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
        const PODS: &str = "/api/v1/namespaces/default/pods";
        let name = *choices.pick(&["a", "b"]);
        let spec = r#"{"containers":[{"name":"c","image":"i"}]}"#;
        let labels = format!(r#""labels":{{"app":"{name}"}}"#);
        let (merge, number) = ("application/merge-patch+json", choices.below(6));
        match choices.below(6) {
            0 => {
                let template = format!(r#"{{"metadata":{{{labels}}},"spec":{spec}}}"#);
                let set = format!(
                    r#"{{"metadata":{{"name":"{name}"}},"spec":{{"replicas":{number},"selector":{{"matchLabels":{{"app":"{name}"}}}},"template":{template}}}}}"#
                );
                self.request("POST", SETS, "application/json", &set);
            }
            1 => drop(self.request(
                "PATCH",
                &format!("{SETS}/{name}"),
                merge,
                &format!(r#"{{"spec":{{"replicas":{number}}}}}"#),
            )),
            2 => drop(self.request("DELETE", &format!("{SETS}/{name}"), "", "")),
            3 => {
                let pod = format!(r#"{{"metadata":{{"generateName":"stray-",{labels}}},"spec":{spec}}}"#);
                self.request("POST", PODS, "application/json", &pod);
            }
            _ => {
                let list = self.request("GET", PODS, "", "").json().unwrap_or_default();
                let pods = list["items"].as_array().cloned().unwrap_or_default();
                let Some(pod) = pods.get(number).and_then(|pod| pod["metadata"]["name"].as_str()) else { return };
                let path = format!("{PODS}/{pod}");
                let ready = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2027-01-15T08:00:00Z"}]}}"#;
                match choices.below(4) {
                    0 => drop(self.request("DELETE", &path, "", "")),
                    1 => drop(self.request("PATCH", &path, merge, r#"{"metadata":{"labels":{"app":"b"}}}"#)),
                    2 => drop(self.request(
                        "PATCH",
                        &format!("{path}/status"),
                        merge,
                        r#"{"status":{"phase":"Failed"}}"#,
                    )),
                    _ => drop(self.request("PATCH", &format!("{path}/status"), merge, ready)),
                }
            }
        }
    }

    /// An input that does not belong here is refused.
    fn stray(&mut self, choices: &mut Choices<'_>) {
        let call = CallId(1000 + u64::from(choices.byte()));
        if self.ids.contains(&call) {
            return;
        }
        let input = match choices.below(4) {
            0 => Input::End { call },
            1 => Input::Failed { call, failure: Failure::Cut },
            2 => Input::Head { call, head: Head { status: 200, retry_after: None } },
            _ => Input::Body { call, bytes: b"{" },
        };
        assert_eq!(self.machine.handle_input(self.now, input), Err(Misuse::UnknownCall));
        self.give(Input::Timeout);
    }

    fn head(&mut self, id: CallId, head: Head) {
        if let Some(flight) = self.in_flight.get_mut(&id) {
            flight.head = true;
            self.give(Input::Head { call: id, head });
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

/// Known fields and what to put in their place.
const WRONG: [(&str, &str); 18] = [
    (r#""name":""#, r#""name":5,"was":""#),
    (r#""metadata":{"#, r#""metadata":[],"was":{"#),
    (r#""metadata":{"#, r#""metadata":null,"was":{"#),
    (r#""resourceVersion":""#, r#""resourceVersion":"not a number "#),
    (r#""resourceVersion":""#, r#""resourceVersion":"99999999999999999999"#),
    (r#""resourceVersion":""#, r#""resourceVersion":{},"was":""#),
    (r#""items":["#, r#""items":[5,null,"#),
    (r#""items":["#, r#""items":{},"was":["#),
    (r#""labels":{"#, r#""labels":"#),
    (r#""type":"ADDED""#, r#""type":"DELETED""#),
    (r#""type":"MODIFIED""#, r#""type":"ERROR""#),
    (r#""object":{"#, r#""object":null,"was":{"#),
    (r#""uid":""#, r#""uid":"x"#),
    (r#""replicas":"#, r#""replicas":99"#),
    (r#""continue":""#, r#""continue":"more"#),
    (r#""creationTimestamp":""#, r#""creationTimestamp":"noon"#),
    (r#""code":4"#, r#""code":5"#),
    (r#""metadata":{"resourceVersion""#, r#""metadata":{"continue":"more","resourceVersion""#),
];

fn spoil(body: &mut Vec<u8>, choices: &mut Choices<'_>) {
    if body.is_empty() {
        return;
    }
    let at = choices.below(body.len());
    let end = at + choices.below(body.len() - at);
    match choices.below(6) {
        0..3 => {
            let (from, to) = choices.pick(&WRONG);
            *body = String::from_utf8_lossy(body).replace(from, to).into_bytes();
        }
        3 => body[at] = choices.byte(),
        4 => drop(body.drain(at..end)),
        _ => {
            let again = body[at..end].to_vec();
            body.splice(at..at, again);
        }
    }
}
