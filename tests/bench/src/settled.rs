//! `settled`: a sync of a set that has all it wants.

use std::time::Duration;

use sanskube::key::Key;
use sanskube::object::{Common, Decode, Pod, ReplicaSet, ReplicaSetKind, Resource, Shared};
use sanskube::replicaset::{Caches, ReplicaSetController, ReplicaSetOptions, index_pods, index_sets};
use sanskube::store::Store;
use sanskube::time::{Now, Timestamp};

use crate::measure::measured;

const PODS: usize = 50;
const SYNCS: u32 = 20_000;

/// What a sync costs.
pub(crate) struct Settled {
    pub(crate) sync: Duration,
    pub(crate) allocations: f64,
}

pub(crate) fn run() -> crate::Result {
    let Settled { sync, allocations } = settled()?;
    println!("sanskube: {:.2} µs and {allocations:.1} allocations a sync of {PODS} pods", sync.as_secs_f64() * 1e6);
    Ok(())
}

pub(crate) fn settled() -> crate::Result<Settled> {
    let (pods, sets, key) = caches()?;
    let caches = Caches { pods: &pods, sets: &sets };
    let mut controller = ReplicaSetController::new(ReplicaSetOptions::new(ReplicaSetKind::ReplicaSet));
    let now = Now { wall: Timestamp::parse("2026-03-15T00:00:00Z").ok_or("a time")?, ..Now::default() };
    let mut sync = || {
        let mut sync = controller.begin_sync(&key, caches, now);
        let finish = sync.finish().expect("a settled sync asks for nothing");
        assert!(finish.result.is_ok() && finish.again_after.is_none(), "{finish:?}");
        assert!(sync.poll_event().is_none());
    };
    // The first one makes room for the record of what was written.
    sync();
    let cost = measured(&mut || (0..SYNCS).for_each(|_| sync()));
    Ok(Settled {
        sync: Duration::from_secs_f64(cost.seconds / f64::from(SYNCS)),
        allocations: cost.allocations as f64 / f64::from(SYNCS),
    })
}

/// Caches in which a set has fifty available pods and a status that says so.
fn caches() -> crate::Result<(Store<Pod>, Store<ReplicaSet>, Key)> {
    let (mut pods, mut sets) = (Store::new(), Store::new());
    index_pods(&mut pods);
    index_sets(&mut sets);
    let set = format!(
        r#"{{"metadata":{{"namespace":"shop","name":"web","uid":"7d1c0f5e-0000-4000-8000-000000000001","resourceVersion":"9","generation":1}},
        "spec":{{"replicas":{PODS},"selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"labels":{{"app":"web"}}}}}}}},
        "status":{{"replicas":{PODS},"readyReplicas":{PODS},"availableReplicas":{PODS},"fullyLabeledReplicas":{PODS},
        "terminatingReplicas":0,"observedGeneration":1}}}}"#
    );
    let _ = sets.add(ReplicaSet::decode(set.as_bytes(), &Resource::REPLICA_SETS)?)?;
    let mut shared = Shared::default();
    for n in 0..PODS {
        let pod = format!(
            r#"{{"metadata":{{"namespace":"shop","name":"web-{n}","uid":"7d1c0f5e-0000-4000-8000-0000000001{n:02}","resourceVersion":"{n}9",
            "creationTimestamp":"2026-03-14T00:00:00Z","labels":{{"app":"web"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet",
            "name":"web","uid":"7d1c0f5e-0000-4000-8000-000000000001","controller":true,"blockOwnerDeletion":true}}]}},
            "spec":{{"nodeName":"n"}},"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True",
            "lastTransitionTime":"2026-03-14T00:01:00Z"}}]}}}}"#
        );
        let _ = pods.add(Pod::decode_first(pod.as_bytes(), &Resource::PODS, &mut Common::new(&mut shared))?.0)?;
    }
    Ok((pods, sets, Key::new("shop", "web")))
}
