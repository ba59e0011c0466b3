//! What a cached pod takes, and what a change of it costs: the budget.

use sanskube::delta::{InOrderFifo, Queue};
use sanskube::informer::{Change, HandlerId, HandlerOptions, Informer};
use sanskube::object::{Pod, Resource};
use sanskube::reflector::Config;
use sanskube::replicaset::index_pods;
use sanskube::request::{CallId, CallIds, Head};
use sanskube::store::Store;
use sanskube::time::Now;

use crate::counting::{allocated, allocations};

const PODS: usize = 4000;

/// A pod of a set of twenty, on a node of a hundred, with names and labels as long as real ones.
fn pod(n: usize, version: usize) -> String {
    let (set, node) = (n / 20, n / 100);
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"checkout-{set}-7d4b9c6f5d-{n:05}","namespace":"team-{}","uid":"7d1c0f5e-0000-4000-8000-{n:012}",
        "resourceVersion":"{version}","creationTimestamp":"2026-03-14T09:26:53Z","labels":{{"app.kubernetes.io/instance":"checkout-production",
        "app.kubernetes.io/name":"checkout-{set}","pod-template-hash":"7d4b9c6f5d"}},"ownerReferences":[{{"apiVersion":"apps/v1",
        "kind":"ReplicaSet","name":"checkout-{set}-7d4b9c6f5d","uid":"7d1c0f5e-0000-4000-9000-{set:012}","controller":true,
        "blockOwnerDeletion":true}}]}},"spec":{{"nodeName":"ip-10-0-0-{node}.eu-central-1.compute.internal"}},"status":{{"phase":"Running",
        "conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-03-14T09:27:12Z"}}]}}}}"#,
        set / 10
    )
    .replace("\n        ", "")
}

struct Fed {
    informer: Informer<Pod>,
    handler: HandlerId,
    ids: CallIds,
}

impl Fed {
    fn new() -> Self {
        let mut store = Store::new();
        index_pods(&mut store);
        let queue = Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks());
        let mut informer = Informer::with_queue(Config::new(Resource::PODS), queue, store);
        let handler = informer.add_handler(Now::default(), HandlerOptions::default());
        Self { informer, handler, ids: CallIds::default() }
    }

    fn open(&mut self) -> CallId {
        let call = self.informer.poll_call(Now::default(), &mut self.ids).unwrap();
        self.informer.handle_head(Now::default(), call.id, Head::new(200)).unwrap();
        call.id
    }

    fn take(&mut self) -> Option<Change<Pod>> {
        self.informer.poll_change(self.handler).map(|(_, change)| change)
    }
}

/// An informer that holds the pods, and its open watch.
fn filled() -> (Fed, CallId) {
    let mut fed = Fed::new();
    let list = fed.open();
    let pods: Vec<String> = (0..PODS).map(|n| pod(n, n + 1)).collect();
    let text = format!(r#"{{"metadata":{{"resourceVersion":"9000000"}},"items":[{}]}}"#, pods.join(","));
    for piece in text.as_bytes().chunks(16 << 10) {
        fed.informer.handle_body(Now::default(), list, piece).unwrap();
    }
    fed.informer.handle_end(Now::default(), list).unwrap();
    while fed.take().is_some() {}
    assert_eq!(fed.informer.store().len(), PODS);
    let watch = fed.open();
    (fed, watch)
}

#[test]
fn a_cached_pod_takes_no_more_than_its_budget() {
    let before = allocated();
    let (fed, _) = filled();
    let each = (allocated() - before) / PODS as isize;
    drop(fed);
    assert!(each <= 250, "{each} bytes a pod with its key, its share of labels, owner, node, and two indexes");
}

#[test]
fn an_event_allocates_the_pod_its_key_and_no_label() {
    let (mut fed, watch) = filled();
    let lines: Vec<String> = (0..1000)
        .map(|nth| format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", pod(nth * 7 % PODS, 10_000 + nth)))
        .collect();
    let mut events = 0;
    let before = allocations();
    for line in &lines {
        fed.informer.handle_body(Now::default(), watch, line.as_bytes()).unwrap();
        while let Some(change) = fed.take() {
            assert!(matches!(change, Change::Update { .. }));
            events += 1;
        }
    }
    let each = (allocations() - before) as f64 / f64::from(events);
    assert_eq!(events, 1000);
    assert!(each <= 4.1, "{each} allocations an event");
}
