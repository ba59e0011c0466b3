//! What users of other clients reported, as behaviours.

use std::time::Duration;

use sanskube::reflector::{Cause, Doing, Step};
use sanskube::request::Failure;

use crate::peer::{Peer, bookmark, event, list, page, status, thing};

/// All shapes in which servers tell that a version is too large.
fn too_large() -> [String; 4] {
    let details = |details: &str, message: &str| {
        format!(
            r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,"message":"{message}"{details}}}"#
        )
    };
    let words = "Timeout: Too large resource version: 500, current: 200";
    [
        details(
            r#","details":{"retryAfterSeconds":1,"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}"#,
            words,
        ),
        details(r#","details":{"retryAfterSeconds":1,"causes":[{"message":"Too large resource version"}]}"#, "x"),
        details(r#","details":{"retryAfterSeconds":1}"#, words),
        details("", words),
    ]
}

// kubernetes/kubernetes#107133
#[test]
fn a_version_too_large_is_asked_for_once_and_then_none() {
    for body in too_large() {
        let mut peer = Peer::watching(500, &[]);
        peer.end();
        peer.await_call();
        peer.take_calls();
        peer.answer(504, &body);
        assert_eq!(peer.take_calls(), ["list?"], "{body}");
        assert_eq!(peer.errors.last().unwrap().step, Some(Step::ListUnpinned));
        peer.answer(504, &body);
        // The server asked for a second, and the back-off has come to its second delay.
        assert!(peer.await_call() >= Duration::from_millis(1600));
        assert_eq!(peer.take_calls(), ["list?limit=500"]);
        peer.answer(200, &list(200, &[]));
        assert_eq!(peer.take_calls(), ["watch?resourceVersion=200"]);
    }
}

// kubernetes/kubernetes#133810
#[test]
fn an_expired_watch_is_followed_by_a_list_that_is_not_pinned() {
    for reason in ["Expired", "Gone", ""] {
        for in_stream in [true, false] {
            let mut peer = Peer::new(|config| config.page_size = Some(500));
            peer.answer(200, &list(100, &[]));
            if in_stream {
                peer.open();
                peer.send(event("ERROR", &status(410, reason)));
                assert_eq!(peer.cancelled, 1);
            } else {
                peer.answer(410, &status(410, reason));
            }
            assert!(peer.await_call() >= Duration::from_millis(800));
            assert_eq!(peer.asked(), "list?limit=500");
            // The next failure of a list finds the pin again.
            peer.answer(200, &list(110, &[]));
            peer.answer(403, &status(403, "Forbidden"));
            peer.await_call();
            assert_eq!(peer.asked(), "list?limit=500&resourceVersion=110");
        }
    }
}

// kubernetes/kubernetes#83520
#[test]
fn a_relist_never_goes_back_in_time() {
    for reason in ["Expired", "Gone"] {
        let mut peer = Peer::watching(200, &[thing("p", 190)]);
        peer.take_calls();
        peer.store.calls.clear();
        // Cut at once, and again without any event: the watch is of no use, a list is.
        peer.fail(Failure::Cut);
        peer.await_call();
        assert_eq!(peer.take_calls(), ["list?resourceVersion=200"]);
        peer.answer(410, &status(410, reason));
        assert_eq!(peer.take_calls(), ["list?"]);
        peer.answer(200, &list(210, &[thing("p", 190)]));
        assert_eq!(peer.take_calls(), ["watch?resourceVersion=210"]);
        assert_eq!(peer.store.calls, ["replace [ns/p@190] 210"]);
    }
}

// kubernetes-client/java#1533
#[test]
fn a_list_that_is_gone_drops_the_pin_at_once_and_is_then_backed_off_from() {
    let mut peer = Peer::watching(200, &[]);
    peer.end();
    peer.await_call();
    peer.calls.clear();
    for _ in 0..5 {
        peer.answer(410, &status(410, "Expired"));
        peer.await_call();
    }
    peer.answer(200, &list(300, &[]));
    let times: Vec<u64> = peer.calls.iter().map(|(at, _)| *at).collect();
    assert_eq!(
        peer.take_calls(),
        ["list?", "list?limit=500", "list?limit=500", "list?limit=500", "list?limit=500", "watch?resourceVersion=300"]
    );
    let delays: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(delays[0] >= 1600 && delays[1] >= 3200 && delays[2] >= 6400 && delays[3] >= 12_800, "{delays:?}");
}

// kube-rs/kube#1986
#[test]
fn an_error_answer_to_a_watch_is_one_error_with_its_code_and_its_wait() {
    let pretty = |code: u16, rest: &str| {
        format!("{{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"code\": {code}{rest}\n}}\n")
    };
    let mut peer = Peer::watching(100, &[]);
    peer.advance(Duration::from_secs(2));
    peer.end();
    peer.answer(429, &pretty(429, ",\n  \"details\": {\n    \"retryAfterSeconds\": 3\n  }"));
    assert!(peer.await_call() >= Duration::from_secs(3));
    assert_eq!(peer.asked(), "watch?resourceVersion=100");
    peer.answer(403, &pretty(403, ""));
    let told: Vec<_> = peer.errors.iter().map(|e| (e.doing, e.step, code(&e.cause))).collect();
    assert_eq!(
        told,
        [(Doing::Opening, Some(Step::Resume), Some(429)), (Doing::Opening, Some(Step::NewRound), Some(403))]
    );
    peer.await_call();
    assert_eq!(peer.asked(), "list?resourceVersion=100");
}

fn code(cause: &Cause) -> Option<u16> {
    match cause {
        Cause::Status(status) => Some(status.code),
        _ => None,
    }
}

// kubernetes-client/java#519, argoproj/gitops-engine#109, doriordan/skuber#269
#[test]
fn an_error_event_ends_the_stream_and_is_never_stored() {
    let no_code = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure"}"#.to_owned();
    for (error, next) in [
        (status(410, "Gone"), "list?limit=500"),
        (status(410, "Expired"), "list?limit=500"),
        (status(500, "InternalError"), "watch?resourceVersion=11"),
        (no_code, "watch?resourceVersion=11"),
        (thing("odd", 99), "watch?resourceVersion=11"),
    ] {
        let mut peer = Peer::watching(10, &[]);
        peer.send(event("ADDED", &thing("p", 11)));
        peer.send(event("ERROR", &error) + &event("ADDED", &thing("late", 12)));
        assert_eq!(peer.store.calls, ["replace [] 10", "add ns/p@11"]);
        assert_eq!((peer.last_sync().as_str(), peer.cancelled), ("11", 1));
        assert!(peer.await_call() >= Duration::from_millis(800));
        assert_eq!(peer.asked(), next);
    }
}

#[test]
fn a_version_that_the_stream_refuses_is_not_resumed_from_for_ever() {
    for error in [too_large()[0].clone(), status(400, "BadRequest")] {
        let mut peer = Peer::watching(500, &[]);
        peer.send(event("ERROR", &error));
        peer.await_call();
        assert_eq!(peer.asked(), "list?resourceVersion=500");
        peer.answer(504, &too_large()[0]);
        assert_eq!(peer.asked(), "list?");
    }
}

#[test]
fn a_version_that_the_server_calls_a_bad_request_is_asked_for_once() {
    let mut peer = Peer::watching(500, &[]);
    peer.fail(Failure::Cut);
    peer.await_call();
    assert_eq!(peer.asked(), "list?resourceVersion=500");
    peer.answer(400, &status(400, "BadRequest"));
    assert_eq!(peer.asked(), "list?");
    // If it was not the version, it is a failure like any other.
    peer.answer(400, &status(400, "BadRequest"));
    assert!(peer.await_call() >= Duration::from_millis(1600));
}

// kube-rs/kube#192
#[test]
fn a_bare_status_line_is_an_error_of_the_server() {
    let mut peer = Peer::watching(10, &[]);
    peer.send(status(401, "Unauthorized") + "\n");
    assert_eq!(peer.cancelled, 1);
    assert_eq!((peer.errors.len(), code(&peer.errors[0].cause)), (1, Some(401)));
    peer.await_call();
    assert_eq!(peer.asked(), "watch?resourceVersion=10");
}

// kube-rs/kube#1844
#[test]
fn a_streaming_list_asks_for_initial_events_only_when_it_has_nothing() {
    let mut peer = Peer::new(|config| config.watch_list = true);
    peer.open();
    peer.send(event("ADDED", &thing("a", 250)));
    peer.send(bookmark(300, true));
    peer.advance(Duration::from_secs(300));
    peer.store.calls.clear();
    peer.end();
    assert_eq!(peer.asked(), "watch?resourceVersion=300");
    assert!(peer.store.calls.is_empty());
}

// kubernetes/kubernetes#136583
#[test]
fn initial_events_are_no_point_to_resume_from() {
    let mut peer = Peer::new(|config| config.watch_list = true);
    peer.open();
    peer.send(event("ADDED", &thing("a", 250)) + &event("ADDED", &thing("b", 90)));
    peer.fail(Failure::Cut);
    assert_eq!(peer.asked(), "watch?sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    assert!(peer.store.calls.is_empty() && !peer.reflector.has_synced() && peer.last_sync().is_empty());
    peer.open();
    peer.send(event("ADDED", &thing("b", 90)) + &bookmark(260, true));
    assert_eq!(peer.store.calls, ["replace [ns/b@90] 260"]);
    assert_eq!(peer.last_sync(), "260");
}

#[test]
fn a_watch_from_any_version_is_no_point_to_resume_from_until_its_initial_events_are_over() {
    let mut peer = Peer::new(|_| {});
    peer.answer(200, &list(0, &[]));
    assert_eq!(peer.asked(), "watch?resourceVersion=0");
    peer.open();
    peer.send(event("ADDED", &thing("a", 250)) + &event("ADDED", &thing("b", 90)));
    assert_eq!(peer.last_sync(), "0");
    peer.send(event("MODIFIED", &thing("b", 260)) + &event("ADDED", &thing("c", 261)));
    assert_eq!(peer.last_sync(), "261");
}

// kube-rs/kube#1250
#[test]
fn an_empty_continue_token_is_none() {
    for metadata in [
        r#"{"resourceVersion":"10","continue":""}"#,
        r#"{"resourceVersion":"10","continue":null}"#,
        r#"{"resourceVersion":"10"}"#,
    ] {
        let mut peer = Peer::new(|_| {});
        peer.answer(200, &format!(r#"{{"metadata":{metadata},"items":[{}]}}"#, thing("a", 3)));
        assert_eq!(peer.asked(), "watch?resourceVersion=10");
    }
}

#[test]
fn pages_without_end_and_without_objects_are_backed_off_from() {
    let mut peer = Peer::new(|_| {});
    let mut pages = 0;
    while peer.call.is_some() {
        peer.answer(200, &page(10, "more", &[]));
        pages += 1;
        assert!(pages < 100);
    }
    assert!(matches!(peer.errors[0].cause, Cause::Undecodable(_)));
}

// kube-rs/kube#1798, kube-rs/kube#1791, kubernetes/kubernetes#65012, Azure/kars#456
#[test]
fn a_silent_watch_is_dropped_past_its_own_end_and_resumed() {
    let mut peer = Peer::new(|config| {
        config.limits.watch_timeout = Duration::from_secs(5);
        config.limits.watch_grace = Duration::from_secs(1);
    });
    peer.answer(200, &list(10, &[]));
    peer.open();
    peer.send(event("ADDED", &thing("p", 11)));
    peer.advance(Duration::from_secs(5));
    assert_eq!(peer.cancelled, 0);
    // What is no event is no sign of life: it may come from anything on the way.
    peer.send("\n");
    peer.advance_to_deadline();
    assert_eq!((peer.cancelled, peer.asked().as_str()), (1, "watch?resourceVersion=11"));
    assert!(peer.now.instant.as_nanos() < 11_000_000_000);
    // One that the server never answers is no better.
    peer.advance_to_deadline();
    assert_eq!((peer.cancelled, peer.asked().as_str()), (2, "watch?resourceVersion=11"));
    // Nor one whose deadline the transport has watched.
    peer.now = peer.now.after(peer.call.as_ref().unwrap().deadline.since(peer.now.instant));
    peer.fail(Failure::TimedOut);
    assert_eq!((peer.cancelled, peer.asked().as_str()), (2, "watch?resourceVersion=11"));
}

#[test]
fn a_watch_that_does_not_even_begin_is_given_up_as_a_short_call_is() {
    let mut peer = Peer::new(|_| {});
    peer.answer(200, &list(10, &[]));
    let asked = peer.now.instant;
    peer.advance_to_deadline();
    assert_eq!((peer.cancelled, peer.asked().as_str()), (1, "watch?resourceVersion=10"));
    assert_eq!(peer.now.instant, asked + Duration::from_secs(30));
    // One that has begun has all the time it asked for.
    peer.open();
    peer.advance(Duration::from_secs(290));
    assert_eq!(peer.cancelled, 1);
}

#[test]
fn a_watch_that_goes_on_past_its_end_is_not_dropped_while_something_comes() {
    let mut peer = Peer::watching(10, &[]);
    for version in 11..100 {
        peer.advance(Duration::from_secs(9));
        peer.send(event("MODIFIED", &thing("p", version)));
    }
    assert_eq!(peer.cancelled, 0);
    peer.advance_to_deadline();
    assert_eq!(peer.cancelled, 1);
}

#[test]
fn a_silent_list_fails_on_its_own_limit() {
    let mut peer = Peer::new(|config| config.limits.list_timeout = Duration::from_secs(7));
    peer.open();
    peer.send(b"{\"items\":[");
    peer.advance_to_deadline();
    assert_eq!((peer.cancelled, peer.now.instant.as_nanos()), (1, 7_000_000_000));
    assert_eq!(peer.errors[0].cause, Cause::Failed(Failure::TimedOut));
    peer.await_call();
    assert_eq!(peer.asked(), "list?limit=500&resourceVersion=0");
}

// kube-rs/kube#577, kube-rs/kube#717, vectordotdev/vector#16798, kubernetes-client/java#1030
#[test]
fn requests_are_bounded_by_the_back_off_whatever_fails() {
    let minute = Duration::from_secs(60);
    let count = |stream: bool, step: fn(&mut Peer)| {
        let mut peer = Peer::new(|config| config.watch_list = stream);
        while peer.now.instant.as_nanos() < minute.as_nanos() as u64 {
            peer.await_call();
            step(&mut peer);
        }
        peer.calls.len()
    };
    assert!(count(false, |peer| peer.fail(Failure::Refused)) <= 7);
    assert!(count(false, |peer| peer.answer(500, &status(500, "InternalError"))) <= 7);
    // The head alone heals nothing.
    let open_and_end = count(false, |peer| {
        peer.open();
        peer.end();
    });
    assert!(open_and_end <= 7, "{open_and_end}");
    let list_and_refuse = count(false, |peer| {
        if peer.call.as_ref().unwrap().watch {
            peer.fail(Failure::Cut);
        } else {
            peer.answer(200, &list(10, &[]));
        }
    });
    assert!(list_and_refuse <= 14, "{list_and_refuse}");
    // A server that sends an event and hangs up is asked a few times at once, and then more slowly.
    let one_event = count(false, |peer| {
        if peer.call.as_ref().unwrap().watch {
            peer.open();
            peer.send(event("MODIFIED", &thing("p", 11)));
            peer.end();
        } else {
            peer.answer(200, &list(10, &[]));
        }
    });
    assert!(one_event <= 60, "{one_event}");
    // So with streaming lists that never complete and lists that fail.
    let never_whole = count(true, |peer| {
        if peer.call.as_ref().unwrap().watch {
            peer.open();
            peer.send(event("ADDED", &thing("p", 11)));
            peer.end();
        } else {
            peer.fail(Failure::Cut);
        }
    });
    assert!(never_whole <= 70, "{never_whole}");
}

#[test]
fn the_back_off_starts_over_after_a_healthy_time_only() {
    let mut peer = Peer::new(|_| {});
    let mut fail = |times: usize| -> Vec<u64> {
        (0..times)
            .map(|_| {
                peer.fail(Failure::Refused);
                peer.await_call().as_secs()
            })
            .collect()
    };
    let delays = fail(30);
    assert!(delays[6..].iter().all(|delay| *delay >= 30), "{delays:?}");
    peer.answer(200, &list(10, &[]));
    peer.open();
    peer.advance(Duration::from_secs(121));
    peer.end();
    peer.fail(Failure::Refused);
    assert!(peer.await_call() < Duration::from_millis(1600));
}

// stackabletech/trino-operator#936
#[test]
fn each_reflector_backs_off_by_itself() {
    let mut failing = Peer::new(|_| {});
    let mut healthy = Peer::watching(10, &[]);
    for version in 11..40 {
        failing.fail(Failure::Refused);
        let waited = failing.await_call();
        healthy.advance(waited);
        healthy.send(event("MODIFIED", &thing("p", version)));
        assert_eq!(healthy.last_sync(), version.to_string());
        healthy.end();
        assert_eq!(healthy.asked(), format!("watch?resourceVersion={version}"));
        healthy.open();
    }
}

// kube-rs/kube#219
#[test]
fn a_bookmark_moves_the_version_and_nothing_else() {
    let mut peer = Peer::watching(1000, &[]);
    peer.store.calls.clear();
    peer.send(
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"1500"}}}"#.to_owned() + "\n",
    );
    peer.end();
    assert_eq!(peer.asked(), "watch?resourceVersion=1500");
    assert!(peer.store.calls.is_empty());
}

// kube-rs/kube#1092
#[test]
fn what_has_no_version_is_refused() {
    for metadata in ["{}", "null", r#"{"resourceVersion":""}"#] {
        let mut peer = Peer::new(|_| {});
        peer.answer(200, &format!(r#"{{"metadata":{metadata},"items":[]}}"#));
        assert!(matches!(peer.errors[0].cause, Cause::Undecodable(_)), "{metadata}");
        assert!(!peer.reflector.has_synced());
        assert!(peer.await_call() >= Duration::from_millis(800));
        assert_eq!(peer.asked(), "list?limit=500&resourceVersion=0");
    }
    for object in
        ["{}", r#"{"metadata":{}}"#, r#"{"metadata":{"name":"a"}}"#, r#"{"metadata":{"resourceVersion":"12"}}"#, "5"]
    {
        let mut peer = Peer::watching(10, &[]);
        peer.send(event("ADDED", &thing("a", 11)));
        peer.send(event("ADDED", object));
        assert!(matches!(peer.errors[0].cause, Cause::Undecodable(_)), "{object}");
        assert_eq!((peer.cancelled, peer.last_sync().as_str()), (1, "11"));
        assert!(peer.await_call() >= Duration::from_millis(800));
        assert_eq!(peer.asked(), "list?resourceVersion=11");
    }
}

// kube-rs/kube#146, kubernetes-client/javascript#249, kontena/k8s-client#64, encode/httpx#1033
#[test]
fn an_event_may_be_cut_anywhere_and_half_a_line_is_never_an_event() {
    let stream =
        event("ADDED", &thing("größe", 11)) + "\r\n\n" + &event("MODIFIED", &thing("b", 12)).replace('\n', "\r\n");
    for cut in 0..=stream.len() {
        let mut peer = Peer::watching(10, &[]);
        peer.send(&stream.as_bytes()[..cut]);
        peer.send(&stream.as_bytes()[cut..]);
        assert_eq!(peer.store.calls[1..], ["add ns/größe@11", "update ns/b@12"], "cut at {cut}");
    }
    let tail = event("ADDED", &thing("c", 13));
    let tail = tail.trim_end();
    let mut peer = Peer::watching(10, &[]);
    peer.send(stream.clone() + tail);
    peer.fail(Failure::Cut);
    assert_eq!((peer.store.calls.len(), peer.asked().as_str()), (3, "watch?resourceVersion=12"));
    let mut peer = Peer::watching(10, &[]);
    peer.send(stream + tail);
    peer.end();
    assert_eq!((peer.store.calls.len(), peer.asked().as_str()), (4, "watch?resourceVersion=13"));
}

#[test]
fn an_object_of_three_megabytes_is_an_object() {
    let object = thing("large", 11)
        .replace("\"metadata\"", &format!("\"data\":{{\"x\":\"{}\"}},\"metadata\"", "y".repeat(3 << 20)));
    let mut peer = Peer::watching(10, &[]);
    let line = event("ADDED", &object);
    for piece in line.as_bytes().chunks(16 << 10) {
        peer.send(piece);
    }
    assert_eq!(peer.last_sync(), "11");
}

// kube-rs/kube#946
#[test]
fn an_object_of_another_kind_is_passed_over_and_one_without_a_kind_is_not() {
    let mut peer = Peer::watching(10, &[]);
    peer.store.calls.clear();
    peer.send(event("ADDED", &thing("a", 11).replace("ConfigMap", "Pod")));
    peer.send(event("ADDED", &thing("b", 12).replace("\"v1\"", "\"apps/v1\"")));
    assert!(peer.store.calls.is_empty());
    assert_eq!(peer.last_sync(), "10");
    peer.send(event("ADDED", r#"{"metadata":{"name":"c","resourceVersion":"13"}}"#));
    assert_eq!(peer.store.calls, ["add c@13"]);
}
