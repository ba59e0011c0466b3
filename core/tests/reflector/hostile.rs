//! A server that sends anything, and then comes to its senses.

use std::time::Duration;

use sanskube::error::DecodeError;
use sanskube::limits::Limits;
use sanskube::object::Resource;
use sanskube::rand::SplitMix64;
use sanskube::reflector::{Config, Recovery};
use sanskube::request::Failure;
use sanskube::wire::ListBody;
use serde_json::Value;

use crate::peer::{Peer, status};
use crate::recorded;

/// What the server will say once it is healthy.
const VERSION: u64 = 5000;

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }

    fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.0.next_u64() as u8).collect()
    }
}

/// Known fields and what to put in their place.
const WRONG: &[(&str, &str)] = &[
    (r#""name":""#, r#""name":5,"was":""#),
    (r#""metadata":{"#, r#""metadata":[],"was":{"#),
    (r#""metadata":{"#, r#""metadata":null,"was":{"#),
    (r#""resourceVersion":""#, r#""resourceVersion":"not a number "#),
    (r#""resourceVersion":""#, r#""resourceVersion":"99999999999999999999"#),
    (r#""resourceVersion":""#, r#""resourceVersion":{},"was":""#),
    (r#""items":["#, r#""items":[5,null,"#),
    (r#""items":["#, r#""items":{},"was":["#),
    (r#""labels":{"#, r#""labels":"#),
    (r#""type":""#, r#""type":"X"#),
    (r#""type":"ADDED""#, r#""type":null"#),
    (r#""type":"MODIFIED""#, r#""type":"ERROR""#),
    (r#""object":{"#, r#""object":null,"was":{"#),
    (r#""code":410"#, r#""code":"410""#),
    (r#""kind":"Pod""#, r#""kind":"Status","code":429"#),
    (r#""creationTimestamp":""#, r#""creationTimestamp":"noon"#),
    (r#""continue":""#, r#""continue":"more"#),
    (r#""kind":"PodList""#, r#""continue":"not here""#),
    (r#""metadata":{"resourceVersion""#, r#""metadata":{"continue":"more","resourceVersion""#),
];

/// A body that is recorded, spoilt, or neither.
fn body(random: &mut Random) -> Vec<u8> {
    let texts: Vec<&str> = recorded::all().map(|(_, text)| text).collect();
    let mut body = random.pick(&texts).as_bytes().to_vec();
    match random.below(12) {
        0 => return random.bytes(3000),
        1 => return "[".repeat(100_000).into_bytes(),
        2 => return (r#"{"type":"ADDED","object":"#.to_owned() + &r#"{"a":"#.repeat(100_000) + "\n").into_bytes(),
        3 => return (r#"{"items":["#.to_owned() + &"[".repeat(100_000)).into_bytes(),
        4 => return Vec::new(),
        5 | 6 => {
            let (from, to) = random.pick(WRONG);
            return String::from_utf8(body).unwrap().replace(from, to).into_bytes();
        }
        7 => {
            for _ in 0..=random.below(5) {
                let at = random.below(body.len());
                body[at] = random.0.next_u64() as u8;
            }
        }
        8 => body.truncate(random.below(body.len())),
        9 => {
            let at = random.below(body.len());
            let end = at + random.below(body.len() - at);
            body.drain(at..end);
        }
        10 => {
            let at = random.below(body.len());
            let end = at + random.below(body.len() - at);
            let again = body[at..end].to_vec();
            body.splice(at..at, again);
        }
        _ => {}
    }
    body
}

/// Sends a body in pieces for as long as the reflector listens.
fn send(peer: &mut Peer, random: &mut Random, body: &[u8]) {
    let id = peer.call.as_ref().unwrap().id;
    let size = *random.pick(&[1 << 20, 4096, 700, 50]);
    for piece in body.chunks(size) {
        if peer.call.as_ref().is_none_or(|call| call.id != id) {
            return;
        }
        peer.send(piece);
    }
}

/// Answers the call in flight somehow.
fn torment(peer: &mut Peer, random: &mut Random) {
    let id = peer.call.as_ref().unwrap().id;
    match random.below(10) {
        0 => return peer.fail(Failure::Refused),
        1 => return peer.fail(Failure::Cut),
        2 => return peer.fail(Failure::TimedOut),
        3 => return peer.end(),
        4 => {
            let status = *random.pick(&[0, 100, 204, 301, 400, 401, 403, 404, 410, 422, 429, 500, 503, 504, 999]);
            let retry_after = *random.pick(&[None, None, Some(0), Some(20), Some(u64::MAX)]);
            peer.head(status, retry_after);
        }
        _ => peer.open(),
    }
    for _ in 0..=random.below(3) {
        if peer.call.as_ref().is_some_and(|call| call.id == id) {
            let body = body(random);
            send(peer, random, &body);
        }
    }
    if peer.call.as_ref().is_some_and(|call| call.id == id) {
        match random.below(4) {
            0 => peer.fail(Failure::Cut),
            1 => peer.advance_to_deadline(),
            _ => peer.end(),
        }
    }
}

/// Answers the call in flight as an API server does that holds one pod, keeps a short history and has never heard of anything else.
fn be_sane(peer: &mut Peer) {
    let asked = peer.asked();
    let version = asked.split("resourceVersion=").nth(1).map(|rest| rest.split('&').next().unwrap().to_owned());
    let version = version.unwrap_or_default();
    let number = version.parse::<u64>();
    let pod = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"p","namespace":"ns","resourceVersion":"{VERSION}"}}}}"#
    );
    let too_large =
        r#"{"kind":"Status","code":504,"reason":"Timeout","message":"Too large resource version: 9, current: 8"}"#;
    if asked.contains("continue=") {
        return peer.answer(410, &status(410, "Expired"));
    }
    match number {
        Err(_) if !version.is_empty() => peer.answer(400, &status(400, "BadRequest")),
        Ok(number) if number > VERSION => peer.answer(504, too_large),
        Ok(1..4990) if asked.starts_with("watch") => peer.answer(410, &status(410, "Expired")),
        _ if asked.starts_with("watch") => {
            peer.open();
            if asked.contains("sendInitialEvents") {
                peer.send(format!("{{\"type\":\"ADDED\",\"object\":{pod}}}\n"));
                peer.send(format!(
                    "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{VERSION}\",\"annotations\":{{\"k8s.io/initial-events-end\":\"true\"}}}}}}}}\n"
                ));
            }
        }
        _ => peer.answer(
            200,
            &format!(
                r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{VERSION}"}},"items":[{pod}]}}"#
            ),
        ),
    }
}

fn torment_and_recover(seed: u64, configure: impl FnOnce(&mut Config)) -> usize {
    let mut random = Random(SplitMix64::new(seed));
    let mut peer = Peer::of(Resource::PODS, |config| {
        config.seed = seed;
        // Whether a silent list is waited for is not the question here.
        config.limits.list_timeout = Duration::from_secs(2);
        configure(config);
    });
    for _ in 0..60 {
        peer.await_call();
        torment(&mut peer, &mut random);
    }
    let most = most_in_a_minute(&peer);

    // Now the server is restarted and is sane.
    if peer.call.is_some() {
        peer.fail(Failure::Cut);
    }
    let sane_since = peer.now;
    for _ in 0..20 {
        peer.await_call();
        be_sane(&mut peer);
        let watching = peer.call.as_ref().is_some_and(|call| call.watch);
        if watching && peer.last_sync() == VERSION.to_string() && peer.store.objects.len() == 1 {
            // A server asked for patience of up to five minutes, and a back-off may be a minute long.
            let took = peer.now.instant.since(sane_since.instant);
            assert!(took < Duration::from_secs(300 + 3 * 60), "seed {seed}: recovered after {took:?}");
            assert!(peer.store.objects.contains_key("ns/p"));
            return most;
        }
    }
    panic!("seed {seed}: not recovered: {:?}", peer.take_calls());
}

/// The largest number of calls in any minute; further pages of a list are not counted.
fn most_in_a_minute(peer: &Peer) -> usize {
    let times: Vec<u64> =
        peer.calls.iter().filter(|(_, call)| !call.request.path.contains("continue=")).map(|(at, _)| *at).collect();
    (0..times.len())
        .map(|first| times[first..].iter().take_while(|at| **at < times[first] + 60_000).count())
        .max()
        .unwrap()
}

#[test]
fn whatever_comes_the_reflector_recovers_and_asks_in_measure() {
    let mut most = 0;
    for seed in 0..60 {
        most = most.max(torment_and_recover(seed, |_| {}));
    }
    assert!(most <= 20, "{most} calls in a minute");
}

#[test]
fn whatever_comes_a_streaming_reflector_recovers_and_asks_in_measure() {
    let mut most = 0;
    for seed in 0..60 {
        most = most.max(torment_and_recover(1000 + seed, |config| config.watch_list = true));
    }
    assert!(most <= 30, "{most} calls in a minute");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut random = Random(SplitMix64::new(seed));
        let mut peer = Peer::of(Resource::PODS, |config| config.recovery = Recovery::ClientGo);
        for _ in 0..50 {
            peer.await_call();
            torment(&mut peer, &mut random);
        }
        (peer.calls, peer.store.calls, peer.errors)
    };
    assert_eq!(run(7), run(7));
}

#[test]
fn every_truncation_of_every_recorded_body_is_survived() {
    for (resource, text) in recorded::all() {
        let is_list = serde_json::from_str::<Value>(text).is_ok_and(|value| value["items"].is_array());
        for end in (0..text.len()).step_by(31) {
            let mut peer = Peer::of(resource.clone(), |_| {});
            if !is_list {
                peer.answer(200, r#"{"metadata":{"resourceVersion":"10"},"items":[]}"#);
            }
            peer.open();
            let id = peer.call.as_ref().unwrap().id;
            peer.send(&text[..end]);
            if peer.call.as_ref().is_some_and(|call| call.id == id) {
                peer.fail(Failure::Cut);
            }
            peer.await_call();
            assert!(!is_list || peer.store.calls.is_empty(), "half a list was stored");
        }
    }
}

#[test]
fn what_is_read_of_a_spoilt_list_is_what_a_general_reader_reads() {
    let mut random = Random(SplitMix64::new(11));
    let mut whole = 0;
    for _ in 0..5000 {
        let text = body(&mut random);
        let mut list = ListBody::new(&Limits::default());
        let mut items: Vec<Vec<u8>> = Vec::new();
        let size = 1 + random.below(1000);
        let read = text.chunks(size).try_for_each(|mut piece| -> Result<(), DecodeError> {
            while let Some(item) = list.next_item(&mut piece)? {
                items.push(item.to_vec());
            }
            Ok(())
        });
        let items: Result<Vec<Value>, _> = items.iter().map(|item| serde_json::from_slice(item)).collect();
        if let (Ok(()), Ok(meta), Ok(items)) = (read, list.finish(), items) {
            // What is skipped is not looked at for its encoding.
            let text = String::from_utf8_lossy(&text);
            let value: Value = serde_json::from_str(&text).expect("a list that was read is JSON");
            assert_eq!(value["items"].as_array().map_or(&[][..], Vec::as_slice), items);
            assert_eq!(
                value["metadata"]["resourceVersion"].as_str().unwrap_or_default(),
                meta.resource_version.to_string()
            );
            whole += 1;
        }
    }
    assert!(whole > 500, "{whole} lists were read");
}
