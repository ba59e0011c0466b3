//! What a server sends: frames, watch events, lists, statuses.

use sanskube::error::{DecodeError, Full};
use sanskube::limits::Limits;
use sanskube::object::{Decode, MetadataOnly, Resource};
use sanskube::wire::{Frames, ListBody, ListMeta, Status, TypeMeta, WatchEvent};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::choices::{Choices, pieces, read_pieces};

/// A stream that is cut anywhere has the lines that the whole has.
pub fn frames(input: &[u8]) {
    let mut choices = Choices::new(input);
    let bound = 1 + choices.below(1 << 12);
    let cuts = choices.take(16);
    let stream = choices.rest();
    let read = |pieces: &[&[u8]]| {
        let mut frames = Frames::new(bound);
        read_pieces(pieces, |piece| Ok::<_, Full>(frames.next_frame(piece)?.map(<[u8]>::to_vec)))
    };
    // What follows the last line end is no line yet, but held all the same.
    let mut wanted = Vec::new();
    let mut full = false;
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        let is_whole = line.ends_with(b"\n");
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let trimmed = line.strip_suffix(b"\r").unwrap_or(line);
        full = if is_whole { trimmed.len() > bound } else { line.len() > bound + 1 };
        if full {
            break;
        }
        if is_whole && !trimmed.is_empty() {
            wanted.push(trimmed.to_vec());
        }
    }
    for pieces in [vec![stream], pieces(stream, &mut Choices::new(cuts))] {
        let (lines, error) = read(&pieces);
        assert_eq!((lines, error.is_err()), (wanted.clone(), full));
    }
}

/// A line of a watch is read as a general reader of JSON reads it.
pub fn watch_events(input: &[u8]) {
    let _ = TypeMeta::peek(input);
    let read = WatchEvent::decode(input);
    if let Ok(WatchEvent::Object { json, .. }) = &read {
        let _ = MetadataOnly::decode(json, &Resource::PODS);
    }
    let Ok(general) = serde_json::from_slice::<Value>(input) else { return };
    let object = &general["object"];
    match read {
        Ok(WatchEvent::Object { change, json }) => {
            assert_eq!(general["type"], format!("{change:?}").to_uppercase());
            assert_eq!(serde_json::from_slice::<Value>(json).expect("it is a part of JSON"), *object);
        }
        Ok(WatchEvent::Bookmark { type_meta, resource_version, initial_events_end }) => {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            assert_eq!(resource_version.to_string(), text(&object["metadata"]["resourceVersion"]));
            assert_eq!((type_meta.api_version, type_meta.kind), (text(&object["apiVersion"]), text(&object["kind"])));
            let end = &object["metadata"]["annotations"]["k8s.io/initial-events-end"];
            assert_eq!(initial_events_end, end == "true");
        }
        Ok(WatchEvent::Error(status)) => {
            let wire = if general["type"].is_string() { object } else { &general };
            assert_eq!(status.reason, wire["reason"].as_str().unwrap_or_default());
        }
        Ok(WatchEvent::Message { .. }) => panic!("JSON is not read as protobuf"),
        Ok(WatchEvent::OtherError) => assert_eq!(general["type"], "ERROR"),
        Ok(WatchEvent::Unknown { .. }) => assert!(!is_known(&general["type"])),
        Err(_) => {
            let usual = is_known(&general["type"]) && general["type"] != "BOOKMARK" && object.is_object();
            let keys = ["\"type\"", "\"object\"", "\"kind\""];
            let escaped = input.contains(&b'\\');
            let repeated = keys.iter().any(|key| count(input, key.as_bytes()) > 1);
            let odd_kind = general.get("kind").is_some_and(|kind| !kind.is_string() && !kind.is_null());
            assert!(!usual || escaped || repeated || odd_kind, "an ordinary event is read");
        }
    }
}

fn is_known(event_type: &Value) -> bool {
    ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"].iter().any(|known| event_type == known)
}

fn count(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).filter(|window| *window == part).count()
}

type ReadList = (Vec<Vec<u8>>, Result<ListMeta, DecodeError>);

fn read_list(pieces: &[&[u8]], limits: &Limits) -> ReadList {
    let mut list = ListBody::new(limits);
    let (items, read) = read_pieces(pieces, |piece| Ok(list.next_item(piece)?.map(<[u8]>::to_vec)));
    (items, read.and_then(|()| list.finish().map_err(DecodeError::from)))
}

/// A list that is cut anywhere has the items that the whole has, and those that a general reader finds.
pub fn lists(input: &[u8]) {
    let mut choices = Choices::new(input);
    let bound = 1 + choices.below(1 << 14);
    let limits = Limits { object_bytes: bound, answer_bytes: 2 * bound, ..Limits::default() };
    let cuts = choices.take(16);
    let body = choices.rest();
    let (items, whole) = read_list(&[body], &limits);
    let (pieced_items, pieced) = read_list(&pieces(body, &mut Choices::new(cuts)), &limits);
    assert_eq!(whole.is_ok(), pieced.is_ok(), "{whole:?} {pieced:?}");
    assert!(items.iter().all(|item| item.len() <= bound));
    let Ok(meta) = whole else { return };
    assert_eq!((&items, Ok(&meta)), (&pieced_items, pieced.as_ref()));
    let read: Result<Vec<Value>, _> = items.iter().map(|item| serde_json::from_slice(item)).collect();
    let Ok(read) = read else { return };
    let Some(general) = general(body) else { return };
    assert_eq!(general["items"].as_array().map_or(&[][..], Vec::as_slice), read);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &general["metadata"];
    assert_eq!(meta.resource_version.to_string(), text(&metadata["resourceVersion"]));
    assert_eq!((meta.kind, meta.continue_token), (text(&general["kind"]), text(&metadata["continue"])));
}

/// A status is read as a general reader reads it, and whatever came is worded.
pub fn statuses(input: &[u8]) {
    let mut choices = Choices::new(input);
    let code = *choices.pick(&[0, 200, 301, 404, 409, 410, 422, 429, 500, 503, 504, 999]);
    let body = choices.rest();
    let status = Status::of_answer(code, body);
    assert!(status.to_string().starts_with(&status.code.to_string()));
    let predicates: [fn(&Status) -> bool; 8] = [
        Status::is_expired,
        Status::is_resource_version_too_large,
        Status::is_bad_request,
        Status::is_too_many_requests,
        Status::is_not_found,
        Status::is_conflict,
        Status::is_invalid,
        Status::is_internal_error,
    ];
    let answers: Vec<bool> = predicates.iter().map(|holds| holds(&status)).collect();
    let Ok(read) = Status::decode(body) else {
        // What is no status leaves the code.
        assert_eq!(status, Status::from_code(code));
        return;
    };
    assert_eq!(Status { code: status.code, ..read.clone() }, status);
    // Where reason and code agree with each other, one answer at most is given by them.
    let (expired, gone) = (answers[0], answers[4]);
    assert!(!(expired && gone), "{status}");
    let Some(general) = general(body) else { return };
    let text = |field: &str| general[field].as_str().unwrap_or_default();
    assert_eq!((&*read.reason, &*read.message), (text("reason"), text("message")));
    assert_eq!(u64::from(read.code), general["code"].as_u64().unwrap_or_default());
    assert_eq!(read.causes.len(), general["details"]["causes"].as_array().map_or(0, Vec::len));
}

/// What a general reader finds in JSON that was read, unless it has a number there of which it cannot say how large it is.
fn general(json: &[u8]) -> Option<Value> {
    // Texts that are not asked for are not looked at for their encoding.
    let text = String::from_utf8_lossy(json);
    serde_json::from_str::<IgnoredAny>(&text).expect("what was read is JSON");
    serde_json::from_str(&text).ok()
}
