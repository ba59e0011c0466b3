//! The world: who is in it, and what happens next.

use std::collections::BTreeMap;
use std::time::Duration;

use sanskube::machine::{Answer, Input, Machine, Output, Part};
use sanskube::request::{Call, CallId, Encoding, Failure, Head, Request};
use sanskube::time::{Instant, Now};
use sanskube_apiserver::kubelet::Kubelet;
use sanskube_apiserver::{ApiServer, Reply, Response, WatchId, WatchState};
use serde_json::Value;

use crate::network::Network;

/// How much of a watch is sent at once.
const FRAMES: usize = 64 << 10;

/// Names a controller. Never used again after it has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

/// A request of a controller that the server has answered.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When the server answered.
    pub at: Instant,
    /// Who asked.
    pub client: ClientId,
    /// What was asked.
    pub request: Request,
    /// The status of the answer; zero if there was none.
    pub status: u16,
    /// The answer, if it is JSON.
    pub response: Value,
}

/// A cluster: an API server, perhaps a kubelet, and controllers.
#[derive(Debug)]
pub struct World<M> {
    now: Now,
    api: ApiServer,
    /// Whether the server answers at all; if not, connections are refused.
    reachable: bool,
    kubelet: Option<Kubelet>,
    network: Network,
    clients: BTreeMap<ClientId, Client<M>>,
    next_client: u64,
    /// What is under way, by when it arrives and then by when it was sent.
    under_way: BTreeMap<(Instant, u64), Delivery>,
    sent: u64,
    watches: BTreeMap<WatchId, (ClientId, CallId)>,
    exchanges: Vec<Exchange>,
}

#[derive(Debug)]
struct Client<M> {
    machine: M,
    until: Option<Instant>,
    /// When the last piece of each answer arrives: what comes later on the same connection arrives later.
    in_flight: BTreeMap<CallId, Instant>,
    stopped: bool,
}

#[derive(Debug)]
enum Delivery {
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
            network,
            clients: BTreeMap::new(),
            next_client: 0,
            under_way: BTreeMap::new(),
            sent: 0,
            watches: BTreeMap::new(),
            exchanges: Vec::new(),
        }
    }

    /// Lets a kubelet run the pods.
    pub fn set_kubelet(&mut self, kubelet: Kubelet) {
        self.kubelet = Some(kubelet);
    }

    /// Starts a controller.
    pub fn start(&mut self, machine: M) -> ClientId {
        let id = ClientId(self.next_client);
        self.next_client += 1;
        self.clients.insert(id, Client { machine, until: None, in_flight: BTreeMap::new(), stopped: false });
        self.drain(id);
        id
    }

    /// Kills a controller: it is gone in the middle of whatever it did. What it has sent arrives all the same.
    pub fn kill(&mut self, id: ClientId) {
        self.clients.remove(&id);
        let watches: Vec<WatchId> =
            self.watches.iter().filter(|(_, (client, _))| *client == id).map(|(w, _)| *w).collect();
        for watch in watches {
            self.watches.remove(&watch);
            self.api.drop_watch(watch);
        }
    }

    /// Asks a controller to stop. It is gone once [`is_stopped`](Self::is_stopped).
    pub fn stop(&mut self, id: ClientId) {
        self.give(id, Input::Stop);
    }

    /// Makes the server unreachable: what is in flight is cut, new connections are refused.
    pub fn take_server_down(&mut self) {
        self.reachable = false;
        for (id, client) in &self.clients {
            for call in client.in_flight.keys() {
                let answer = Answer { call: *call, part: Part::Failed(Failure::Cut) };
                self.sent += 1;
                self.under_way.insert((self.now.instant, self.sent), Delivery::Answer(*id, answer));
            }
        }
        self.watches.clear();
        self.api.close_watches();
        self.api.restart();
    }

    /// Makes the server reachable again.
    pub fn bring_server_up(&mut self) {
        self.reachable = true;
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
        let deadline = self.next_deadline();
        let Some(at) = deadline.filter(|at| *at <= limit) else {
            self.advance_to(limit);
            return false;
        };
        self.advance_to(at);
        if let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= at) {
            match entry.remove() {
                Delivery::Answer(client, answer) => self.deliver(client, &answer),
                Delivery::Request(client, call) => self.serve(client, call),
            }
        } else if let Some(id) = self.due_client() {
            self.give(id, Input::Timeout);
        } else {
            let now = self.server_now();
            self.api.handle_timeout(now);
            if let Some(kubelet) = &mut self.kubelet {
                kubelet.handle_timeout(now, &mut self.api);
            }
        }
        self.pump();
        true
    }

    /// Lets everything happen for a time.
    pub fn run_for(&mut self, duration: Duration) {
        let limit = self.now.instant + duration;
        while self.step(limit) {}
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

    /// A controller, if it has not gone.
    pub fn machine(&self, id: ClientId) -> Option<&M> {
        self.clients.get(&id).map(|client| &client.machine)
    }

    /// Whether a controller has stopped or gone.
    pub fn is_stopped(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_none_or(|client| client.stopped)
    }

    /// What controllers have asked and the server has answered, but for watches, in order.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    fn next_deadline(&self) -> Option<Instant> {
        let arrival = self.under_way.first_key_value().map(|((at, _), _)| *at);
        let clients = self.clients.values().filter_map(|client| client.until).min();
        let monotonic = |at: Duration| Instant::ZERO + at;
        let api = self.api.poll_deadline().map(monotonic);
        let kubelet = self.kubelet.as_ref().and_then(Kubelet::poll_deadline).map(monotonic);
        [arrival, clients, api, kubelet].into_iter().flatten().min().map(|at| at.max(self.now.instant))
    }

    fn due_client(&self) -> Option<ClientId> {
        let due = |client: &Client<M>| client.until.is_some_and(|until| until <= self.now.instant);
        self.clients.iter().find(|(_, client)| due(client)).map(|(id, _)| *id)
    }

    fn advance_to(&mut self, at: Instant) {
        self.now = self.now.after(at.since(self.now.instant));
    }

    fn server_now(&self) -> sanskube_apiserver::Now {
        sanskube_apiserver::Now {
            monotonic: self.now.instant.since(Instant::ZERO),
            wall: jiff::Timestamp::from_nanosecond(self.now.wall.as_nanos().into()).unwrap_or(jiff::Timestamp::MIN),
        }
    }

    /// A request has arrived at the server.
    fn serve(&mut self, client: ClientId, call: Call) {
        if !self.reachable {
            return self.answer(client, call.id, Part::Failed(Failure::Refused), Duration::ZERO);
        }
        let mut request = sanskube_apiserver::Request::new(call.request.method.as_str(), &call.request.path)
            .with_header("user-agent", "sanskube/0")
            .with_header("accept", call.accept.accept());
        if !call.request.body.is_empty() {
            request = request.with_body(call.request.content_type, call.request.body.clone());
        }
        let now = self.server_now();
        match self.api.handle_request(now, &request) {
            Reply::Response(response) => self.respond(client, call, &response, Duration::ZERO),
            Reply::Delayed { at, response } => {
                self.respond(client, call, &response, at.saturating_sub(now.monotonic));
            }
            Reply::Hangup => {
                let (at, id) = (self.now.instant, call.id);
                self.exchanges.push(Exchange { at, client, request: call.request, status: 0, response: Value::Null });
                self.answer(client, id, Part::Failed(Failure::Cut), Duration::ZERO);
            }
            Reply::Watch { id, head } if self.is_in_flight(client, call.id) => {
                self.watches.insert(id, (client, call.id));
                self.answer(client, call.id, Part::Head(head_of(&head)), Duration::ZERO);
                self.read_watch(id);
            }
            Reply::Watch { id, .. } => self.api.drop_watch(id),
        }
    }

    fn respond(&mut self, client: ClientId, call: Call, response: &Response, later: Duration) {
        let Call { id, request, .. } = call;
        self.answer(client, id, Part::Head(head_of(response)), later);
        self.answer(client, id, Part::Body(response.body.clone()), later);
        self.answer(client, id, Part::End, later);
        let json = serde_json::from_slice(&response.body).unwrap_or_default();
        let (at, status) = (self.now.instant, response.status);
        self.exchanges.push(Exchange { at, client, request, status, response: json });
    }

    /// Sends a part of an answer, behind what was sent before on the same connection.
    fn answer(&mut self, client: ClientId, call: CallId, part: Part, later: Duration) {
        let arrival = self.now.instant + later + self.network.delay();
        let Some(last) = self.clients.get_mut(&client).and_then(|client| client.in_flight.get_mut(&call)) else {
            return;
        };
        *last = arrival.max(*last);
        self.sent += 1;
        self.under_way.insert((*last, self.sent), Delivery::Answer(client, Answer { call, part }));
    }

    /// Reads every watch that has something to say.
    fn pump(&mut self) {
        let now = self.server_now();
        while let Some(id) = self.api.poll_ready() {
            if self.watches.contains_key(&id) {
                self.read_watch(id);
            } else if let Some(kubelet) = &mut self.kubelet
                && kubelet.watch() == Some(id)
            {
                kubelet.handle_timeout(now, &mut self.api);
            }
        }
    }

    fn read_watch(&mut self, id: WatchId) {
        let Some(&(client, call)) = self.watches.get(&id) else { return };
        let now = self.server_now();
        loop {
            let mut frames = Vec::new();
            let state = self.api.poll_watch(id, now, FRAMES, &mut frames);
            if !frames.is_empty() {
                self.answer(client, call, Part::Body(frames), Duration::ZERO);
            }
            let end = match state {
                WatchState::More => continue,
                WatchState::Open => return,
                WatchState::Ended => Part::End,
                WatchState::Cut => Part::Failed(Failure::Cut),
            };
            self.watches.remove(&id);
            return self.answer(client, call, end, Duration::ZERO);
        }
    }

    fn deliver(&mut self, id: ClientId, answer: &Answer) {
        if !self.is_in_flight(id, answer.call) {
            return;
        }
        if answer.is_last()
            && let Some(client) = self.clients.get_mut(&id)
        {
            client.in_flight.remove(&answer.call);
        }
        self.give(id, answer.input());
    }

    fn is_in_flight(&self, client: ClientId, call: CallId) -> bool {
        self.clients.get(&client).is_some_and(|client| client.in_flight.contains_key(&call))
    }

    fn give(&mut self, id: ClientId, input: Input<'_>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client
            .machine
            .handle_input(self.now, input)
            .expect("inputs are given to a drained machine, for calls in flight");
        self.drain(id);
    }

    fn drain(&mut self, id: ClientId) {
        while let Some(client) = self.clients.get_mut(&id) {
            match client.machine.poll_output(self.now) {
                Output::Call(call) => {
                    client.in_flight.insert(call.id, self.now.instant);
                    let arrival = self.now.instant + self.network.delay();
                    self.sent += 1;
                    self.under_way.insert((arrival, self.sent), Delivery::Request(id, call));
                }
                Output::Cancel(call) => {
                    client.in_flight.remove(&call);
                    let watch = self.watches.iter().find(|(_, of)| **of == (id, call)).map(|(watch, _)| *watch);
                    if let Some(watch) = watch {
                        self.watches.remove(&watch);
                        self.api.drop_watch(watch);
                    }
                }
                Output::Stopped => {
                    client.stopped = true;
                    client.until = None;
                    return;
                }
                Output::Wait { until } => {
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
}

fn head_of(response: &Response) -> Head {
    let retry_after = response.header("retry-after").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
    let encoding = Encoding::of_content_type(response.header("content-type"));
    Head { status: response.status, retry_after, encoding }
}
