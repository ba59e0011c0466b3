//! Questions about single pods.

use sanskube::object::Object;
use sanskube::replicaset::predicates::{is_active, is_available, is_terminating, next_availability_check};
use serde_json::{Value, json};

use super::super::Check;
use super::{pods, time};

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let input = &case["input"];
    let (now, clock) = (time(&input["now"]), time(&input["clockNow"]));
    let min_ready_seconds = input["minReadySeconds"].as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
    let pods = pods(&input["pods"]);
    let names = |wanted: fn(&sanskube::object::Pod) -> bool| -> Value {
        pods.iter().filter(|pod| wanted(pod)).map(|pod| pod.name()).collect()
    };
    let next = next_availability_check(pods.iter().map(|pod| &**pod), min_ready_seconds, now, clock);
    let described: Vec<Value> = pods
        .iter()
        .map(|pod| {
            json!({"name": pod.name(), "active": is_active(pod), "terminating": is_terminating(pod), "ready": pod.is_ready(),
                "available": is_available(pod, min_ready_seconds, now)})
        })
        .collect();
    let got = json!({
        "filterActive": names(is_active),
        "filterTerminating": names(is_terminating),
        "nextCheckNs": next.map(|next| u64::try_from(next.as_nanos()).unwrap_or(u64::MAX)),
        "pods": described,
    });
    for field in ["filterActive", "filterTerminating", "nextCheckNs", "pods"] {
        check.same(field, &case["want"][field], &got[field]);
    }
}
