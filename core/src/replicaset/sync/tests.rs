use serde_json::json;

use super::*;
use crate::replicaset::testing::*;
use crate::request::{Failure, Method};

#[test]
fn a_set_scales_up_and_down() {
    let mut cluster = Cluster::new(set_json(12, json!({})));
    let up = cluster.sync();
    assert_eq!(up.rounds, [1, 2, 4, 5, 1], "a slow start, then the status");
    assert_eq!(up.finish.result, Ok(()));
    assert_eq!(up.events.len(), 12);
    assert_eq!(words(&up.events)[0], "SuccessfulCreate: Created pod: web-00001");
    assert_eq!(up.status().unwrap(), json!({"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 1}));
    cluster.catch_up();
    let seen = cluster.sync();
    assert_eq!(seen.rounds, [1], "only the status");
    assert_eq!(seen.status().unwrap()["replicas"], 12);
    cluster.catch_up();
    assert!(cluster.sync().rounds.is_empty());

    cluster.change_set(json!({"spec": {"replicas": 4}, "metadata": {"generation": 2}}));
    cluster.catch_up();
    let down = cluster.sync();
    assert_eq!(down.rounds, [8, 1], "all deletions at once, then the status");
    assert_eq!(down.count(Method::Delete), 8);
    assert!(words(&down.events)[0].starts_with("SuccessfulDelete: Deleted pod: web-"));
    cluster.catch_up();
    cluster.sync();
    assert_eq!(cluster.server.set.as_ref().unwrap()["status"]["replicas"], 4);
    assert_eq!(cluster.server.pods.len(), 4);
}

#[test]
fn outcomes_that_nobody_waits_for_are_ignored() {
    let mut cluster = Cluster::new(set_json(1, json!({})));
    let caches = Caches { pods: &cluster.pods, sets: &cluster.sets };
    let mut sync = cluster.controller.begin_sync(&Key::new("shop", "web"), caches, cluster.now);
    let (ticket, _) = sync.poll_request().unwrap();
    for ticket in [Ticket(7), ticket, ticket, Ticket(u32::MAX)] {
        sync.handle_outcome(&mut cluster.controller, caches, ticket, Outcome::Failed(Failure::Cut), cluster.now);
    }
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 0);
    assert!(sync.finish().is_none(), "the status is left");
    assert_eq!(sync.poll_request().unwrap().1.method, Method::Put);
}

#[test]
fn an_answer_without_a_readable_pod_counts_as_created() {
    let mut cluster = Cluster::new(set_json(1, json!({})));
    let caches = Caches { pods: &cluster.pods, sets: &cluster.sets };
    let mut sync = cluster.controller.begin_sync(&Key::new("shop", "web"), caches, cluster.now);
    let (ticket, _) = sync.poll_request().unwrap();
    sync.handle_outcome(&mut cluster.controller, caches, ticket, answer(201, &json!([])), cluster.now);
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 1);
    assert_eq!(sync.poll_event().unwrap().message, "Created pod: (name unknown)");
}

#[test]
fn a_status_failure_counts_before_a_failed_creation() {
    let mut cluster = Cluster::new(set_json(1, json!({})));
    let refusal = json!({"kind": "Status", "code": 500, "reason": "InternalError", "message": "broken"});
    cluster.server.refuse(Method::Post, "/pods", 500, refusal.clone());
    cluster.server.refuse(Method::Put, "/status", 500, refusal);
    assert!(matches!(cluster.sync().finish.result, Err(SyncFailure::Status(_))));
}
