//! The controller, fed with what an API server sent, and compared with what kube-controller-manager asked for then.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use sanskube::machine::{Input, Machine, Output};
use sanskube::manager::{Config, Manager};
use sanskube::request::{Call, CallId, Head, Method};
use sanskube::time::{Instant, Now, Timestamp};
use serde_json::Value;

const POD_LIST: &[u8] = include_bytes!("../recorded/pod_list.json");
const REPLICA_SET_LIST: &[u8] = include_bytes!("../recorded/replica_set_list.json");
const CREATED_POD: &[u8] = include_bytes!("../recorded/created_pod.json");
/// What kube-controller-manager wrote when it found the set: a pod, and the status before and after that pod came in.
const WRITES: &[u8] = include_bytes!("../recorded/writes.json");

/// Bytes that come at once: odd, so that objects are cut anywhere.
const PIECE: usize = 61;

/// The manager, and the other end of its wire.
struct Wire {
    manager: Manager,
    now: Now,
    watches: Vec<Call>,
    writes: Vec<Call>,
    cancelled: Vec<CallId>,
    stopped: bool,
}

impl Wire {
    /// Takes all outputs. Lists and events are answered at once, other writes and watches are kept.
    fn drain(&mut self) {
        loop {
            match self.manager.poll_output(self.now) {
                Output::Call(call) if call.watch => self.watches.push(call),
                Output::Call(call) if call.request.method == Method::Get => {
                    let list = if call.request.path.contains("replicasets") { REPLICA_SET_LIST } else { POD_LIST };
                    // An input comes after the last output only.
                    self.drain();
                    self.answer(call.id, 200, list);
                }
                // Events are a matter of their own, and may come at any time.
                Output::Call(call) if call.request.path.ends_with("/events") => {
                    self.drain();
                    self.answer(call.id, 201, &call.request.body);
                }
                Output::Call(call) => self.writes.push(call),
                Output::Cancel(id) => self.cancelled.push(id),
                Output::Stopped => return self.stopped = true,
                Output::Wait { .. } => return,
            }
        }
    }

    fn give(&mut self, input: Input<'_>) {
        self.manager.handle_input(self.now, input).expect("the input of a call in flight");
        self.drain();
    }

    fn head(&mut self, call: CallId, status: u16) {
        self.give(Input::Head { call, head: Head::new(status) });
    }

    fn bytes(&mut self, call: CallId, bytes: &[u8]) {
        for bytes in bytes.chunks(PIECE) {
            self.give(Input::Body { call, bytes });
        }
    }

    fn answer(&mut self, call: CallId, status: u16, body: &[u8]) {
        self.head(call, status);
        self.bytes(call, body);
        self.give(Input::End { call });
    }

    /// Compares the only write that waits with what was recorded, and answers it.
    fn expect_write(&mut self, recorded: &Value, status: u16, answer: &[u8]) {
        assert_eq!(self.writes.len(), 1, "{:?}", self.writes);
        let call = self.writes.remove(0);
        let body: Value = serde_json::from_slice(&call.request.body).expect("the body of a write");
        assert_eq!(call.request.path, recorded["path"].as_str().unwrap_or_default());
        for part in ["metadata", "spec", "status"] {
            assert_eq!(body[part], recorded["body"][part], "{part} of {:?}", call.request);
        }
        self.answer(call.id, status, answer);
    }

    /// The watch of the collection whose path begins so.
    fn watch(&self, path: &str) -> CallId {
        self.watches.iter().find(|call| call.request.path.starts_with(path)).expect("a watch is open").id
    }
}

/// A set that wants one pod, and has none, gets it.
pub(crate) fn run() {
    let recorded: Vec<Value> = serde_json::from_slice(WRITES).expect("the recorded writes");
    let config = Config { watch_list: false, ..Config::default() };
    let mut wire = Wire {
        manager: Manager::new(&config),
        now: Now { instant: Instant::from_millis(1), wall: Timestamp::from_seconds(1_796_000_000) },
        watches: Vec::new(),
        writes: Vec::new(),
        cancelled: Vec::new(),
        stopped: false,
    };
    wire.drain();
    assert!(wire.manager.has_synced());
    assert_eq!(wire.watches.len(), 2);
    let pods = wire.watch("/api/v1/pods?");
    let sets = wire.watch("/apis/apps/v1/replicasets?");
    wire.head(pods, 200);
    wire.head(sets, 200);

    wire.expect_write(&recorded[0], 201, CREATED_POD);
    wire.expect_write(&recorded[1], 200, &updated(&recorded[1], "538"));
    wire.bytes(sets, &event("MODIFIED", &updated(&recorded[1], "538")));
    wire.bytes(pods, &event("ADDED", CREATED_POD));
    wire.expect_write(&recorded[2], 200, &updated(&recorded[2], "539"));
    wire.bytes(sets, &event("MODIFIED", &updated(&recorded[2], "539")));
    assert!(wire.writes.is_empty(), "{:?}", wire.writes);
    assert_eq!(wire.manager.pods().len(), 1);

    wire.now = wire.now.after(Duration::from_secs(1));
    wire.give(Input::Stop);
    assert!(wire.stopped && wire.cancelled.contains(&pods) && wire.cancelled.contains(&sets));
}

/// The set that a server answers a recorded write of its status with.
fn updated(write: &Value, version: &str) -> Vec<u8> {
    let mut set = write["body"].clone();
    set["metadata"]["resourceVersion"] = Value::String(String::from(version));
    serde_json::to_vec(&set).expect("a JSON value is written as JSON")
}

/// A frame of a watch.
fn event(kind: &str, object: &[u8]) -> Vec<u8> {
    let start = alloc::format!("{{\"type\":\"{kind}\",\"object\":");
    [start.as_bytes(), object.trim_ascii(), b"}\n"].concat()
}
