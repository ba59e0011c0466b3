use sanskube::object::ReplicaSetKind;
use sanskube::replicaset::{ReplicaSetController, ReplicaSetOptions};

use super::*;

const SECOND: u64 = 1_000_000_000;

/// A set whose pods fail as soon as they are made, with what comes of it where nothing slows it down, as upstream.
fn rejected_again_and_again() -> Value {
    let set = json!({"kind": "ReplicaSet", "apiVersion": "apps/v1",
        "metadata": {"namespace": "shop", "name": "web", "uid": "uid-web", "resourceVersion": "700", "generation": 1},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}}},
        "status": {"replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0}});
    let input = json!({"now": "2026-03-14T09:26:53Z", "burstReplicas": 500, "replicaSets": [set], "pods": [], "api": {"nextResourceVersion": 1000}});
    let mut world = World::new(&input);
    let unhindered =
        ReplicaSetOptions { slow_down_rejected: false, ..ReplicaSetOptions::new(ReplicaSetKind::ReplicaSet) };
    world.controller = ReplicaSetController::new(unhindered);
    let mut ops = Vec::new();
    for round in 0..4 {
        let synced = run(&mut world, "shop/web");
        assert_eq!(synced.finish.result, Ok(()));
        ops.push(json!({"op": "sync", "args": {"key": "shop/web"}, "want": describe(&synced, &world, "shop/web")}));
        let pod = json!({"metadata": {"namespace": "shop", "name": format!("web-{round}"), "uid": format!("uid-{round}"),
            "resourceVersion": (1000 + round).to_string(), "creationTimestamp": "2026-03-14T09:26:53Z", "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-web", "controller": true}]},
            "status": {"phase": "Failed"}});
        let mut event = json!({"op": "pod_added", "args": {"pod": pod}});
        let mut ignored = Check::default();
        assert!(world.handle_event(0, &event, &mut ignored));
        event["want"] = json!({"enqueue": ["shop/web"], "expectations": {"shop/web": world.expectations_of("shop/web")}, "guard": {"shop/web": world.guard_of("shop/web")}});
        ops.push(event);
        ops.push(json!({"op": "advance", "args": {"ns": SECOND / 2}}));
    }
    json!({"input": input, "ops": ops})
}

#[test]
fn a_set_that_is_slowed_down_is_compared_again_after_the_rule() {
    let case = rejected_again_and_again();
    let mut check = Check::default();
    replay(&case, &mut check);
    assert!(check.failures.is_empty(), "{:#?}", check.failures);
    assert_eq!(check.rules["a-rejected-set-is-slowed-down"], 1);

    let mut wrong = case;
    wrong["ops"]
        .as_array_mut()
        .expect("a list")
        .iter_mut()
        .filter(|op| op["op"] == "sync")
        .for_each(|op| op["want"]["queue"] = json!([]));
    let mut check = Check::default();
    replay(&wrong, &mut check);
    assert_eq!(check.failures.len(), 3, "the one that is slowed down has a queue of its own: {:#?}", check.failures);
}
