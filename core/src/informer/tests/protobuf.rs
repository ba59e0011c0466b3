//! An informer whose server writes protobuf, or does not.

use alloc::format;
use alloc::vec::Vec;

use super::*;
use crate::object::{Pod, ReplicaSet};
use crate::reflector::Cause;
use crate::request::Encoding;
use crate::testing::{envelope, field};

const LIST: &[u8] = include_bytes!("../../../tests/data/pods_protobuf.list.pb");
const NOT_FOUND: &[u8] = include_bytes!("../../../tests/data/pods_protobuf.404.pb");

fn config(resource: Resource) -> Config {
    Config { encoding: Encoding::Protobuf, ..Config::new(resource) }
}

struct Peer {
    informer: Informer<Pod>,
    ids: CallIds,
    now: Now,
}

impl Peer {
    fn new() -> Self {
        Self { informer: Informer::new(config(Resource::PODS)), ids: CallIds::default(), now: Now::default() }
    }

    /// Takes the next call and opens its answer.
    fn open(&mut self, status: u16, encoding: Encoding) -> Call {
        let call = self.informer.poll_call(self.now, &mut self.ids).unwrap();
        assert_eq!(call.accept, Encoding::Protobuf);
        self.informer.handle_head(self.now, call.id, Head { encoding, ..Head::new(status) }).unwrap();
        call
    }

    fn answer(&mut self, status: u16, encoding: Encoding, body: &[u8]) {
        let call = self.open(status, encoding);
        for piece in body.chunks(100) {
            self.informer.handle_body(self.now, call.id, piece).unwrap();
        }
        self.informer.handle_end(self.now, call.id).unwrap();
    }

    fn stored(&self) -> Vec<String> {
        self.informer.store().iter().map(|pod| format!("{pod:?}")).collect()
    }
}

fn frame(event_type: &str, object: &[u8]) -> Vec<u8> {
    let event = [field(1, event_type), field(2, field(1, object))].concat();
    [&(event.len() as u32).to_be_bytes()[..], &event].concat()
}

fn pod(kind: &str, version: &str) -> Vec<u8> {
    envelope("v1", kind, &field(1, [field(1, "b"), field(3, "golden"), field(6, version)].concat()))
}

#[test]
fn pods_are_listed_and_watched_in_protobuf() {
    let mut peer = Peer::new();
    peer.answer(200, Encoding::Protobuf, LIST);
    assert_eq!(peer.stored(), ["Pod golden/a@1312"]);
    let watch = peer.open(200, Encoding::Protobuf);
    assert!(watch.watch && watch.request.path.contains("resourceVersion=1312"));
    let stream = [
        frame("ADDED", &pod("Pod", "1313")),
        frame("MODIFIED", &pod("Pod", "1314")),
        frame("MODIFIED", &pod("Secret", "1315")),
        frame("BOOKMARK", &pod("Pod", "1400")),
    ]
    .concat();
    for byte in stream.chunks(1) {
        peer.informer.handle_body(peer.now, watch.id, byte).unwrap();
    }
    assert_eq!(peer.stored(), ["Pod golden/a@1312", "Pod golden/b@1314"]);
    assert_eq!(*peer.informer.last_sync_resource_version(), "1400".into());
    // What has not come as a whole when the stream ends is not told.
    let deletion = frame("DELETED", &pod("Pod", "1401"));
    peer.informer.handle_body(peer.now, watch.id, &deletion[..deletion.len() - 1]).unwrap();
    peer.informer.handle_end(peer.now, watch.id).unwrap();
    assert_eq!((peer.stored().len(), peer.informer.poll_error()), (2, None));
    let watch = peer.open(200, Encoding::Protobuf);
    peer.informer.handle_body(peer.now, watch.id, &deletion).unwrap();
    assert_eq!(peer.stored(), ["Pod golden/a@1312"]);
    let gone = envelope("v1", "Status", &[field(4, "Expired"), field(3, "too old")].concat());
    peer.informer.handle_body(peer.now, watch.id, &frame("ERROR", &gone)).unwrap();
    assert!(matches!(peer.informer.poll_error().unwrap().cause, Cause::Status(status) if status.is_expired()));
}

#[test]
fn a_server_that_answers_in_json_is_understood() {
    let mut peer = Peer::new();
    peer.answer(200, Encoding::Json, include_bytes!("../../../tests/data/pods_protobuf.list.json"));
    let watch = peer.open(200, Encoding::Json);
    let event =
        br#"{"type":"DELETED","object":{"metadata":{"name":"a","namespace":"golden","resourceVersion":"1400"}}}"#;
    // The last line may lack its end.
    peer.informer.handle_body(peer.now, watch.id, event).unwrap();
    assert_eq!(peer.stored(), ["Pod golden/a@1312"]);
    peer.informer.handle_end(peer.now, watch.id).unwrap();
    assert_eq!(peer.stored().len(), 0);
}

#[test]
fn an_error_in_protobuf_is_told_as_what_it_is() {
    let mut peer = Peer::new();
    peer.answer(404, Encoding::Protobuf, NOT_FOUND);
    let Cause::Status(status) = peer.informer.poll_error().unwrap().cause else { panic!("no status") };
    assert_eq!((status.code, &*status.message), (404, "pods \"nope\" not found"));
}

#[test]
fn what_is_no_protobuf_is_undecodable() {
    for body in [&b"{\"items\":[]}"[..], &LIST[..LIST.len() - 20], NOT_FOUND, b""] {
        let mut peer = Peer::new();
        let call = peer.open(200, Encoding::Protobuf);
        peer.informer.handle_body(peer.now, call.id, body).unwrap();
        // The call may have been given up already.
        let _ = peer.informer.handle_end(peer.now, call.id);
        let error = peer.informer.poll_error().unwrap();
        assert!(matches!(error.cause, Cause::Undecodable(_)), "{error}");
        assert!(!peer.informer.has_synced());
    }
}

#[test]
fn sets_are_asked_for_in_json_since_their_template_is_sent_back_in_it() {
    let mut informer = Informer::<ReplicaSet>::new(config(Resource::REPLICA_SETS));
    let call = informer.poll_call(Now::default(), &mut CallIds::default()).unwrap();
    assert_eq!(call.accept, Encoding::Json);
}
