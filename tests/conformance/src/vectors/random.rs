//! Random operations for cases that were never recorded.

use sanskube::rand::SplitMix64;
use sanskube::request::Call;
use serde_json::{Map, Value, json};

/// Three objects in three versions each, by their names.
pub(super) fn objects() -> Map<String, Value> {
    let mut objects = Map::new();
    for name in ["a", "b", "c"] {
        for version in ["10", "20", "30"] {
            let meta = json!({"namespace": "n1", "name": name, "uid": name, "resourceVersion": version});
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta});
            objects.insert(format!("n1/{name}@{version}"), object);
        }
    }
    objects
}

/// What may come next, given what is in flight.
pub(super) fn next_op(call: Option<&Call>, open: bool, objects: &[String], random: &mut SplitMix64) -> Value {
    let mut below = |n: usize| usize::try_from(random.next_u64() % n as u64).expect("it is below a usize");
    let status = |code: u16, reason: &str| json!({"status": {"kind": "Status", "code": code, "reason": reason, "message": reason}});
    let error = match below(11) {
        0 | 1 => status(410, "Expired"),
        2 => status(410, "Gone"),
        3 => status(429, "TooManyRequests"),
        4 | 5 => status(500, "InternalError"),
        6 => status(403, "Forbidden"),
        7 => status(400, "BadRequest"),
        8 => status(504, "Too large resource version"),
        9 => json!({"transport": "connection_refused"}),
        _ => json!({"transport": "other"}),
    };
    let version = (10 + below(90)).to_string();
    let pause = json!({"op": "advance", "ms": ([300, 1000, 5000, 40_000, 130_000][below(5)])});
    let some: Vec<&String> = objects.iter().filter(|_| below(3) == 0).collect();
    let streaming = call.is_some_and(|call| call.request.path.contains("sendInitialEvents"));
    match call {
        None if below(3) > 0 => json!({"op": "await_request"}),
        None => pause,
        Some(call) if !call.watch => match below(3) {
            0 => json!({"op": "list_fails", "error": error}),
            _ => json!({"op": "list_returns", "objs": some, "rv": version}),
        },
        Some(_) if !open => match below(3) {
            0 => json!({"op": "watch_fails", "error": error}),
            _ => json!({"op": "watch_opens"}),
        },
        Some(_) => match below(12) {
            0..3 => {
                json!({"op": "event", "type": (["ADDED", "MODIFIED", "DELETED"][below(3)]), "obj": objects[below(objects.len())]})
            }
            3..5 => json!({"op": "bookmark", "rv": version, "initial_events_end": streaming.then_some(true)}),
            5 => json!({"op": "watch_closes"}),
            6 => pause,
            7 => json!({"op": "error_event", "error": {"object": {"kind": "ConfigMap"}}}),
            _ if error["status"].is_object() => json!({"op": "error_event", "error": error}),
            _ => json!({"op": "watch_closes"}),
        },
    }
}
