//! The far side of the connections: requests reach the server, and what it answers is sent back.

use std::time::Duration;

use sanskube::machine::{Answer, Machine, Part};
use sanskube::request::{Call, CallId, Encoding, Failure, Head};
use sanskube_apiserver::{Reply, Response, WatchId, WatchState};

use crate::client::ClientId;
use crate::world::{Delivery, Exchange, World};

/// How much of a watch is sent at once.
const FRAMES: usize = 64 << 10;

impl<M: Machine> World<M> {
    /// A request has arrived at the server.
    pub(crate) fn serve(&mut self, client: ClientId, call: &Call) {
        if !self.reachable {
            return self.answer(client, call.id, Part::Failed(Failure::Refused), Duration::ZERO);
        }
        let mut request = sanskube_apiserver::Request::new(call.request.method.as_str(), &call.request.path)
            .with_header("user-agent", &client.agent())
            .with_header("accept", call.accept.accept());
        if !call.request.body.is_empty() {
            request = request.with_body(call.request.content_type, call.request.body.clone());
        }
        let now = self.server_now();
        match self.api.handle_request(now, &request) {
            Reply::Response(response) => self.respond(client, call, response, Duration::ZERO),
            Reply::Delayed { at, response } => {
                self.respond(client, call, response, at.saturating_sub(now.monotonic));
            }
            Reply::Hangup => {
                self.answer(client, call.id, Part::Failed(Failure::Cut), Duration::ZERO);
                self.record(client, call, 0, Vec::new());
            }
            Reply::Watch { id, head } if self.is_in_flight(client, call.id) => {
                self.watches.insert(id, (client, call.id));
                self.answer(client, call.id, Part::Head(head_of(&head)), Duration::ZERO);
                self.read_watch(id);
            }
            Reply::Watch { id, .. } => self.api.drop_watch(id),
        }
    }

    fn respond(&mut self, client: ClientId, call: &Call, response: Response, later: Duration) {
        self.answer(client, call.id, Part::Head(head_of(&response)), later);
        self.answer(client, call.id, Part::Body(response.body.clone()), later);
        self.answer(client, call.id, Part::End, later);
        self.record(client, call, response.status, response.body);
    }

    fn record(&mut self, client: ClientId, call: &Call, status: u16, body: Vec<u8>) {
        let at = self.now.instant;
        self.exchanges.push(Exchange { at, client, call: call.id, request: call.request.clone(), status, body });
    }

    /// Sends a part of an answer, behind what was sent before on the same connection.
    pub(crate) fn answer(&mut self, client: ClientId, call: CallId, part: Part, later: Duration) {
        let line = self.clients.get_mut(&client).and_then(|client| client.lines.get_mut(&call));
        let Some(line) = line.filter(|line| !line.silent) else { return };
        let arrival = self.now.instant + later + self.network.delay(&mut line.random);
        line.last = arrival.max(line.last);
        let at = line.last;
        self.send(at, Delivery::Answer(client, Answer { call, part }));
    }

    /// Reads every watch that has something to say.
    pub(crate) fn pump(&mut self) {
        while let Some(id) = self.api.poll_ready() {
            if self.watches.contains_key(&id) {
                self.read_watch(id);
            } else if self.kubelet.as_ref().is_some_and(|kubelet| kubelet.watch() == Some(id)) {
                self.kubelet_has_news = true;
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
}

fn head_of(response: &Response) -> Head {
    let retry_after = response.header("retry-after").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
    let encoding = Encoding::of_content_type(response.header("content-type"));
    Head { status: response.status, retry_after, encoding }
}
