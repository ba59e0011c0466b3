//! The world: who is in it, and what happens next.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use sanskube::machine::{Answer, Input, Machine, Output, Part};
use sanskube::request::{Call, CallId, Request};
use sanskube::time::{Instant, Now};
use sanskube_apiserver::kubelet::Kubelet;
use sanskube_apiserver::{ApiServer, Reply, Response, WatchId};
use serde_json::Value;

use crate::client::{Client, ClientId, Clock, Line};
use crate::digest::Digest;
use crate::network::Network;

/// A request of a controller that the server has answered.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When the server answered.
    pub at: Instant,
    /// Who asked.
    pub client: ClientId,
    /// The call that it was.
    pub call: CallId,
    /// What was asked.
    pub request: Request,
    /// The status of the answer; zero if there was none.
    pub status: u16,
    /// The body of the answer.
    pub body: Vec<u8>,
}

impl Exchange {
    /// The answer as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What has happened in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A controller was given a part of an answer.
    Answered(ClientId, Answer),
    /// A part of an answer has arrived for a controller that sleeps, and waits for it to wake.
    Held(ClientId, Answer),
    /// A part of an answer has arrived that nobody waits for.
    Lost(ClientId, Answer),
    /// Nothing yet.
    Nothing,
    /// A request has arrived at the server.
    Served(ClientId, Call),
    /// The server or the kubelet has done what was due.
    Server,
    /// A controller was told that time has passed.
    Timeout(ClientId),
}

/// A cluster: an API server, perhaps a kubelet, and controllers.
#[derive(Debug)]
pub struct World<M> {
    pub(crate) now: Now,
    pub(crate) api: ApiServer,
    /// Whether the server answers at all; if not, connections are refused.
    pub(crate) reachable: bool,
    pub(crate) kubelet: Option<Kubelet>,
    /// Whether the kubelet has something to read.
    pub(crate) kubelet_has_news: bool,
    pub(crate) network: Network,
    pub(crate) clients: BTreeMap<ClientId, Client<M>>,
    next_client: u64,
    /// What is under way, by when it arrives and then by when it was sent.
    pub(crate) under_way: BTreeMap<(Instant, u64), Delivery>,
    sent: u64,
    pub(crate) watches: BTreeMap<WatchId, (ClientId, CallId)>,
    pub(crate) exchanges: Vec<Exchange>,
    begun: Vec<(ClientId, CallId)>,
    /// Those that are killed before anything else happens.
    doomed: Vec<ClientId>,
    last: Happening,
    digest: Digest,
}

#[derive(Clone, Debug)]
pub(crate) enum Delivery {
    Answer(ClientId, Answer),
    Request(ClientId, Call),
}

impl<M: Machine> World<M> {
    /// A world of a server alone, at a moment.
    pub fn new(api: ApiServer, network: Network, now: Now) -> Self {
        Self {
            now,
            api,
            reachable: true,
            kubelet: None,
            kubelet_has_news: false,
            network,
            clients: BTreeMap::new(),
            next_client: 0,
            under_way: BTreeMap::new(),
            sent: 0,
            watches: BTreeMap::new(),
            exchanges: Vec::new(),
            begun: Vec::new(),
            doomed: Vec::new(),
            last: Happening::Nothing,
            digest: Digest::default(),
        }
    }

    /// Lets a kubelet run the pods.
    pub fn set_kubelet(&mut self, kubelet: Kubelet) {
        self.kubelet = Some(kubelet);
    }

    /// Starts a controller whose clocks are those of the server.
    pub fn start(&mut self, machine: M) -> ClientId {
        self.start_with_clock(machine, Clock::default())
    }

    /// Starts a controller with clocks of its own.
    pub fn start_with_clock(&mut self, machine: M, clock: Clock) -> ClientId {
        let id = ClientId(self.next_client);
        self.next_client += 1;
        self.clients.insert(id, Client::new(machine, clock));
        self.drain(id);
        id
    }

    /// Asks a controller to stop. It is gone once [`is_stopped`](Self::is_stopped).
    pub fn stop(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.asked_to_stop.get_or_insert(self.now.instant);
        if client.suspended_until > self.now.instant {
            client.to_stop = true;
        } else {
            self.give(id, Input::Stop);
        }
    }

    /// Acts as a user, at once and without a network between.
    ///
    /// # Panics
    /// If the request is a watch.
    pub fn request(&mut self, request: &sanskube_apiserver::Request) -> Response {
        let now = self.server_now();
        let reply = self.api.handle_request(now, request);
        self.pump();
        match reply {
            Reply::Response(response) | Reply::Delayed { response, .. } => response,
            Reply::Hangup => Response::default(),
            Reply::Watch { .. } => panic!("a user of this world does not watch"),
        }
    }

    /// Lets the next thing happen, however far off it is. Returns whether there was one, no later than `limit`; if not, it is `limit` now.
    pub fn step(&mut self, limit: Instant) -> bool {
        while let Some(id) = self.doomed.pop() {
            self.kill(id);
        }
        // A fault that has ended may have let something flow again.
        self.pump();
        let deadline = self.next_deadline();
        let Some(at) = deadline.filter(|at| *at <= limit) else {
            self.advance_to(limit);
            return false;
        };
        self.advance_to(at);
        let arrived = self.under_way.first_key_value().map(|(key, _)| *key).filter(|(when, _)| *when <= at);
        match (arrived, self.due_client()) {
            (Some(key), _) => self.let_arrive(key),
            (None, Some(id)) => self.let_wake(id),
            (None, None) => self.let_server_act(),
        }
        true
    }

    /// Lets something arrive that is under way, before all else.
    pub(crate) fn let_arrive(&mut self, key: (Instant, u64)) {
        let Some(delivery) = self.under_way.remove(&key) else { return };
        self.last = self.carry_out(delivery);
        self.end_step();
    }

    /// Lets a controller do what is due.
    pub(crate) fn let_wake(&mut self, id: ClientId) {
        self.last = self.wake(id);
        self.end_step();
    }

    /// Lets the server and the kubelet do what is due.
    pub(crate) fn let_server_act(&mut self) {
        let now = self.server_now();
        self.api.handle_timeout(now);
        self.kubelet_has_news = false;
        if let Some(kubelet) = &mut self.kubelet {
            kubelet.handle_timeout(now, &mut self.api);
        }
        self.last = Happening::Server;
        self.end_step();
    }

    fn end_step(&mut self) {
        self.pump();
        self.note();
    }

    /// Lets everything happen for a time.
    pub fn run_for(&mut self, duration: Duration) {
        let limit = self.now.instant + duration;
        while self.step(limit) {}
    }

    /// What has happened in the last step.
    pub fn last(&self) -> &Happening {
        &self.last
    }

    /// A number that stands for all that has happened so far: two runs with the same number went the same way.
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// The time.
    pub fn now(&self) -> Now {
        self.now
    }

    /// The server.
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// The server, to be disturbed.
    pub fn api_mut(&mut self) -> &mut ApiServer {
        &mut self.api
    }

    /// The network, to be made slower or faster.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// A controller, if it has not gone.
    pub fn machine(&self, id: ClientId) -> Option<&M> {
        self.clients.get(&id).map(|client| &client.machine)
    }

    /// A controller, to be changed in a way that is no input and wants nothing done.
    pub fn change_machine<R>(&mut self, id: ClientId, change: impl FnOnce(&mut M, Now) -> R) -> Option<R> {
        let client = self.clients.get_mut(&id)?;
        Some(change(&mut client.machine, client.clock.show(self.now)))
    }

    /// What the clocks of a controller show, if it has not gone.
    pub fn clock(&self, id: ClientId) -> Option<Now> {
        self.clients.get(&id).map(|client| client.clock.show(self.now))
    }

    /// Whether a controller has stopped or gone.
    pub fn is_stopped(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_none_or(|client| client.stopped)
    }

    /// The calls of a controller that have not ended.
    pub fn lines(&self, id: ClientId) -> impl Iterator<Item = (CallId, &Line)> {
        self.clients.get(&id).into_iter().flat_map(|client| client.lines.iter().map(|(call, line)| (*call, line)))
    }

    /// What controllers have asked and the server has answered, but for watches, in order.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Takes the exchanges, so that they need not be kept.
    pub fn take_exchanges(&mut self) -> Vec<Exchange> {
        std::mem::take(&mut self.exchanges)
    }

    /// Those that are about to be killed.
    pub fn doomed(&self) -> &[ClientId] {
        &self.doomed
    }

    /// Takes the names of the calls that were begun since this was last asked.
    pub fn take_begun(&mut self) -> Vec<(ClientId, CallId)> {
        std::mem::take(&mut self.begun)
    }

    fn next_deadline(&self) -> Option<Instant> {
        let arrival = self.under_way.first_key_value().map(|((at, _), _)| *at);
        let clients = self.clients.values().filter_map(Client::due).min();
        let monotonic = |at: Duration| Instant::ZERO + at;
        let api = self.api.poll_deadline().map(monotonic);
        let kubelet = self.kubelet.as_ref().and_then(Kubelet::poll_deadline).map(monotonic);
        let news = self.kubelet_has_news.then_some(self.now.instant);
        [arrival, clients, api, kubelet, news].into_iter().flatten().min().map(|at| at.max(self.now.instant))
    }

    fn due_client(&self) -> Option<ClientId> {
        let due = |client: &Client<M>| client.due().is_some_and(|at| at <= self.now.instant);
        self.clients.iter().find(|(_, client)| due(client)).map(|(id, _)| *id)
    }

    pub(crate) fn advance_to(&mut self, at: Instant) {
        self.now = self.now.after(at.since(self.now.instant));
    }

    pub(crate) fn server_now(&self) -> sanskube_apiserver::Now {
        sanskube_apiserver::Now {
            monotonic: self.now.instant.since(Instant::ZERO),
            wall: jiff::Timestamp::from_nanosecond(self.now.wall.as_nanos().into()).unwrap_or(jiff::Timestamp::MIN),
        }
    }

    /// Sends something that arrives then.
    pub(crate) fn send(&mut self, at: Instant, delivery: Delivery) {
        self.sent += 1;
        self.under_way.insert((at, self.sent), delivery);
    }

    fn carry_out(&mut self, delivery: Delivery) -> Happening {
        match delivery {
            Delivery::Answer(client, answer) => self.deliver(client, answer),
            Delivery::Request(client, call) => {
                self.serve(client, &call);
                Happening::Served(client, call)
            }
        }
    }

    /// Takes an answer to a controller, or lets it wait behind others.
    fn deliver(&mut self, id: ClientId, answer: Answer) -> Happening {
        match self.clients.get_mut(&id) {
            Some(client) if client.suspended_until > self.now.instant || !client.waiting.is_empty() => {
                client.waiting.push_back(answer.clone());
                Happening::Held(id, answer)
            }
            _ => self.give_answer(id, answer),
        }
    }

    /// Gives an answer to a controller, if it still waits for it.
    fn give_answer(&mut self, id: ClientId, answer: Answer) -> Happening {
        let Some(client) = self.clients.get_mut(&id).filter(|client| client.lines.contains_key(&answer.call)) else {
            return Happening::Lost(id, answer);
        };
        if answer.is_last() {
            client.lines.remove(&answer.call);
        } else if let Some(line) = client.lines.get_mut(&answer.call) {
            // What waited while the controller slept is heard only now.
            line.last = line.last.max(self.now.instant);
        }
        self.give(id, answer.input());
        Happening::Answered(id, answer)
    }

    /// Lets a controller do what is due.
    fn wake(&mut self, id: ClientId) -> Happening {
        let client = self.clients.get_mut(&id);
        let Some(client) = client else { return Happening::Nothing };
        if let Some(answer) = client.waiting.pop_front() {
            return self.give_answer(id, answer);
        }
        let input = if std::mem::take(&mut client.to_stop) { Input::Stop } else { Input::Timeout };
        self.give(id, input);
        Happening::Timeout(id)
    }

    pub(crate) fn is_in_flight(&self, client: ClientId, call: CallId) -> bool {
        self.clients.get(&client).is_some_and(|client| client.lines.contains_key(&call))
    }

    pub(crate) fn give(&mut self, id: ClientId, input: Input<'_>) {
        let Some(client) = self.clients.get_mut(&id).filter(|_| !self.doomed.contains(&id)) else { return };
        client
            .machine
            .handle_input(client.clock.show(self.now), input)
            .expect("inputs are given to a drained machine, for calls in flight");
        self.drain(id);
    }

    fn drain(&mut self, id: ClientId) {
        while let Some(client) = self.clients.get_mut(&id) {
            match client.machine.poll_output(client.clock.show(self.now)) {
                Output::Call(call) => {
                    if client.calls_left == Some(0) {
                        client.until = None;
                        return self.doomed.push(id);
                    }
                    client.calls_left = client.calls_left.map(|left| left - 1);
                    self.begin(id, call);
                }
                Output::Cancel(call) => {
                    client.lines.remove(&call);
                    self.drop_watch_of(id, call);
                }
                Output::Stopped => {
                    client.stopped = true;
                    client.until = None;
                    return;
                }
                Output::Wait { until } => {
                    let until = until.map(|until| client.clock.unshow(until));
                    assert!(
                        until.is_none_or(|until| until > self.now.instant),
                        "a machine never waits for what is past"
                    );
                    client.until = until;
                    return;
                }
            }
        }
    }

    fn begin(&mut self, id: ClientId, call: Call) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let mut random = self.network.connection(id, call.id);
        let arrival = self.now.instant + self.network.delay(&mut random);
        let line = Line {
            request: call.request.clone(),
            watch: call.watch,
            deadline: client.clock.unshow(call.deadline),
            last: self.now.instant,
            random,
            silent: client.cut_off,
        };
        client.lines.insert(call.id, line);
        self.begun.push((id, call.id));
        if !client.cut_off {
            self.send(arrival, Delivery::Request(id, call));
        }
    }

    /// Notes what has happened in the digest.
    fn note(&mut self) {
        let digest = &mut self.digest;
        self.now.instant.hash(digest);
        self.api.resource_version().hash(digest);
        match &self.last {
            Happening::Answered(client, answer) => {
                (1, client.0, answer.call.0).hash(digest);
                match &answer.part {
                    Part::Body(bytes) => bytes.hash(digest),
                    Part::Head(head) => head.status.hash(digest),
                    Part::End | Part::Failed(_) => std::mem::discriminant(&answer.part).hash(digest),
                }
            }
            Happening::Held(client, answer) => (6, client.0, answer.call.0).hash(digest),
            Happening::Lost(client, answer) => (5, client.0, answer.call.0).hash(digest),
            Happening::Nothing => {}
            Happening::Served(client, call) => {
                (2, client.0, call.id.0).hash(digest);
                call.request.path.hash(digest);
                call.request.body.hash(digest);
            }
            Happening::Server => 3.hash(digest),
            Happening::Timeout(client) => (4, client.0).hash(digest),
        }
    }
}
