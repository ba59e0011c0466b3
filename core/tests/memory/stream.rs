//! What a server may make a reflector hold: bodies of up to a hundred megabytes, in pieces of 64 KiB.

use std::time::Duration;

use sanskube::reflector::Cause;

use crate::counting::{allocated, peak_of};
use crate::peer::{Peer, event, list, thing};

const PIECE: usize = 64 << 10;
const BODY: usize = 100 << 20;
/// The default bound of an object and of what a list has beside its items.
const BOUND: isize = 8 << 20;

/// Sends a body that begins with `start` and goes on with `more` again and again, for as long as the reflector listens.
fn flood(peer: &mut Peer, size: usize, start: &str, more: &str) {
    let id = peer.call.as_ref().unwrap().id;
    peer.send(start);
    let piece = more.repeat(PIECE / more.len());
    for _ in 0..size / piece.len() {
        if peer.call.as_ref().is_none_or(|call| call.id != id) {
            return;
        }
        peer.send(&piece);
    }
}

/// That a flood of what cannot be kept is given up within bounded memory, leaves nothing behind, and is recovered from.
fn check(mut peer: Peer, start: &str, more: &str) {
    let before = allocated();
    // A buffer that grows is at most twice as large as what it holds, and for a moment there is the old one too.
    let peak = peak_of(|| flood(&mut peer, BODY, start, more));
    assert!(peak < 3 * BOUND + (1 << 20), "{peak} bytes for {start:?}");
    assert!(matches!(peer.errors.last().unwrap().cause, Cause::Undecodable(_)), "{:?}", peer.errors);
    assert_eq!(peer.cancelled, 1);
    assert!(peer.await_call() >= Duration::from_millis(800));
    assert!(allocated() - before < 64 << 10, "{} bytes left of {start:?}", allocated() - before);
    assert!(peer.asked().starts_with("list?"));
    peer.answer(200, &list(20, &[thing("a", 3)]));
    assert_eq!(peer.last_sync(), "20");
}

#[test]
fn a_line_of_a_hundred_megabytes_is_given_up() {
    for (start, more) in
        [("", "x"), ("{\"type\":\"ADDED\",\"object\":{\"a\":\"", "long "), ("{\"type\":\"ADDED\",\"object\":", "[")]
    {
        check(Peer::watching(10, &[]), start, more);
    }
}

#[test]
fn a_list_of_a_hundred_megabytes_that_has_no_place_for_them_is_given_up() {
    for (start, more) in
        [("{\"items\":[{\"a\":\"", "long "), ("{\"kind\":\"", "long "), ("{\"items\":[],\"x\":[", "{},"), ("", " ")]
    {
        let mut peer = Peer::new(|_| {});
        peer.open();
        check(peer, start, more);
    }
}

#[test]
fn a_list_is_never_held_as_a_whole() {
    let mut peer = Peer::new(|_| {});
    peer.open();
    peer.send("{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[");
    let object = thing("a", 3).replace("\"metadata\"", &format!("\"data\":\"{}\",\"metadata\"", "x".repeat(1 << 20)));
    let mut sent = 0;
    let peak = peak_of(|| {
        for number in 0..20 {
            for piece in [if number == 0 { "" } else { "," }, &object].join("").as_bytes().chunks(PIECE) {
                peer.send(piece);
                sent += piece.len();
            }
        }
    });
    peer.send("]}");
    peer.end();
    assert!(sent > 20 << 20 && peer.reflector.has_synced());
    // One object that is being gathered, the growth of its buffer, and the test's own copy.
    assert!(peak < 6 << 20, "{peak} bytes for {sent}");
}

#[test]
fn whitespace_and_empty_lines_without_end_cost_nothing() {
    let mut peer = Peer::watching(10, &[]);
    let peak = peak_of(|| flood(&mut peer, BODY / 8, "", "\r\n"));
    assert!(peak < 200 << 10, "{peak} bytes");
    peer.send(event("ADDED", &thing("a", 11)));
    assert_eq!(peer.last_sync(), "11");
}

#[test]
fn an_error_answer_of_a_hundred_megabytes_is_an_error_all_the_same() {
    let mut peer = Peer::watching(10, &[]);
    peer.advance(Duration::from_secs(2));
    peer.end();
    peer.head(503, Some(5));
    let peak = peak_of(|| flood(&mut peer, BODY, "{\"kind\":\"Status\",\"message\":\"", "long "));
    assert!(peak < 3 * BOUND + (1 << 20), "{peak} bytes");
    peer.end();
    assert!(matches!(&peer.errors.last().unwrap().cause, Cause::Status(status) if status.code == 503));
    assert!(peer.await_call() >= Duration::from_secs(5));
}
