//! List, watch, resume, re-list, back off.

use std::time::Duration;

use sanskube::reflector::Recovery;
use sanskube::request::{Failure, Head};

use crate::peer::{Peer, bookmark, event, list, page, status, thing};

#[test]
fn a_list_is_followed_by_a_watch_from_its_version() {
    let mut peer = Peer::new(|_| {});
    assert_eq!(peer.asked(), "list?limit=500&resourceVersion=0");
    assert!(!peer.reflector.has_synced());
    peer.answer(200, &list(10, &[thing("a", 3), thing("b", 4)]));
    assert!(peer.reflector.has_synced());
    assert_eq!(peer.asked(), "watch?resourceVersion=10");
    peer.open();
    for (kind, object) in [("ADDED", thing("c", 11)), ("MODIFIED", thing("a", 12)), ("DELETED", thing("b", 13))] {
        peer.send(event(kind, &object));
    }
    peer.send(bookmark(20, false));
    assert_eq!(peer.store.calls, ["replace [ns/a@3 ns/b@4] 10", "add ns/c@11", "update ns/a@12", "delete ns/b@13"]);
    assert_eq!(peer.last_sync(), "20");
}

#[test]
fn the_request_of_a_watch_has_bookmarks_selectors_and_a_random_timeout() {
    let mut timeouts: Vec<u64> = (0..20)
        .map(|seed| {
            let mut peer = Peer::new(|config| {
                config.seed = seed;
                config.label_selector = "app=web".into();
                config.field_selector = "metadata.name!=x".into();
            });
            let list_path = peer.call.as_ref().unwrap().request.path.clone();
            assert_eq!(
                list_path,
                "/api/v1/configmaps?labelSelector=app%3Dweb&fieldSelector=metadata.name%21%3Dx&limit=500&resourceVersion=0"
            );
            peer.answer(200, &list(10, &[]));
            let call = peer.call.unwrap();
            assert!(call.request.path.contains("watch=true&allowWatchBookmarks=true"), "{:?}", call.request);
            assert!(call.request.path.contains("labelSelector=app%3Dweb&fieldSelector="), "{:?}", call.request);
            let timeout: u64 = call.request.path.split("timeoutSeconds=").nth(1).unwrap().split('&').next().unwrap().parse().unwrap();
            assert_eq!(call.deadline.since(peer.now.instant), Duration::from_secs(timeout + 10));
            timeout
        })
        .collect();
    timeouts.sort_unstable();
    timeouts.dedup();
    assert!(timeouts.len() > 10 && timeouts[0] >= 300 && *timeouts.last().unwrap() < 600, "{timeouts:?}");
}

#[test]
fn a_watch_that_ends_is_resumed_at_once_from_the_last_version() {
    let mut peer = Peer::watching(10, &[]);
    peer.send(event("ADDED", &thing("a", 11)));
    peer.end();
    assert_eq!(peer.asked(), "watch?resourceVersion=11");
    peer.open();
    peer.advance(Duration::from_secs(1));
    peer.end();
    assert_eq!(peer.asked(), "watch?resourceVersion=11");
    peer.open();
    peer.send(event("ADDED", &thing("b", 12)));
    peer.fail(Failure::Cut);
    assert_eq!(peer.asked(), "watch?resourceVersion=12");
    assert_eq!(peer.errors, []);
}

#[test]
fn a_watch_that_ends_within_a_second_without_events_is_followed_by_a_list_after_a_back_off() {
    let mut peer = Peer::watching(10, &[]);
    peer.end();
    let delay = peer.await_call();
    assert!((800..1600).contains(&delay.as_millis()), "{delay:?}");
    assert_eq!(peer.asked(), "list?resourceVersion=10");
}

#[test]
fn a_list_is_whole_after_its_last_page_only() {
    let mut peer = Peer::new(|config| config.page_size = Some(2));
    peer.take_calls();
    peer.answer(200, &page(10, "one", &[thing("a", 1), thing("b", 2)]));
    peer.answer(200, &page(10, "two", &[thing("c", 3), thing("d", 4)]));
    assert!(!peer.reflector.has_synced() && peer.store.calls.is_empty());
    peer.answer(200, &page(10, "", &[thing("e", 5)]));
    assert_eq!(
        peer.take_calls(),
        ["list?limit=2&continue=one", "list?limit=2&continue=two", "watch?resourceVersion=10"]
    );
    assert_eq!(peer.store.calls, ["replace [ns/a@1 ns/b@2 ns/c@3 ns/d@4 ns/e@5] 10"]);
}

#[test]
fn failures_of_the_list_are_spaced_by_a_growing_jittered_delay() {
    let delays = |seed| {
        let mut peer = Peer::new(|config| config.seed = seed);
        let delays: Vec<u128> = (0..8)
            .map(|_| {
                peer.fail(Failure::Refused);
                peer.await_call().as_millis()
            })
            .collect();
        for (delay, base) in delays.iter().zip([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
            assert!((base..base * 2).contains(delay), "{delays:?}");
        }
        delays
    };
    assert_eq!(delays(1), delays(1));
    assert_ne!(delays(1), delays(2));
}

#[test]
fn a_retry_after_is_heeded_from_the_header_and_from_the_status_and_up_to_a_bound() {
    let wait = |header: Option<u64>, body: &str| {
        let mut peer = Peer::new(|_| {});
        peer.head(429, header);
        peer.send(body);
        peer.end();
        peer.await_call().as_secs()
    };
    assert_eq!(wait(Some(7), ""), 7);
    assert_eq!(wait(None, r#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":9}}"#), 9);
    assert_eq!(wait(Some(7), r#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":9}}"#), 9);
    assert_eq!(wait(Some(u64::MAX), ""), 300);
    assert!(wait(None, "") < 2);
}

#[test]
fn a_resync_is_asked_for_at_every_period_while_a_round_lasts() {
    let mut peer = Peer::new(|config| config.resync_period = Duration::from_secs(10));
    peer.answer(200, &list(10, &[]));
    peer.open();
    peer.store.calls.clear();
    for _ in 0..3 {
        peer.advance_to_deadline();
    }
    assert_eq!((peer.store.calls.len(), peer.now.instant.as_nanos()), (3, 30_000_000_000));
    peer.store.fail = Some("resync");
    peer.advance_to_deadline();
    assert_eq!(peer.cancelled, 1);
    peer.await_call();
    assert_eq!(peer.asked(), "list?resourceVersion=10");
    assert_eq!(peer.reflector.next_deadline(), Some(peer.call.as_ref().unwrap().deadline));
}

#[test]
fn a_refused_list_is_listed_again_and_a_refused_event_is_lost_but_told() {
    let mut peer = Peer::new(|_| {});
    peer.store.fail = Some("replace");
    peer.answer(200, &list(10, &[thing("a", 3)]));
    assert!(!peer.reflector.has_synced());
    assert_eq!(peer.errors[0].to_string(), "list: not stored: replace refused");
    peer.await_call();
    assert_eq!(peer.asked(), "list?limit=500&resourceVersion=0");
    peer.answer(200, &list(10, &[thing("a", 3)]));
    peer.open();
    peer.store.fail = Some("update");
    peer.send(event("MODIFIED", &thing("a", 12)));
    assert_eq!(peer.last_sync(), "12");
    assert_eq!((peer.errors[1].to_string().as_str(), peer.errors[1].step), ("watch: not stored: update refused", None));
}

#[test]
fn an_input_for_a_call_that_is_not_in_flight_changes_nothing() {
    let mut peer = Peer::watching(10, &[]);
    let old = peer.calls[0].1.id;
    assert!(peer.reflector.handle_head(peer.now, old, Head::new(500)).is_err());
    assert!(peer.reflector.handle_body(peer.now, old, b"x\n", &mut peer.store).is_err());
    assert!(peer.reflector.handle_end(peer.now, old, &mut peer.store).is_err());
    assert!(peer.reflector.handle_failure(peer.now, old, Failure::Cut).is_err());
    peer.send(event("ADDED", &thing("a", 11)));
    assert_eq!(peer.last_sync(), "11");
}

#[test]
fn a_streaming_list_is_one_replace_and_goes_on_as_a_watch() {
    let mut peer = Peer::new(|config| config.watch_list = true);
    assert_eq!(peer.asked(), "watch?sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    peer.open();
    for (kind, object) in [
        ("ADDED", thing("b", 7)),
        ("ADDED", thing("a", 9)),
        ("MODIFIED", thing("a", 10)),
        ("ADDED", thing("c", 1)),
        ("DELETED", thing("c", 11)),
    ] {
        peer.send(event(kind, &object));
    }
    assert!(peer.store.calls.is_empty() && !peer.reflector.has_synced());
    peer.send(bookmark(12, true) + &event("ADDED", &thing("d", 13)));
    assert_eq!(peer.store.calls, ["replace [ns/a@10 ns/b@7] 12", "add ns/d@13"]);
    assert!(peer.reflector.has_synced());
}

#[test]
fn a_server_without_streaming_lists_is_asked_for_a_list() {
    let mut peer = Peer::new(|config| config.watch_list = true);
    peer.answer(422, &status(422, "Invalid"));
    assert_eq!(peer.asked(), "list?limit=500&resourceVersion=0");
    peer.answer(200, &list(10, &[]));
    assert_eq!(peer.asked(), "watch?resourceVersion=10");
}

#[test]
fn a_streaming_list_that_never_completes_falls_back_to_a_list() {
    let mut peer = Peer::new(|config| config.watch_list = true);
    let mut streams = 0;
    while peer.call.as_ref().unwrap().watch {
        peer.open();
        peer.send(event("ADDED", &thing("a", 3)));
        peer.end();
        streams += 1;
        assert!(streams < 20);
    }
    assert_eq!(peer.asked(), "list?limit=500&resourceVersion=0");
    let mut peer = Peer::new(|config| config.watch_list = true);
    peer.open();
    peer.send(event("ADDED", &thing("a", 3)));
    peer.advance_to_deadline();
    assert_eq!(peer.asked(), "list?limit=500&resourceVersion=0");
    assert_eq!(peer.cancelled, 1);
}

#[test]
fn as_client_go_an_expired_watch_is_followed_by_a_pinned_list() {
    let mut peer = Peer::new(|config| config.recovery = Recovery::ClientGo);
    peer.answer(200, &list(10, &[]));
    peer.open();
    peer.send(event("ERROR", &status(410, "Expired")));
    peer.await_call();
    assert_eq!(peer.asked(), "list?resourceVersion=10");
}

#[test]
fn another_way_of_recovery_holds_for_what_fails_from_then_on() {
    let mut peer = Peer::new(|config| config.recovery = Recovery::ClientGo);
    peer.answer(200, &list(10, &[]));
    for (recovery, asked) in [
        (Recovery::Prudent, "list?limit=500"),
        (Recovery::ClientGo, "list?resourceVersion=10"),
        (Recovery::Prudent, "list?limit=500"),
    ] {
        peer.reflector.set_recovery(recovery);
        peer.answer(410, &status(410, "Expired"));
        // What has failed already is dealt with as it was to be then.
        peer.reflector.set_recovery(Recovery::ClientGo);
        peer.await_call();
        assert_eq!(peer.asked(), asked);
        peer.answer(200, &list(10, &[]));
    }
}
