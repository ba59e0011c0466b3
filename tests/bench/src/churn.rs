//! `churn`: watch events of changed pods are decoded, stored, indexed, told, routed and queued.

use std::hint::black_box;

use sanskube::informer::Change;
use sanskube::object::{Decode, ReplicaSet, ReplicaSetKind, Resource};
use sanskube::replicaset::{Caches, ReplicaSetController, ReplicaSetOptions, index_sets};
use sanskube::request::{CallId, Encoding};
use sanskube::store::Store;
use sanskube::time::Now;
use sanskube::workqueue::{Finish, Get, WorkQueue, rate};

use crate::feed::Fed;
use crate::measure::measured;
use crate::{generator, protobuf};

/// What an event costs.
pub(crate) struct Churn {
    pub(crate) seconds: f64,
    pub(crate) allocations: f64,
}

pub(crate) fn run(pods: usize, encoding: Encoding) -> crate::Result {
    let (mut fed, _) = watched(pods);
    let watch = fed.reopen(encoding);
    let events = events(pods, 20_000, encoding);
    let Churn { seconds, allocations } = churn(&mut fed, watch, &events);
    println!(
        "sanskube: {pods} pods, {:.0} events/s, {:.2} µs and {allocations:.2} allocations an event",
        1.0 / seconds,
        seconds * 1e6
    );
    Ok(())
}

/// An informer with so many pods, and the watch it has open. The list is made while it is taken in.
pub(crate) fn watched(pods: usize) -> (Fed, CallId) {
    let mut fed = Fed::new(Encoding::Json);
    list(&mut fed, pods, |_| 0);
    fed.drain();
    let watch = fed.open();
    (fed, watch)
}

/// Answers with a list of so many pods, each after so many changes.
pub(crate) fn list(fed: &mut Fed, pods: usize, changes: impl Fn(usize) -> usize) {
    let call = fed.open();
    fed.body(call, br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9000000"},"items":["#);
    for n in 0..pods {
        if n > 0 {
            fed.body(call, b",");
        }
        fed.body(call, generator::pod(n, changes(n)).as_bytes());
    }
    fed.body(call, b"]}");
    fed.end(call);
}

/// Lines of a watch that tell of `count` changes of pods among the first `pods`, in no obvious order.
pub(crate) fn lines(pods: usize, count: usize) -> Vec<String> {
    let line = |nth: usize| {
        let pod = generator::pod(nth * 7919 % pods, 2 + nth / pods);
        // What a watch sends has a kind, which the items of a list have not.
        format!("{{\"type\":\"MODIFIED\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",{}}}\n", &pod[1..])
    };
    (0..count).map(line).collect()
}

/// The same in an encoding.
pub(crate) fn events(pods: usize, count: usize, encoding: Encoding) -> Vec<Vec<u8>> {
    match encoding {
        Encoding::Json => lines(pods, count).into_iter().map(String::into_bytes).collect(),
        Encoding::Protobuf => protobuf::frames(pods, count),
    }
}

/// Feeds the events one by one, the first tenth unmeasured.
pub(crate) fn churn(fed: &mut Fed, watch: CallId, events: &[Vec<u8>]) -> Churn {
    let mut controller = ReplicaSetController::new(ReplicaSetOptions::new(ReplicaSetKind::ReplicaSet));
    let mut sets = Store::<ReplicaSet>::new();
    index_sets(&mut sets);
    for nth in (0..fed.informer.store().len()).step_by(20) {
        let set = ReplicaSet::decode(generator::set(nth).as_bytes(), &Resource::REPLICA_SETS).expect("a set is JSON");
        let _ = sets.add(set).expect("there is no key function");
    }
    let mut queue = WorkQueue::new(rate::default_controller());
    let now = Now::default();
    let (warm, later) = events.split_at(events.len() / 10);
    let mut woken = 0;
    let mut apply = |event: &Vec<u8>| {
        fed.body(watch, event);
        while let Some((_, change)) = fed.change() {
            let Change::Update { old, new } = change else { panic!("every event is of a pod that is known") };
            let caches = Caches { pods: fed.informer.store(), sets: &sets };
            for key in black_box(controller.handle_pod_updated(&old, &new, caches, now)).now {
                queue.add(now.instant, key);
                woken += 1;
            }
        }
        while let Get::Item(key) = queue.poll_get(now.instant) {
            queue.finish(now.instant, &key, Finish::Done);
        }
    };
    warm.iter().for_each(&mut apply);
    let cost = measured(&mut || later.iter().for_each(&mut apply));
    let count = later.len().max(1) as f64;
    assert!(woken >= events.len(), "every event wakes the set of its pod");
    Churn { seconds: cost.seconds / count, allocations: cost.allocations as f64 / count }
}
