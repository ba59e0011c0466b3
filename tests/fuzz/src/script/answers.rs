//! What the server answers: the truth, a lie, or nothing.

use sanskube::machine::Machine;
use sanskube::request::{Call, CallId, Encoding, Failure};
use sanskube_apiserver::{Reply, Request, Response, WatchState};

use super::{Flight, Script};
use crate::choices::{Choices, pieces};

impl<M: Machine> Script<M> {
    /// Answers a call as the server does, but for what `spoil` does to the body.
    pub(super) fn answer(&mut self, id: CallId, spoil: impl FnOnce(&mut Vec<u8>)) {
        let flight = &self.in_flight[&id];
        if flight.head {
            return;
        }
        let request = asked(&flight.call);
        match self.api.handle_request(self.server_now(), &request) {
            Reply::Response(mut response) | Reply::Delayed { mut response, .. } => {
                let mut body = core::mem::take(&mut response.body);
                spoil(&mut body);
                let seconds = response.header("retry-after").and_then(|seconds| seconds.parse().ok());
                self.head(id, response.status, seconds, encoding(&response));
                self.body(id, &body);
                self.end(id);
            }
            Reply::Hangup => self.fail(id, Failure::Cut),
            Reply::Watch { id: watch, head } => {
                self.head(id, head.status, None, encoding(&head));
                match self.in_flight.get_mut(&id) {
                    Some(flight) => flight.watch = Some(watch),
                    None => self.api.drop_watch(watch),
                }
            }
        }
    }

    /// Answers a call with what the server says, spoilt.
    pub(super) fn spoil(&mut self, id: CallId, choices: &mut Choices<'_>) {
        self.lied = true;
        let accept = self.in_flight[&id].call.accept;
        self.answer(id, |body| spoil(body, accept, choices));
    }

    /// Answers a call with anything.
    pub(super) fn invent(&mut self, id: CallId, choices: &mut Choices<'_>) {
        self.lied = true;
        let in_protobuf = self.in_flight[&id].call.accept == Encoding::Protobuf;
        if !self.in_flight[&id].head {
            let status =
                *choices.pick(&[200, 0, 201, 204, 301, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504, 999]);
            let seconds = *choices.pick(&[None, Some(0), Some(20), Some(u64::MAX)]);
            let encoding =
                if in_protobuf { *choices.pick(&[Encoding::Protobuf, Encoding::Json]) } else { Encoding::Json };
            self.head(id, status, seconds, encoding);
        }
        let length = usize::from(choices.byte());
        match choices.below(4) {
            0 if in_protobuf => {
                let begun = b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12".iter().chain(choices.take(length));
                self.body(id, &begun.copied().collect::<Vec<_>>());
            }
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
    pub(super) fn lose(&mut self, id: CallId, choices: &mut Choices<'_>) {
        let call = &self.in_flight[&id].call;
        let takes_effect = choices.percent(50) && !call.watch;
        if takes_effect {
            let request = asked(call);
            drop(self.api.handle_request(self.server_now(), &request));
        }
        let failure = *choices.pick(&[Failure::Cut, Failure::Refused, Failure::TimedOut, Failure::TooLarge]);
        self.lied |= takes_effect && failure == Failure::Refused;
        self.fail(id, failure);
    }

    /// Delivers what the watches have to say: to its end, or with `choices` a part of it, spoilt perhaps.
    pub(super) fn pump(&mut self, mut choices: Option<&mut Choices<'_>>) {
        while self.api.poll_ready().is_some() {}
        let open = |flight: &Flight| Some((flight.call.id, flight.call.accept, flight.watch?));
        for (id, accept, watch) in self.in_flight.values().filter_map(open).collect::<Vec<_>>() {
            let mut frames = Vec::new();
            let state = self.api.poll_watch(watch, self.server_now(), usize::MAX, &mut frames);
            if let Some(choices) = choices.as_mut() {
                if choices.percent(10) {
                    self.lied = true;
                    spoil(&mut frames, accept, choices);
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
}

/// What a call asks of the server.
fn asked(call: &Call) -> Request {
    let request = Request::new(call.request.method.as_str(), &call.request.path);
    let request = request.with_header("accept", call.accept.accept());
    if call.request.body.is_empty() {
        return request;
    }
    request.with_body(call.request.content_type, call.request.body.clone())
}

/// What an answer says that it is written in.
fn encoding(answer: &Response) -> Encoding {
    Encoding::of_content_type(answer.header("content-type"))
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

/// The same in protobuf, where nothing may become longer or shorter: a length stands in front of everything.
const WRONG_PROTOBUF: [(&[u8], &[u8]); 16] = [
    (b"ADDED", b"ERROR"),
    (b"DELETED", b"UNKNOWN"),
    (b"MODIFIED", b"BOOKMARK"),
    (b"BOOKMARK", b"MODIFIED"),
    (b"PodList", b"PodLisp"),
    (b"\x03Pod", b"\x03Pid"),
    (b"Status", b"Statis"),
    (b"k8s\0", b"k8s\x01"),
    (b"default", b"defaul\xff"),
    // The condition, the version of an object, that of a list, its token, whether an owner is the controller, and the number of restarts.
    (b"\x04True", b"\x03True"),
    (b"\x32\x01", b"\x30\x01"),
    (b"\x12\x01", b"\x10\x01"),
    (b"\x1a\0", b"\x22\0"),
    (b"\x30\x01", b"\x30\x00"),
    (b"\x28\x00", b"\x28\x7f"),
    (b"stray-", b"\0\0\0\0\0\0"),
];

fn spoil(body: &mut Vec<u8>, encoding: Encoding, choices: &mut Choices<'_>) {
    if body.is_empty() {
        return;
    }
    let at = choices.below(body.len());
    let end = at + choices.below(body.len() - at);
    match choices.below(6) {
        0..3 if encoding == Encoding::Protobuf => {
            let (from, to) = choices.pick(&WRONG_PROTOBUF);
            for at in 0..body.len() {
                if body[at..].starts_with(from) {
                    body[at..at + to.len()].copy_from_slice(to);
                }
            }
        }
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
