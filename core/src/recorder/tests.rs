use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::*;
use crate::request::{Failure, Head, Method, Response};
use crate::time::Timestamp;

fn start() -> Now {
    Now { instant: Instant::from_millis(5_000_000), wall: Timestamp::parse("2026-03-14T09:26:53.5Z").unwrap() }
}

fn event(reason: &'static str, message: &str) -> Event {
    Event {
        component: Cow::Borrowed("replicaset-controller"),
        object: ObjectReference {
            kind: Cow::Borrowed("ReplicaSet"),
            namespace: "shop".into(),
            name: "web".into(),
            uid: "u1".into(),
            api_version: "apps/v1".into(),
            resource_version: "700".into(),
        },
        event_type: EventType::Normal,
        reason: Cow::Borrowed(reason),
        message: message.into(),
    }
}

fn recorder() -> Recorder {
    Recorder::new(Limits::default(), 1)
}

fn answer(code: u16, body: &str) -> Outcome {
    Outcome::Response(Response { head: Head::new(code), body: body.as_bytes().to_vec() })
}

fn text(request: &Request) -> &str {
    core::str::from_utf8(&request.body).unwrap()
}

/// Writes all that waits, with success.
fn write_all(recorder: &mut Recorder, now: Now) -> Vec<Request> {
    let mut requests = Vec::new();
    while let Some(request) = recorder.poll_request(now) {
        assert!(recorder.poll_request(now).is_none(), "one at a time");
        requests.push(request);
        recorder.handle_outcome(answer(201, "{}"), now);
    }
    assert!(recorder.is_idle());
    requests
}

/// The messages and counts of what was written, by name of the event.
fn messages(requests: &[Request]) -> Vec<(String, u64)> {
    requests
        .iter()
        .map(|request| {
            let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
            (body["message"].as_str().unwrap().into(), body["count"].as_u64().unwrap())
        })
        .collect()
}

#[test]
fn an_event_is_written_as_go_writes_it() {
    let mut recorder = recorder();
    recorder.record(event("SuccessfulCreate", "Created pod: web-abcde"), start());
    let requests = write_all(&mut recorder, start());
    assert_eq!((requests[0].method, &*requests[0].path), (Method::Post, "/api/v1/namespaces/shop/events"));
    assert_eq!(requests[0].content_type, crate::request::JSON);
    assert_eq!(
        text(&requests[0]),
        concat!(
            r#"{"kind":"Event","apiVersion":"v1","metadata":{"name":"web.189cab0a2ec7c700","namespace":"shop"},"#,
            r#""involvedObject":{"kind":"ReplicaSet","namespace":"shop","name":"web","uid":"u1","apiVersion":"apps/v1","#,
            r#""resourceVersion":"700"},"reason":"SuccessfulCreate","message":"Created pod: web-abcde","#,
            r#""source":{"component":"replicaset-controller"},"firstTimestamp":"2026-03-14T09:26:53Z","#,
            r#""lastTimestamp":"2026-03-14T09:26:53Z","count":1,"type":"Normal","eventTime":null,"#,
            r#""reportingComponent":"replicaset-controller","reportingInstance":""}"#
        )
    );
}

#[test]
fn the_same_event_again_raises_a_count() {
    let mut recorder = recorder();
    recorder.record(event("FailedCreate", "no class"), start());
    let created = write_all(&mut recorder, start());
    let later = start().after(Duration::from_secs(7));
    recorder.record(event("FailedCreate", "no class"), later);
    let patched = write_all(&mut recorder, later);
    let name = text(&created[0]).split('"').nth(13).unwrap();
    assert_eq!(patched[0].path, format!("/api/v1/namespaces/shop/events/{name}"));
    assert_eq!((patched[0].method, patched[0].content_type), (Method::Patch, crate::request::STRATEGIC_MERGE_PATCH));
    assert_eq!(text(&patched[0]), r#"{"count":2,"lastTimestamp":"2026-03-14T09:27:00Z","message":"no class"}"#);
}

#[test]
fn from_the_tenth_message_of_a_sort_one_event_stands_for_all() {
    let mut recorder = recorder();
    for i in 0..12 {
        recorder.record(event("FailedCreate", &format!("pods \"web-{i}\" is forbidden")), start());
    }
    let requests = write_all(&mut recorder, start());
    let (single, combined) = requests.split_at(9);
    assert!(single.iter().all(|request| text(request).contains(r#""message":"pods"#)));
    assert!(text(&combined[0]).contains(r#""reportingComponent":"","#), "as client-go leaves it out");
    assert_eq!(
        messages(combined),
        [9, 10, 11].map(|i| (format!("(combined from similar events): pods \"web-{i}\" is forbidden"), i - 8))
    );
    // Other reasons and other objects are other sorts.
    recorder.record(event("SuccessfulCreate", "Created pod: web-x"), start());
    let mut other = event("FailedCreate", "Error");
    other.object.name = "api".into();
    recorder.record(other, start());
    assert_eq!(messages(&write_all(&mut recorder, start())), [("Created pod: web-x".into(), 1), ("Error".into(), 1)]);
    // Ten minutes without an event of the sort, and they are told one by one again.
    let later = start().after(Duration::from_secs(601));
    recorder.record(event("FailedCreate", "new"), later);
    assert_eq!(messages(&write_all(&mut recorder, later)), [("new".into(), 1)]);
}

#[test]
fn a_thousand_creations_make_ten_events_that_count_twenty_five() {
    let mut recorder = recorder();
    for i in 0..1000 {
        recorder.record(event("SuccessfulCreate", &format!("Created pod: web-{i}")), start());
    }
    let requests = write_all(&mut recorder, start());
    assert_eq!(requests.len(), 25);
    assert_eq!(requests.iter().filter(|request| request.method == Method::Post).count(), 10);
    assert_eq!(messages(&requests).last().unwrap().1, 16, "nine single ones and sixteen combined");
    // Five minutes earn one more.
    let mut now = start();
    for (seconds, written) in [(299, 0), (1, 1), (299, 0), (301, 2)] {
        now = now.after(Duration::from_secs(seconds));
        for i in 0..3 {
            recorder.record(event("SuccessfulCreate", &format!("{seconds} {i}")), now);
        }
        assert_eq!(write_all(&mut recorder, now).len(), written, "{seconds}");
    }
}

#[test]
fn a_flood_of_one_reason_does_not_hide_another() {
    let mut recorder = recorder();
    for i in 0..100 {
        recorder.record(event("SuccessfulCreate", &format!("Created pod: web-{i}")), start());
        recorder.record(event("FailedCreate", &format!("pods \"web-{i}\" is forbidden")), start());
    }
    let requests = write_all(&mut recorder, start());
    assert_eq!(requests.len(), 50);
    assert_eq!(requests.iter().filter(|request| request.method == Method::Post).count(), 20);
}

#[test]
fn what_the_queue_cannot_hold_is_dropped_and_counted() {
    let mut recorder = Recorder::new(Limits { events_waiting: 3, ..Limits::default() }, 1);
    for i in 0..5 {
        recorder.record(event("Sort", &i.to_string()), start());
    }
    assert_eq!(recorder.dropped(), 2);
    assert_eq!(write_all(&mut recorder, start()).len(), 3);
}

#[test]
fn an_event_that_is_gone_is_written_anew_with_its_count() {
    let mut recorder = recorder();
    for _ in 0..2 {
        recorder.record(event("Sort", "same"), start());
    }
    recorder.poll_request(start()).unwrap();
    recorder.handle_outcome(answer(201, "{}"), start());
    assert_eq!(recorder.poll_request(start()).unwrap().method, Method::Patch);
    recorder.handle_outcome(answer(404, r#"{"kind":"Status","code":404,"reason":"NotFound"}"#), start());
    let again = recorder.poll_request(start()).unwrap();
    assert_eq!((again.method, messages(&[again])), (Method::Post, alloc::vec![("same".into(), 2)]));
}

#[test]
fn a_lost_connection_is_tried_again_twelve_times_and_a_refusal_is_not() {
    let mut recorder = recorder();
    recorder.record(event("Sort", "first"), start());
    recorder.record(event("Sort", "second"), start());
    let mut now = start();
    for tries in 1..=12 {
        let request = recorder.poll_request(now).unwrap_or_else(|| panic!("try {tries}"));
        assert!(text(&request).contains("first"));
        let failure = if tries % 2 == 0 { answer(503, "") } else { Outcome::Failed(Failure::Cut) };
        recorder.handle_outcome(failure, now);
        if tries < 12 {
            assert!(recorder.poll_request(now).is_none(), "not at once");
            let at = recorder.next_deadline().unwrap();
            assert!(at.since(now.instant) <= PAUSE);
            now = now.after(at.since(now.instant));
        }
    }
    assert_eq!(recorder.dropped(), 1);
    assert!(text(&recorder.poll_request(now).unwrap()).contains("second"));
    recorder.handle_outcome(answer(403, r#"{"kind":"Status","code":403,"reason":"Forbidden"}"#), now);
    assert!(recorder.is_idle() && recorder.next_deadline().is_none());
    // An outcome that nobody waits for changes nothing.
    recorder.handle_outcome(answer(500, ""), now);
    assert!(recorder.is_idle());
}

#[test]
fn names_of_events_are_valid_and_never_the_same() {
    let mut recorder = recorder();
    let long = "a".repeat(230) + "." + &"b".repeat(20);
    let mut names = Vec::new();
    for (i, name) in ["web", "web", &*long, "Not_A/Name", ""].into_iter().enumerate() {
        let mut event = event("Sort", &i.to_string());
        event.object.name = name.into();
        recorder.record(event, start());
    }
    for request in write_all(&mut recorder, start()) {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let name: String = body["metadata"]["name"].as_str().unwrap().into();
        assert!(crate::object::validation::is_dns_subdomain(&name), "{name}");
        names.push(name);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 5);
}

#[test]
fn objects_without_a_namespace_have_their_events_in_default_and_long_messages_are_cut() {
    let mut recorder = Recorder::new(Limits { event_message_bytes: 5, ..Limits::default() }, 1);
    let mut event = event("Sort", "abcdéf");
    event.object.namespace = String::new();
    recorder.record(event, start());
    let requests = write_all(&mut recorder, start());
    assert_eq!(requests[0].path, "/api/v1/namespaces/default/events");
    assert_eq!(messages(&requests)[0].0, "abcd");
}
