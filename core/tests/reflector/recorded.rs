//! What a real API server sent.

use std::collections::BTreeMap;

use sanskube::limits::Limits;
use sanskube::object::{Decode, Meta, Resource};
use sanskube::rand::SplitMix64;
use sanskube::reflector::{Cause, Step};
use sanskube::resource_version::ResourceVersion;
use sanskube::time::Timestamp;
use sanskube::wire::{Change, Frames, ListBody, ListMeta, Status, TypeMeta, WatchEvent};
use serde_json::Value;

use crate::peer::{Peer, Thing};

/// A recorded body, by its file's name.
macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../data/", $name))
    };
}

const LISTS: [(Resource, &str); 9] = [
    (Resource::PODS, recorded!("pods_bound.list.json")),
    (Resource::PODS, recorded!("pods_empty.list.json")),
    (Resource::PODS, recorded!("pods_finalizer.list.json")),
    (Resource::PODS, recorded!("pods_live.list.json")),
    (Resource::PODS, recorded!("pods_two.list.json")),
    (Resource::REPLICA_SETS, recorded!("replicasets_bookmarks.list.json")),
    (Resource::REPLICA_SETS, recorded!("replicasets_empty.list.json")),
    (Resource::REPLICA_SETS, recorded!("replicasets_two.list.json")),
    (Resource::REPLICATION_CONTROLLERS, recorded!("replicationcontrollers.list.json")),
];

const WATCHES: [(Resource, &str); 7] = [
    (Resource::PODS, recorded!("pods_bound.watch.jsonl")),
    (Resource::PODS, recorded!("pods_finalizer.watch.jsonl")),
    (Resource::PODS, recorded!("pods_initial_events.watch.jsonl")),
    (Resource::PODS, recorded!("pods_live.watch.jsonl")),
    (Resource::PODS, recorded!("pods_phase.watch.jsonl")),
    (Resource::PODS, recorded!("pods_too_old.watch.jsonl")),
    (Resource::REPLICA_SETS, recorded!("replicasets_bookmarks.watch.jsonl")),
];

/// All lists and watches, for whoever wants to spoil them.
pub(crate) fn all() -> impl Iterator<Item = (Resource, &'static str)> {
    LISTS.into_iter().chain(WATCHES)
}

/// That the metadata is what a general reader of JSON finds in the object.
fn check(meta: &Meta, object: &Value) {
    let wanted = &object["metadata"];
    let text = |field: &str| wanted[field].as_str().unwrap_or_default();
    let time = |field: &str| wanted[field].as_str().map(|t| Timestamp::parse(t).unwrap());
    assert_eq!((meta.namespace(), meta.name()), (text("namespace"), text("name")));
    assert_eq!(
        (meta.uid.to_string().as_str(), meta.resource_version.to_string().as_str()),
        (text("uid"), text("resourceVersion"))
    );
    assert_eq!((meta.creation, meta.deletion), (time("creationTimestamp"), time("deletionTimestamp")));
    assert_eq!(meta.generation, wanted["generation"].as_i64().unwrap_or(0));
    let labels: BTreeMap<&str, &str> = meta.labels.iter().collect();
    let wanted_labels = wanted["labels"].as_object().into_iter().flatten();
    assert_eq!(labels, wanted_labels.map(|(k, v)| (k.as_str(), v.as_str().unwrap())).collect());
    assert!(!meta.uid.is_empty() && !meta.resource_version.is_none() && meta.creation.is_some());
}

fn read_list<'a>(resource: &Resource, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Thing>, ListMeta) {
    let mut body = ListBody::new(&Limits::default());
    let mut things = Vec::new();
    for mut piece in pieces {
        while let Some(item) = body.next_item(&mut piece).unwrap() {
            things.push(Thing::decode(item, resource).unwrap());
        }
    }
    (things, body.finish().unwrap())
}

#[test]
fn recorded_lists_decode_however_they_are_cut() {
    for (resource, text) in LISTS {
        let whole: Value = serde_json::from_str(text).unwrap();
        for size in [1, 7, 100, text.len()] {
            let (things, meta) = read_list(&resource, text.as_bytes().chunks(size));
            assert_eq!(meta.kind, format!("{}List", resource.kind));
            assert_eq!(meta.resource_version.to_string(), whole["metadata"]["resourceVersion"]);
            assert_eq!(meta.continue_token, "");
            let items = whole["items"].as_array().unwrap();
            assert_eq!(things.len(), items.len());
            things.iter().zip(items).for_each(|(thing, item)| check(&thing.metadata, item));
        }
    }
}

#[test]
fn recorded_watches_decode_however_they_are_cut() {
    for (resource, text) in WATCHES {
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for size in [1, 7, 100, text.len()] {
            let mut frames = Frames::new(1 << 20);
            let mut wanted = lines.iter();
            for mut piece in text.as_bytes().chunks(size) {
                while let Some(frame) = frames.next_frame(&mut piece).unwrap() {
                    check_event(&resource, &WatchEvent::decode(frame).unwrap(), wanted.next().unwrap());
                }
            }
            assert!(wanted.next().is_none());
        }
    }
}

fn check_event(resource: &Resource, event: &WatchEvent<'_>, line: &Value) {
    let object = &line["object"];
    let version = ResourceVersion::new(object["metadata"]["resourceVersion"].as_str().unwrap_or_default());
    let name = match event {
        WatchEvent::Object { change, json } => {
            let type_meta = TypeMeta::peek(json).unwrap();
            assert_eq!(
                (type_meta.kind, type_meta.api_version),
                (resource.kind.to_string(), resource.api_version().to_string())
            );
            check(&Thing::decode(json, resource).unwrap().metadata, object);
            match change {
                Change::Added => "ADDED",
                Change::Modified => "MODIFIED",
                Change::Deleted => "DELETED",
            }
        }
        WatchEvent::Bookmark { type_meta, resource_version, initial_events_end } => {
            assert_eq!((type_meta.kind.as_str(), resource_version), (&*resource.kind, &version));
            assert_eq!(*initial_events_end, object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true");
            "BOOKMARK"
        }
        WatchEvent::Error(status) => {
            assert!(status.is_expired());
            assert_eq!((status.message.as_str(), status.code), (object["message"].as_str().unwrap(), 410));
            "ERROR"
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(line["type"], name);
}

#[test]
fn a_recorded_error_answer_is_a_status() {
    let body = recorded!("replicasets_bad_selector.400.json");
    let status = Status::of_answer(400, body.as_bytes());
    assert_eq!((status.code, status.reason.as_str()), (400, "BadRequest"));
    assert!(status.message.contains("not a known field selector"));
}

#[test]
fn a_recorded_list_and_its_watch_go_through_the_reflector() {
    let runs = [
        (
            recorded!("pods_live.list.json"),
            recorded!("pods_live.watch.jsonl"),
            "replace [] 955; add golden/a@956; update golden/a@957; update golden/a@958; update golden/a@959; \
             update golden/a@960; delete golden/a@961",
        ),
        (
            recorded!("pods_bound.list.json"),
            recorded!("pods_bound.watch.jsonl"),
            "replace [golden/p1@379] 379; update golden/p1@380; delete golden/p1@381",
        ),
        (
            recorded!("pods_finalizer.list.json"),
            recorded!("pods_finalizer.watch.jsonl"),
            "replace [golden/p1@407] 407; update golden/p1@408; update golden/p1@409; delete golden/p1@410",
        ),
    ];
    for (list, watch, calls) in runs {
        for seed in 0..50 {
            let mut random = SplitMix64::new(seed);
            let mut peer = Peer::of(Resource::PODS, |config| config.namespace = "golden".into());
            for text in [list, watch] {
                peer.open();
                let mut rest = text.as_bytes();
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(rest.len().min((random.next_unit() * 700.0) as usize));
                    peer.send(piece);
                    rest = after;
                }
                peer.end();
            }
            assert_eq!(peer.store.calls.join("; "), calls);
            assert_eq!(peer.asked(), format!("watch?resourceVersion={}", peer.last_sync()));
            assert_eq!(peer.errors, []);
        }
    }
}

#[test]
fn a_recorded_expired_watch_is_followed_by_an_unpinned_list() {
    let mut peer = Peer::of(Resource::PODS, |_| {});
    peer.answer(200, recorded!("pods_two.list.json"));
    peer.open();
    peer.send(recorded!("pods_too_old.watch.jsonl"));
    assert_eq!(peer.errors[0].step, Some(Step::NewRoundUnpinned));
    assert!(matches!(&peer.errors[0].cause, Cause::Status(status) if status.reason == "Expired"));
    peer.await_call();
    assert_eq!(peer.asked(), "list?limit=500");
}

#[test]
fn recorded_initial_events_complete_a_streaming_list() {
    let mut peer = Peer::of(Resource::PODS, |config| config.watch_list = true);
    peer.open();
    peer.send(recorded!("pods_initial_events.watch.jsonl"));
    assert_eq!(peer.store.calls, ["replace [] 1081"]);
    assert!(peer.reflector.has_synced());
}
