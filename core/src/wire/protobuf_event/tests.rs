use alloc::vec::Vec;

use super::*;
use crate::testing::{envelope, field, number_field};

fn event(event_type: &str, object: &[u8]) -> Vec<u8> {
    [field(1, event_type), field(2, field(1, object))].concat()
}

fn pod(metadata: &[u8]) -> Vec<u8> {
    envelope("v1", "Pod", &field(1, metadata))
}

#[test]
fn an_event_is_its_type_and_the_message_of_its_object() {
    for (text, change) in [("ADDED", Change::Added), ("MODIFIED", Change::Modified), ("DELETED", Change::Deleted)] {
        let frame = event(text, &pod(&field(6, "7")));
        let message = &field(1, field(6, "7"))[..];
        assert_eq!(
            WatchEvent::decode_protobuf(&frame).unwrap(),
            WatchEvent::Message { change, api_version: "v1", kind: "Pod", message }
        );
    }
    let frame = event("NEW", &pod(&field(6, "7")));
    assert_eq!(WatchEvent::decode_protobuf(&frame), Ok(WatchEvent::Unknown { resource_version: "7".into() }));
}

#[test]
fn a_bookmark_has_a_version_and_may_end_the_initial_events() {
    let end = field(12, [field(1, "k8s.io/initial-events-end"), field(2, "true")].concat());
    for (rest, initial_events_end) in [(end, true), (field(12, [field(1, "x"), field(2, "true")].concat()), false)] {
        let frame = event("BOOKMARK", &pod(&[field(6, "9"), rest].concat()));
        let Ok(WatchEvent::Bookmark { type_meta, resource_version, initial_events_end: end }) =
            WatchEvent::decode_protobuf(&frame)
        else {
            panic!("{}", frame.escape_ascii());
        };
        assert_eq!((&*type_meta.api_version, &*type_meta.kind), ("v1", "Pod"));
        assert_eq!((resource_version, end), ("9".into(), initial_events_end));
    }
    assert!(WatchEvent::decode_protobuf(&event("BOOKMARK", &pod(b""))).is_err());
}

#[test]
fn an_error_is_a_status_with_all_that_is_looked_at() {
    let cause = [field(1, "ResourceVersionTooLarge"), field(2, "m"), field(3, "f")].concat();
    let message = [
        field(2, "Failure"),
        field(3, "too old"),
        field(4, "Expired"),
        field(5, [field(4, cause), number_field(5, 3)].concat()),
        number_field(6, 410),
    ]
    .concat();
    let Ok(WatchEvent::Error(status)) =
        WatchEvent::decode_protobuf(&event("ERROR", &envelope("v1", "Status", &message)))
    else {
        panic!("no status");
    };
    assert_eq!((status.code, &*status.reason, &*status.message), (410, "Expired", "too old"));
    assert_eq!(status.retry_after, Some(core::time::Duration::from_secs(3)));
    assert_eq!(
        (&*status.causes[0].reason, &*status.causes[0].message, &*status.causes[0].field),
        ("ResourceVersionTooLarge", "m", "f")
    );
    assert_eq!(WatchEvent::decode_protobuf(&event("ERROR", &pod(b""))), Ok(WatchEvent::OtherError));
}

#[test]
fn what_is_no_event_is_refused() {
    for frame in [&b""[..], b"\x0a", b"{}", &event("ADDED", b""), &event("ADDED", b"{}"), &field(1, "ADDED")] {
        assert!(WatchEvent::decode_protobuf(frame).is_err(), "{}", frame.escape_ascii());
    }
}

#[test]
fn a_recorded_error_is_read() {
    let status = Status::decode_protobuf(include_bytes!("../../../tests/data/pods_protobuf.404.pb")).unwrap();
    assert_eq!((status.code, &*status.reason, &*status.message), (404, "NotFound", "pods \"nope\" not found"));
    assert!(Status::decode_protobuf(&pod(b"")).is_err());
}
