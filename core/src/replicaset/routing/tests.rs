use serde_json::{Value, json};

use super::*;
use crate::replicaset::testing::*;
use crate::request::Method;

fn woken_by_pods(cluster: &mut Cluster) -> Vec<Key> {
    cluster.woken.clear();
    cluster.catch_up();
    let mut woken: Vec<Key> = cluster.woken.drain(..).flat_map(|wakeups| wakeups.now).collect();
    // The last one is for the set itself, which `catch_up` shows to the cache again.
    woken.pop();
    woken
}

fn web() -> Key {
    Key::new("shop", "web")
}

/// A set of two: one pod is its own, the other it adopts, and the cache does not show it.
fn with_an_adoption_that_the_cache_does_not_show() -> Cluster {
    let status = json!({"status": {"replicas": 2, "fullyLabeledReplicas": 2, "terminatingReplicas": 0, "observedGeneration": 1}});
    let pods = [pod_json("own", owned()), pod_json("orphan", json!({}))];
    let mut cluster = Cluster::new(set_json(2, status)).with_pods(pods);
    assert_eq!(cluster.sync().count(Method::Patch), 1, "the orphan is adopted");
    assert_eq!(cluster.server.pods["orphan"]["metadata"]["ownerReferences"][0]["uid"], "uid-web");
    cluster
}

#[test]
fn a_pod_that_was_disowned_and_deleted_unseen_wakes_the_set_that_had_it() {
    let mut cluster = Cluster::new(set_json(1, json!({}))).with_pods([pod_json("p0", owned())]);
    for labels in [json!({}), json!({"app": "db"})] {
        cluster.change_pod("p0", owned());
        cluster.catch_up();
        cluster.controller.expectations_mut().expect_deletions(
            &"uid-web".into(),
            [Key::new("shop", "p0")],
            cluster.now.instant,
        );
        cluster.change_pod(
            "p0",
            json!({"metadata": {"ownerReferences": [], "labels": labels, "deletionTimestamp": START}}),
        );
        assert!(woken_by_pods(&mut cluster).contains(&web()), "labels {labels}");
        let expectation = cluster.controller.expectations().get(&"uid-web".into()).unwrap();
        assert_eq!(expectation.deletions, 0, "it is not awaited any more");
        cluster.server.pods.get_mut("p0").unwrap()["metadata"]["deletionTimestamp"].take();
    }
    let synced = cluster.sync();
    assert_eq!(synced.count(Method::Post), 1, "it is replaced");
}

#[test]
fn a_pod_that_changed_hands_and_was_deleted_unseen_wakes_both_sets() {
    let mut cluster = Cluster::new(set_json(1, json!({}))).with_pods([pod_json("p0", owned())]);
    let other = json!({"metadata": {"name": "other", "uid": "uid-other"}});
    let _ = cluster.sets.add(set(&set_json(1, other))).unwrap();
    let mut owner: Value = owned()["metadata"]["ownerReferences"].take();
    owner[0]["name"] = json!("other");
    owner[0]["uid"] = json!("uid-other");
    cluster.change_pod("p0", json!({"metadata": {"ownerReferences": owner, "deletionTimestamp": START}}));
    assert_eq!(woken_by_pods(&mut cluster), [Key::new("shop", "other"), web()]);
}

#[test]
fn a_pod_that_was_adopted_and_has_gone_unseen_wakes_the_set_that_adopted_it() {
    let mut cluster = with_an_adoption_that_the_cache_does_not_show();
    cluster.server.pods.remove("orphan");
    cluster.server.version += 1;
    assert_eq!(woken_by_pods(&mut cluster), [web()]);
    let synced = cluster.sync();
    assert_eq!(synced.count(Method::Post), 1, "it is replaced");
}

#[test]
fn a_pod_that_was_adopted_and_lost_unseen_wakes_the_set_that_adopted_it() {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other", "uid": "uid-other", "controller": true}]);
    for change in [
        json!({"ownerReferences": []}),
        json!({"ownerReferences": [], "labels": {"app": "db"}}),
        json!({"ownerReferences": owner}),
    ] {
        let mut cluster = with_an_adoption_that_the_cache_does_not_show();
        cluster.change_pod("orphan", json!({"metadata": change}));
        assert_eq!(woken_by_pods(&mut cluster), [web()], "{change}");
        let synced = cluster.sync();
        let again = usize::from(change == json!({"ownerReferences": []}));
        assert_eq!((synced.count(Method::Patch), synced.count(Method::Post)), (again, 1 - again), "{change}");
    }
}

#[test]
fn an_orphan_that_changes_wakes_nobody_who_has_not_written_since() {
    let mut cluster = Cluster::new(set_json(0, json!({}))).with_pods([pod_json("orphan", json!({}))]);
    cluster.change_pod("orphan", json!({"metadata": {"annotations": {"a": "b"}}}));
    assert_eq!(woken_by_pods(&mut cluster), []);
}

#[test]
fn a_pod_that_was_adopted_and_deleted_by_a_set_is_not_awaited_when_it_has_gone_unseen() {
    let mut cluster = with_an_adoption_that_the_cache_does_not_show();
    let awaited = [Key::new("shop", "orphan")];
    cluster.controller.expectations_mut().expect_deletions(&"uid-web".into(), awaited, cluster.now.instant);
    cluster.server.pods.remove("orphan");
    assert!(woken_by_pods(&mut cluster).contains(&web()));
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().deletions, 0);
}

#[test]
fn the_end_of_an_orphan_wakes_no_set_that_does_not_select_it() {
    for labels in [json!({"app": "db"}), json!(null)] {
        let mut orphan = pod_json("orphan", json!({}));
        orphan["metadata"]["labels"] = labels;
        let mut cluster = Cluster::new(set_json(0, json!({}))).with_pods([orphan]);
        cluster.server.pods.clear();
        assert_eq!(woken_by_pods(&mut cluster), []);
    }
}

#[test]
fn the_end_of_an_orphan_that_nobody_took_leads_to_no_call() {
    let settled = json!({"status": {"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 1}});
    let mut orphan = pod_json("orphan", json!({}));
    orphan["metadata"]["deletionTimestamp"] = json!(START);
    let mut cluster = Cluster::new(set_json(0, settled)).with_pods([orphan]);
    for _ in 0..3 {
        cluster.change_pod("orphan", json!({"metadata": {"annotations": {"a": "b"}}}));
        assert_eq!(woken_by_pods(&mut cluster), [web()]);
        assert!(cluster.sync().requests.is_empty());
    }
    cluster.server.pods.clear();
    assert_eq!(woken_by_pods(&mut cluster), [web()]);
    assert!(cluster.sync().requests.is_empty());
}

#[test]
fn a_pod_that_a_relist_lacks_wakes_its_owner_and_is_not_awaited_any_more() {
    let mut cluster = Cluster::new(set_json(1, json!({}))).with_pods([pod_json("p0", owned())]);
    let awaited = [Key::new("shop", "p0")];
    cluster.controller.expectations_mut().expect_deletions(&"uid-web".into(), awaited, cluster.now.instant);
    cluster.server.pods.clear();
    assert_eq!(woken_by_pods(&mut cluster), [web()]);
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().deletions, 0);
}
