//! What users have reported of other controllers, and what must happen here.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::{Value, json};

use super::testing::*;
use super::*;
use crate::key::Key;
use crate::object::{Object, Pod, ReplicaSet};
use crate::request::{Failure, Method};
use crate::resource_version::ResourceVersion;

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "code": code, "reason": reason, "message": message})
}

fn own_pods(count: usize) -> impl Iterator<Item = Value> {
    (0..count).map(|i| pod_json(&format!("p{i}"), owned()))
}

/// A status that fits so many pods that are not ready.
fn settled(count: usize) -> Value {
    json!({"status": {"replicas": count, "fullyLabeledReplicas": count, "terminatingReplicas": 0, "observedGeneration": 1}})
}

#[test]
fn a_cache_that_stays_behind_never_makes_a_set_create_its_pods_again() {
    let mut cluster = Cluster::new(set_json(2, json!({})));
    assert_eq!(cluster.sync().count(Method::Post), 2);
    for minute in 0..10 {
        cluster.advance(Duration::from_secs(60));
        let synced = cluster.sync();
        assert!(matches!(synced.finish.result, Err(SyncFailure::Behind(_))), "minute {minute}");
        assert!(synced.requests.is_empty(), "minute {minute}: nothing is created, and the status does not fall back");
    }
    cluster.catch_up();
    let synced = cluster.sync();
    assert_eq!((synced.count(Method::Post), synced.status().unwrap()["replicas"].clone()), (0, json!(2)));
}

#[test]
fn pods_that_came_and_went_unseen_are_replaced_at_once() {
    let mut cluster = Cluster::new(set_json(2, json!({})));
    assert_eq!(cluster.sync().count(Method::Post), 2);
    // An outage; both pods are deleted meanwhile, and the list after it does not have them.
    cluster.server.pods.clear();
    cluster.server.version += 10;
    cluster.catch_up();
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 2, "never observed");
    assert_eq!(cluster.sync().count(Method::Post), 2);
}

#[test]
fn a_deletion_that_was_never_seen_is_met_by_the_version_too() {
    let mut cluster = Cluster::new(set_json(1, settled(2))).with_pods(own_pods(2));
    assert_eq!(cluster.sync().count(Method::Delete), 1);
    // The pod vanishes from the cache without an event for the controller.
    let gone: Vec<Key> = cluster.pods.keys().filter(|k| !cluster.server.pods.contains_key(k.name())).cloned().collect();
    for key in gone {
        cluster.pods.remove(key.as_str());
    }
    cluster.change_set(json!({"spec": {"replicas": 2}, "metadata": {"generation": 2}}));
    cluster.catch_up();
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().deletions, 1, "never observed");
    assert_eq!(cluster.sync().count(Method::Post), 1);
}

#[test]
fn a_set_made_anew_under_an_old_name_does_not_wait_for_what_its_namesake_did() {
    let mut cluster = Cluster::new(set_json(3, json!({})));
    cluster.controller.expectations_mut().expect_creations(&"uid-web".into(), 3, cluster.now.instant);
    assert_eq!(cluster.sync().count(Method::Post), 0);
    let anew = set_json(3, json!({"metadata": {"uid": "uid-web-2", "resourceVersion": "950"}}));
    // Deleted and added before any sync has seen it gone; and once seen as one update.
    for one_update in [false, true] {
        let (old, new) = (set(&set_json(3, json!({}))), set(&anew));
        if one_update {
            let _ = cluster.controller.handle_set_updated(&old, &new);
        } else {
            let _ = cluster.controller.handle_set_deleted(&old);
            let _ = cluster.controller.handle_set_added(&new);
        }
        assert!(cluster.controller.expectations().is_empty());
        cluster.controller.expectations_mut().expect_creations(&"uid-web".into(), 3, cluster.now.instant);
    }
    let _ = cluster.sets.add(set(&anew)).unwrap();
    cluster.server.set = Some(anew);
    cluster.caches_at(960);
    assert_eq!(cluster.sync().count(Method::Post), 3);
}

#[test]
fn a_pod_that_is_gone_already_is_no_error_and_not_awaited() {
    let mut cluster = Cluster::new(set_json(2, settled(5))).with_pods(own_pods(5));
    // Three go; one of those is gone on the server.
    let gone = cluster.first_request().path.rsplit('/').next().unwrap().to_string();
    cluster.server.pods.remove(&gone);
    let synced = cluster.sync();
    assert_eq!(synced.count(Method::Delete), 3);
    assert_eq!(synced.finish.result, Ok(()));
    assert_eq!(synced.events.len(), 2);
    assert!(!words(&synced.events).iter().any(|words| words.ends_with(&gone)));
    let expectation = cluster.controller.expectations().get(&"uid-web".into()).unwrap().clone();
    assert_eq!(expectation.deletions, 2);
    assert!(!expectation.pods.unwrap().contains(&Key::new("shop", &gone)));
}

#[test]
fn a_creation_that_timed_out_is_tried_again_and_a_surplus_removed() {
    for outcome in ["timeout status", "no answer"] {
        let mut cluster = Cluster::new(set_json(1, json!({})));
        match outcome {
            "no answer" => cluster.server.fail(Method::Post, "/pods", Failure::TimedOut),
            _ => cluster.server.refuse(Method::Post, "/pods", 504, status(504, "Timeout", "request did not complete")),
        }
        let synced = cluster.sync();
        assert!(matches!(synced.finish.result, Err(SyncFailure::Manage(_))), "{outcome}");
        assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 0);
        cluster.server.refusals.clear();
        cluster.change_set(json!({}));
        cluster.catch_up();
        if outcome == "no answer" {
            // It was created after all, and shows before the next try.
            cluster.server.pods.insert("late".into(), pod_json("late", owned()));
            cluster.catch_up();
            assert_eq!(cluster.sync().count(Method::Post), 0);
        } else {
            // It shows after the next try: one is too many then.
            assert_eq!(cluster.sync().count(Method::Post), 1);
            cluster.server.pods.insert("late".into(), pod_json("late", owned()));
            cluster.catch_up();
            assert_eq!(cluster.sync().count(Method::Delete), 1);
            assert_eq!(cluster.server.pods.len(), 1);
        }
    }
}

#[test]
fn while_a_quota_refuses_all_one_pod_is_tried_a_sync() {
    let mut cluster = Cluster::new(set_json(1000, json!({})));
    cluster.server.refuse(
        Method::Post,
        "/pods",
        403,
        status(403, "Forbidden", "pods \"web-x\" is forbidden: exceeded quota: q"),
    );
    let mut writes = 0;
    for _ in 0..10 {
        let synced = cluster.sync();
        assert_eq!(synced.count(Method::Post), 1);
        assert_eq!(synced.events.len(), 1);
        assert!(matches!(synced.finish.result, Err(SyncFailure::Manage(_))));
        assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 0);
        writes += synced.count(Method::Put);
        cluster.advance(Duration::from_secs(60));
        cluster.catch_up();
    }
    assert_eq!(writes, 1, "the condition is shown once");
    let conditions = cluster.server.set.as_ref().unwrap()["status"]["conditions"].clone();
    assert_eq!(conditions[0]["reason"], "FailedCreate");
    assert_eq!(conditions.as_array().unwrap().len(), 1);
}

#[test]
fn a_failure_in_a_batch_ends_the_slow_start_behind_it() {
    let mut cluster = Cluster::new(set_json(12, json!({})));
    cluster.server.refuse_after(Method::Post, 4, 403, status(403, "Forbidden", "quota"));
    let synced = cluster.sync();
    assert_eq!(synced.rounds, [1, 2, 4, 1], "three batches and the status");
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 4);
}

#[test]
fn in_a_namespace_that_is_ending_nothing_is_retried_told_or_expected() {
    let mut cluster = Cluster::new(set_json(50, json!({})));
    let mut refusal = status(
        403,
        "Forbidden",
        "forbidden: unable to create new content in namespace shop because it is being terminated",
    );
    refusal["details"] = json!({"causes": [{"reason": "NamespaceTerminating"}]});
    cluster.server.refuse(Method::Post, "/pods", 403, refusal);
    let synced = cluster.sync();
    assert_eq!(synced.count(Method::Post), 1, "the first batch tells it all");
    assert_eq!(synced.finish, Finish { result: Ok(()), again_after: None });
    assert!(synced.events.is_empty());
    assert_eq!(synced.status().unwrap().get("conditions"), None);
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 0);
}

#[test]
fn a_set_that_turns_out_to_be_deleted_replaced_or_gone_adopts_nothing() {
    let deleted = set_json(1, json!({"metadata": {"deletionTimestamp": START}}));
    let replaced = set_json(1, json!({"metadata": {"uid": "uid-other"}}));
    for fresh in [Some(deleted), Some(replaced), None] {
        let orphans = ["o1", "o2"].map(|name| pod_json(name, json!({})));
        let mut cluster = Cluster::new(set_json(1, json!({}))).with_pods(orphans);
        cluster.server.set = fresh;
        let synced = cluster.sync();
        assert_eq!(synced.requests.len(), 1, "one GET for both, and nothing else");
        assert_eq!(synced.count(Method::Get), 1);
        assert!(matches!(&synced.finish.result, Err(SyncFailure::Claim(failures)) if failures.len() == 2));
    }
}

#[test]
fn a_set_that_is_being_deleted_does_nothing_but_write_its_status() {
    let deletion = json!({"metadata": {"deletionTimestamp": START}});
    for (replicas, pods) in [(5, 2), (1, 4)] {
        let mut cluster = Cluster::new(set_json(replicas, deletion.clone())).with_pods(own_pods(pods));
        cluster.server.pods.insert("orphan".into(), pod_json("orphan", json!({})));
        cluster.catch_up();
        let synced = cluster.sync();
        assert_eq!((synced.requests.len(), synced.count(Method::Put)), (1, 1));
        assert_eq!(synced.status().unwrap()["replicas"], pods);
    }
}

#[test]
fn a_pod_whose_labels_no_longer_match_is_released_and_replaced() {
    for (code, retried) in [(200, false), (404, false), (422, false), (409, true), (500, true)] {
        let mut cluster = Cluster::new(set_json(3, json!({}))).with_pods(own_pods(3));
        cluster.change_pod("p1", json!({"metadata": {"labels": {"app": "debug"}}}));
        cluster.catch_up();
        if code != 200 {
            let reason = match code {
                404 => "NotFound",
                409 => "Conflict",
                422 => "Invalid",
                _ => "InternalError",
            };
            cluster.server.refuse(Method::Patch, "/pods/p1", code, status(code, reason, "no"));
        }
        let synced = cluster.sync();
        let patch: Value = serde_json::from_slice(&synced.requests[0].body).unwrap();
        let owner = json!([{"$patch": "delete", "uid": "uid-web"}]);
        assert_eq!(patch, json!({"metadata": {"uid": "uid-p1", "ownerReferences": owner}}));
        assert_eq!(synced.finish.result.is_err(), retried, "{code}");
        assert_eq!(synced.count(Method::Post), usize::from(!retried), "{code}");
        if !retried {
            assert_eq!(synced.status().unwrap()["replicas"], 2, "not counted at once");
        }
    }
}

#[test]
fn a_matching_orphan_is_adopted_and_a_pod_of_another_controller_is_not_touched() {
    let mut cluster = Cluster::new(set_json(3, json!({}))).with_pods([pod_json("bare", json!({}))]);
    let synced = cluster.sync();
    assert_eq!((synced.count(Method::Patch), synced.count(Method::Post)), (1, 2));

    let other = json!({"metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "api",
        "uid": "uid-api", "controller": true}]}});
    let mut cluster = Cluster::new(set_json(3, json!({}))).with_pods([pod_json("other", other)]);
    let synced = cluster.sync();
    assert_eq!((synced.count(Method::Patch), synced.count(Method::Post)), (0, 3));

    // An adopted pod may be a victim.
    let mut cluster = Cluster::new(set_json(0, json!({}))).with_pods([pod_json("bare", json!({}))]);
    let synced = cluster.sync();
    assert_eq!((synced.count(Method::Patch), synced.count(Method::Delete)), (1, 1));
    assert_eq!(synced.finish.result, Ok(()), "its version is the one that the adoption gave it");
    assert!(cluster.server.pods.is_empty());
}

#[test]
fn a_pod_that_has_changed_since_the_cache_saw_it_is_not_deleted() {
    let mut cluster = Cluster::new(set_json(0, settled(1))).with_pods(own_pods(1));
    // Somebody has taken it out of the set; the cache does not know.
    cluster.change_pod("p0", json!({"metadata": {"ownerReferences": []}}));
    let synced = cluster.sync();
    assert_eq!(synced.count(Method::Delete), 1);
    assert!(matches!(synced.finish.result, Err(SyncFailure::StalePods)));
    assert!(synced.events.is_empty(), "the set has not failed");
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().deletions, 0);
    assert!(cluster.server.pods.contains_key("p0"));

    // Another pod of the same name.
    let mut cluster = Cluster::new(set_json(0, settled(1))).with_pods(own_pods(1));
    cluster.server.pods.insert("p0".into(), pod_json("p0", json!({"metadata": {"uid": "uid-other"}})));
    assert!(matches!(cluster.sync().finish.result, Err(SyncFailure::StalePods)));
    assert!(cluster.server.pods.contains_key("p0"));
}

#[test]
fn two_sets_of_one_selector_leave_each_others_pods_alone() {
    let mut cluster = Cluster::new(set_json(3, json!({})));
    let api = set_json(3, json!({"metadata": {"name": "api", "uid": "uid-api"}}));
    let _ = cluster.sets.add(set(&api)).unwrap();
    cluster.caches_at(900);
    assert_eq!(cluster.sync().count(Method::Post), 3);
    let web_pods = cluster.server.pods.len();
    cluster.catch_up();
    let synced = cluster.sync_key("shop/api");
    assert_eq!((synced.count(Method::Post), synced.count(Method::Patch)), (3, 0));
    assert_eq!(cluster.server.pods.len(), web_pods + 3);
    cluster.catch_up();
    let synced = cluster.sync();
    assert_eq!((synced.count(Method::Post), synced.count(Method::Delete), synced.count(Method::Patch)), (0, 0, 0));
}

#[test]
fn each_pod_is_looked_at_again_when_it_becomes_available() {
    let min = json!({"spec": {"minReadySeconds": 60}});
    let mut cluster = Cluster::new(set_json(2, min)).with_pods(own_pods(2));
    cluster.server.version = 1000;
    let t0 = cluster.now.wall;
    cluster.change_pod("p0", ready(START));
    cluster.catch_up();
    let available = |cluster: &Cluster| cluster.server.set.as_ref().unwrap()["status"]["availableReplicas"].clone();
    cluster.sync();
    cluster.advance(Duration::from_secs(50));
    cluster.change_pod("p1", ready(&(t0 + Duration::from_secs(50)).to_string()));
    cluster.catch_up();
    assert_eq!(cluster.sync().finish.again_after, Some(Duration::from_secs(10)));
    cluster.advance(Duration::from_secs(10));
    cluster.catch_up();
    assert_eq!(cluster.sync().finish.again_after, Some(Duration::from_secs(50)), "the other one");
    assert_eq!(available(&cluster), 1);
    cluster.advance(Duration::from_secs(50));
    cluster.catch_up();
    assert_eq!(cluster.sync().finish.again_after, None);
    assert_eq!(available(&cluster), 2);
}

#[test]
fn a_pod_that_turned_ready_ahead_of_a_slow_clock_is_looked_at_again_within_its_min_ready_seconds() {
    let min = json!({"spec": {"minReadySeconds": 10}});
    let mut cluster = Cluster::new(set_json(1, min)).with_pods(own_pods(1));
    let tomorrow = cluster.now.wall + Duration::from_secs(86_400);
    cluster.change_pod("p0", ready(&tomorrow.to_string()));
    cluster.catch_up();
    assert_eq!(cluster.sync().finish.again_after, Some(Duration::from_secs(10)));
}

#[test]
fn a_pod_that_is_being_deleted_is_replaced_at_once_and_counted_apart() {
    let mut cluster = Cluster::new(set_json(2, settled(2))).with_pods(own_pods(2));
    cluster.change_pod("p0", json!({"metadata": {"deletionTimestamp": START, "finalizers": ["hold"]}}));
    cluster.woken.clear();
    cluster.catch_up();
    assert!(
        cluster.woken[0].now.iter().any(|key| *key == Key::new("shop", "web")),
        "a deletion timestamp alone wakes the set"
    );
    let synced = cluster.sync();
    assert_eq!(synced.count(Method::Post), 1);
    let written = synced.status().unwrap();
    assert_eq!((written["replicas"].clone(), written["terminatingReplicas"].clone()), (json!(1), json!(1)));
}

#[test]
fn finished_pods_are_neither_counted_nor_deleted() {
    let finished = ["Failed", "Succeeded"].map(|phase| {
        let mut pod = pod_json(phase, owned());
        merge(&mut pod, json!({"status": {"phase": phase}}));
        pod
    });
    let mut cluster = Cluster::new(set_json(0, settled(0))).with_pods(finished);
    assert!(cluster.sync().requests.is_empty());
    cluster.change_set(json!({"spec": {"replicas": 1}}));
    cluster.catch_up();
    assert_eq!(cluster.sync().count(Method::Post), 1);
}

#[test]
fn a_set_whose_pods_are_rejected_at_once_slows_down_until_one_is_ready() {
    let mut cluster = Cluster::new(set_json(3, json!({})));
    // A sync, and what a node agent does that refuses every pod.
    let round = |cluster: &mut Cluster| {
        let synced = cluster.sync();
        cluster.catch_up();
        for pod in cluster.server.pods.clone().keys() {
            cluster.change_pod(pod, json!({"status": {"phase": "Failed"}}));
        }
        cluster.catch_up();
        cluster.server.pods.clear();
        cluster.catch_up();
        synced
    };
    let end = cluster.now.instant + Duration::from_secs(120);
    let mut rounds = 0;
    while cluster.now.instant < end {
        let synced = round(&mut cluster);
        rounds += usize::from(synced.count(Method::Post) > 0);
        cluster.advance(synced.finish.again_after.unwrap_or(Duration::from_millis(10)));
    }
    assert!((6..=10).contains(&rounds), "{rounds} rounds in two minutes");

    // One pod becomes healthy: the next replacements come at once.
    round(&mut cluster);
    let pause = cluster.controller.rejections().pause(&"uid-web".into(), cluster.now.instant);
    assert!(pause.is_some_and(|pause| pause > Duration::from_secs(30)), "{pause:?}");
    cluster.server.pods.insert("p0".into(), pod_json("p0", owned()));
    cluster.catch_up();
    cluster.change_pod("p0", ready(START));
    cluster.catch_up();
    assert_eq!(cluster.sync().count(Method::Post), 2);
}

#[test]
fn a_status_is_never_written_for_a_generation_it_was_not_worked_out_for() {
    let mut cluster = Cluster::new(set_json(3, json!({"metadata": {"generation": 4}}))).with_pods(own_pods(3));
    cluster.change_set(json!({"metadata": {"generation": 5}, "spec": {"replicas": 1}}));
    let synced = cluster.sync();
    assert_eq!((synced.count(Method::Put), synced.count(Method::Get)), (2, 1), "a conflict, a fresh read, and again");
    let written = cluster.server.set.as_ref().unwrap()["status"].clone();
    assert_eq!((written["observedGeneration"].clone(), written["replicas"].clone()), (json!(4), json!(3)));
}

#[test]
fn a_status_that_cannot_be_written_is_tried_twice_and_left_to_the_queue() {
    let mut cluster = Cluster::new(set_json(0, json!({})));
    cluster.server.refuse(Method::Put, "/status", 409, status(409, "Conflict", "modified"));
    let synced = cluster.sync();
    assert_eq!((synced.count(Method::Put), synced.count(Method::Get)), (2, 1));
    assert!(matches!(synced.finish.result, Err(SyncFailure::Status(_))));
}

#[test]
fn the_status_of_another_set_of_the_same_name_is_not_written() {
    let mut cluster = Cluster::new(set_json(0, json!({})));
    cluster.server.refuse(Method::Put, "/status", 409, status(409, "Conflict", "modified"));
    cluster.server.set = Some(set_json(0, json!({"metadata": {"uid": "uid-other"}})));
    let synced = cluster.sync();
    assert_eq!((synced.count(Method::Put), synced.count(Method::Get)), (1, 1));
    assert!(matches!(synced.finish.result, Err(SyncFailure::Status(CallFailure::Replaced { .. }))));
}

#[test]
fn a_hundred_syncs_of_a_settled_set_make_no_call() {
    let mut cluster = Cluster::new(set_json(3, settled(3))).with_pods(own_pods(3));
    for _ in 0..100 {
        let synced = cluster.sync();
        assert!(synced.requests.is_empty());
        assert_eq!(synced.finish, Finish { result: Ok(()), again_after: None });
        cluster.advance(Duration::from_secs(30));
    }
}

#[test]
fn odd_specs_do_no_harm() {
    let creates = |more: Value| {
        let mut json = set_json(0, json!({}));
        merge(&mut json, more);
        let mut cluster = Cluster::new(json);
        let synced = cluster.sync();
        (synced.count(Method::Post), synced.finish.result.is_ok())
    };
    assert_eq!(creates(json!({"spec": {"replicas": null}})), (1, true), "absent is one");
    assert_eq!(creates(json!({"spec": {"replicas": -3}})), (0, true));
    assert_eq!(creates(json!({"spec": {"replicas": i32::MAX}})), (500, true), "a burst");
    assert_eq!(creates(json!({"spec": {"replicas": 1, "minReadySeconds": -5}})), (1, true));
    assert_eq!(
        creates(json!({"spec": {"replicas": 1, "selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}})),
        (0, true)
    );
    assert_eq!(
        creates(json!({"spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": "other"}}}}})),
        (1, true)
    );
    assert_eq!(creates(json!({"spec": {"replicas": 1, "template": {"metadata": {"labels": null}}}})), (0, false));
    assert_eq!(creates(json!({"spec": {"replicas": 1, "template": null}})), (0, false));
}

#[test]
fn five_thousand_replicas_come_and_go_in_bursts_of_five_hundred() {
    let mut cluster = Cluster::new(set_json(5000, json!({})));
    let mut bursts = Vec::new();
    for wanted in [5000, 10, 0] {
        cluster.change_set(json!({"spec": {"replicas": wanted}}));
        cluster.catch_up();
        while cluster.server.pods.len() != wanted {
            let synced = cluster.sync();
            if synced.count(Method::Post) > 0 {
                assert_eq!(synced.rounds[..9], [1, 2, 4, 8, 16, 32, 64, 128, 245]);
            }
            bursts.push(synced.count(Method::Post) + synced.count(Method::Delete));
            cluster.catch_up();
        }
        let expectation = cluster.controller.expectations().get(&"uid-web".into()).unwrap().clone();
        assert_eq!((expectation.creations, expectation.deletions), (0, 0));
    }
    assert!(bursts.iter().all(|&burst| burst <= 500));
    assert_eq!(bursts.iter().sum::<usize>(), 10_000);
    assert_eq!(bursts.len(), 21, "{bursts:?}");
}

#[test]
fn an_embedder_may_choose_the_victims_and_a_bad_choice_does_no_harm() {
    #[derive(Debug)]
    struct LastNames(Vec<usize>);
    impl ChooseVictims for LastNames {
        fn choose(&self, scale_down: &victims::ScaleDown<'_>) -> Vec<usize> {
            assert_eq!((scale_down.pods.len(), scale_down.count), (5, 2));
            self.0.clone()
        }
    }
    for (choice, deleted) in [(alloc::vec![4, 3], 2), (alloc::vec![0, 0, 9, 0], 1), (alloc::vec![0, 1, 2, 3, 4], 2)] {
        let options = ReplicaSetOptions {
            victims: Box::new(LastNames(choice)),
            ..ReplicaSetOptions::new(ReplicaSetKind::ReplicaSet)
        };
        let mut cluster = Cluster::with_options(set_json(3, settled(5)), options).with_pods(own_pods(5));
        let synced = cluster.sync();
        assert_eq!(synced.count(Method::Delete), deleted);
        assert_eq!(synced.finish.result, Ok(()));
    }
}

#[test]
fn a_replication_controller_is_synced_by_the_same_code() {
    let controller = json!({"kind": "ReplicationController", "apiVersion": "v1",
        "metadata": {"namespace": "shop", "name": "web", "uid": "uid-web", "resourceVersion": "400", "generation": 1},
        "spec": {"replicas": 2, "selector": {"app": "web"}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"x": 1}}},
        "status": {"replicas": 0}});
    let mut cluster = Cluster::new(controller);
    let synced = cluster.sync();
    let pod: Value = serde_json::from_slice(&synced.requests[0].body).unwrap();
    let owner = &pod["metadata"]["ownerReferences"][0];
    assert_eq!((owner["apiVersion"].clone(), owner["kind"].clone()), (json!("v1"), json!("ReplicationController")));
    assert_eq!(
        synced.status().unwrap(),
        json!({"replicas": 0, "observedGeneration": 1}),
        "terminating pods are not counted"
    );
    assert!(
        synced.requests.last().unwrap().path.ends_with("/api/v1/namespaces/shop/replicationcontrollers/web/status")
    );
    assert_eq!(&*synced.events[0].object.api_version, "v1");
    cluster.catch_up();
    cluster.change_set(json!({"spec": {"replicas": 1}}));
    cluster.catch_up();
    assert_eq!(cluster.sync().count(Method::Delete), 1);
}

#[test]
fn a_set_is_ready_when_all_wanted_pods_are_available_for_its_generation() {
    let ready = |more: Value| {
        let mut json = set_json(2, json!({"metadata": {"generation": 3}}));
        merge(&mut json, more);
        is_ready(&set(&json))
    };
    assert!(ready(json!({"status": {"replicas": 2, "availableReplicas": 2, "observedGeneration": 3}})));
    assert!(!ready(json!({"status": {"replicas": 2, "availableReplicas": 1, "observedGeneration": 3}})));
    assert!(!ready(json!({"status": {"replicas": 2, "availableReplicas": 2, "observedGeneration": 2}})));
    assert!(!ready(json!({"status": {"replicas": 3, "availableReplicas": 3, "observedGeneration": 3}})));
    assert!(!ready(json!({"status": {"replicas": 2, "availableReplicas": -1, "observedGeneration": 3}})));
    assert!(ready(json!({"spec": {"replicas": 0}, "status": {"observedGeneration": 3}})));
}

#[test]
fn records_are_dropped_with_their_set() {
    let mut cluster = Cluster::new(set_json(2, json!({})));
    cluster.sync();
    assert!(cluster.controller.guard().get(&Key::new("shop", "web")).is_some());
    cluster.server.set = None;
    cluster.catch_up();
    assert!(cluster.controller.expectations().is_empty());
    assert!(cluster.controller.guard().get(&Key::new("shop", "web")).is_none());
    assert_eq!(cluster.sync().finish, Finish { result: Ok(()), again_after: None });
}

#[test]
fn nothing_is_found_and_nothing_breaks_in_caches_without_indexes() {
    let mut sets = crate::store::Store::<ReplicaSet>::new();
    let _ = sets.add(set(&set_json(1, json!({})))).unwrap();
    let pods = crate::store::Store::<Pod>::new();
    let mut controller = ReplicaSetController::new(ReplicaSetOptions::new(ReplicaSetKind::ReplicaSet));
    let caches = Caches { pods: &pods, sets: &sets };
    let mut sync = controller.begin_sync(&Key::new("shop", "web"), caches, now());
    assert!(sync.poll_request().is_some());
    let orphan = Arc::new(pod("o", json!({})));
    assert!(controller.handle_pod_added(&orphan, caches, now()).now.is_empty());
    assert_eq!(orphan.resource_version(), ResourceVersion::new("500"));
}

#[test]
fn a_set_that_the_server_no_longer_has_makes_no_more_pods_at_once() {
    let mut cluster = Cluster::new(set_json(1, json!({})));
    cluster.server.refuse(Method::Put, "/status", 404, json!({"reason": "NotFound"}));
    cluster.server.refuse(Method::Get, "/web", 404, json!({"reason": "NotFound"}));
    assert_eq!(cluster.sync().count(Method::Post), 1, "the cache does not tell that the set is gone");
    cluster.catch_up();
    // The garbage collector takes the pod.
    cluster.server.pods.clear();
    cluster.catch_up();
    assert_eq!(cluster.sync().count(Method::Post), 0);
    cluster.advance(Duration::from_secs(2));
    assert_eq!(cluster.sync().count(Method::Post), 1, "the answer may have been wrong");
}
