//! What a cached pod takes, and what a change of it costs: the budget.

use sanskube::delta::{InOrderFifo, Queue};
use sanskube::informer::{Change, HandlerId, HandlerOptions, Informer};
use sanskube::key::Key;
use sanskube::object::{Decode, Pod, ReplicaSet, ReplicaSetKind, Resource};
use sanskube::reflector::Config;
use sanskube::replicaset::{Caches, ReplicaSetController, ReplicaSetOptions, index_pods, index_sets};
use sanskube::request::{CallId, CallIds, Head};
use sanskube::store::Store;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube::workqueue::{Finish, Get, WorkQueue, rate};

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

/// The set of the n-th pod, which has all it wants.
fn set(n: usize) -> String {
    let set = n / 20;
    format!(
        r#"{{"metadata":{{"name":"checkout-{set}-7d4b9c6f5d","namespace":"team-{}","uid":"7d1c0f5e-0000-4000-9000-{set:012}","resourceVersion":"9",
        "generation":1}},"spec":{{"replicas":20,"selector":{{"matchLabels":{{"app.kubernetes.io/name":"checkout-{set}"}}}},
        "template":{{"metadata":{{"labels":{{"app.kubernetes.io/name":"checkout-{set}"}}}}}}}},"status":{{"replicas":20,"readyReplicas":20,
        "availableReplicas":20,"fullyLabeledReplicas":20,"terminatingReplicas":0,"observedGeneration":1}}}}"#,
        set / 10
    )
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
fn a_store_knows_about_how_much_it_holds() {
    let before = allocated();
    let (fed, _) = filled();
    let held = allocated() - before;
    let told = fed.informer.store().bytes() as isize;
    // What the pods share, and vectors with room to spare, are not in it.
    assert!(told <= held && told >= held * 8 / 10, "told {told}, holds {held}");
    drop(fed);
    assert_eq!(Store::<Pod>::new().bytes(), 0);
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
fn an_event_of_a_known_pod_allocates_nothing_and_leaves_it_as_small() {
    let start = allocated();
    let (mut fed, watch) = filled();
    let mut controller = ReplicaSetController::new(ReplicaSetOptions::new(ReplicaSetKind::ReplicaSet));
    let mut sets = Store::new();
    index_sets(&mut sets);
    for nth in (0..PODS).step_by(20) {
        let _ = sets.add(ReplicaSet::decode(set(nth).as_bytes(), &Resource::REPLICA_SETS).unwrap()).unwrap();
    }
    let mut queue = WorkQueue::new(rate::default_controller());
    let lines: Vec<String> = (0..2 * PODS)
        .map(|nth| format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", pod(nth * 7 % PODS, 10_000 + nth)))
        .collect();
    let mut woken = 0;
    let mut apply = |line: &String| {
        fed.informer.handle_body(Now::default(), watch, line.as_bytes()).unwrap();
        while let Some(change) = fed.take() {
            let Change::Update { old, new } = change else { panic!("the pod is known") };
            let caches = Caches { pods: fed.informer.store(), sets: &sets };
            for key in controller.handle_pod_updated(&old, &new, caches, Now::default()).now {
                queue.add(Instant::ZERO, key);
                woken += 1;
            }
        }
        while let Get::Item(key) = queue.poll_get(Instant::ZERO) {
            queue.finish(Instant::ZERO, &key, Finish::Done);
        }
    };
    // The first ones make what the later ones use again.
    let (first, later) = lines.split_at(10);
    first.iter().for_each(&mut apply);
    let before = allocations();
    later.iter().for_each(&mut apply);
    assert_eq!((allocations() - before, woken), (0, lines.len()));
    drop((lines, sets, queue));
    let each = (allocated() - start) / PODS as isize;
    assert!(each <= 250, "{each} bytes a pod after each was changed");
}

#[test]
fn a_settled_sync_allocates_nothing() {
    let (fed, _) = filled();
    let mut sets = Store::new();
    index_sets(&mut sets);
    let _ = sets.add(ReplicaSet::decode(set(0).as_bytes(), &Resource::REPLICA_SETS).unwrap()).unwrap();
    let caches = Caches { pods: fed.informer.store(), sets: &sets };
    let mut controller = ReplicaSetController::new(ReplicaSetOptions::new(ReplicaSetKind::ReplicaSet));
    let key = Key::new("team-0", "checkout-0-7d4b9c6f5d");
    let now = Now { wall: Timestamp::parse("2026-03-15T00:00:00Z").unwrap(), ..Now::default() };
    let sync = |controller: &mut ReplicaSetController| {
        let mut sync = controller.begin_sync(&key, caches, now);
        assert!(sync.poll_request().is_none());
        assert_eq!(sync.finish().unwrap().result, Ok(()));
    };
    // The first one makes room for the record of what was written.
    sync(&mut controller);
    let before = allocations();
    (0..100).for_each(|_| sync(&mut controller));
    assert_eq!(allocations() - before, 0);
}
