use serde_json::json;

use crate::replicaset::testing::*;
use crate::request::Method;

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
