use alloc::string::{String, ToString};

use super::*;
use crate::object::Decode;

fn set(json: &str) -> ReplicaSet {
    ReplicaSet::decode(json.as_bytes(), &Resource::REPLICA_SETS).unwrap()
}

const SET: &str = r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","namespace":"shop","uid":"u",
    "managedFields":[{"manager":"kubectl"}],"resourceVersion":"7","generation":3,"future":{"a":1}},
    "spec":{"replicas":3,"minReadySeconds":5,"selector":{"matchLabels":{"app":"web"}},"future":[1.50],
    "template":{"metadata":{"labels":{"app":"web","tier":"front"}},"spec":{"containers":[],"new":"field"}}},
    "status":{"replicas":2,"readyReplicas":1,"conditions":[{"type":"Custom","status":"True","lastTransitionTime":"2026-03-14T09:26:53Z",
    "observedGeneration":4}]}}"#;

#[test]
fn what_the_controller_looks_at_is_read() {
    let set = set(SET);
    assert_eq!(alloc::format!("{set:?}"), "ReplicaSet shop/web@7");
    assert_eq!((set.replicas(), set.min_ready_seconds(), set.meta().generation), (3, 5, 3));
    assert_eq!(set.template_labels().get("tier"), Some("front"));
    assert_eq!(set.selector().unwrap().to_string(), "app=web");
    assert_eq!((set.status().replicas, set.status().ready_replicas, set.status().terminating_replicas), (2, 1, None));
}

#[test]
fn unknown_fields_survive_a_new_status_and_managed_fields_do_not() {
    let set = set(SET);
    let status = ReplicaSetStatus { terminating_replicas: Some(0), observed_generation: 3, ..set.status().clone() };
    let json = String::from_utf8(set.to_json_with_status(&status)).unwrap();
    let expected = [
        r#"{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7","#,
        r#""generation":3,"future":{"a":1}},"spec":"#,
        set.raw_spec().get(),
        r#","status":{"replicas":2,"readyReplicas":1,"terminatingReplicas":0,"observedGeneration":3,"#,
        r#""conditions":[{"type":"Custom","status":"True","lastTransitionTime":"2026-03-14T09:26:53Z","observedGeneration":4}]}}"#,
    ];
    assert_eq!(json, expected.concat());
    assert!(set.raw_spec().get().contains(r#""future":[1.50]"#));
    assert!(set.raw_spec().get().contains(r#""new":"field""#));
}

#[test]
fn absent_replicas_are_one_and_negative_ones_none() {
    assert_eq!(set("{}").replicas(), 1);
    assert_eq!(set(r#"{"spec":{"replicas":null}}"#).replicas(), 1);
    assert_eq!(set(r#"{"spec":{"replicas":0}}"#).replicas(), 0);
    assert_eq!(set(r#"{"spec":{"replicas":-4}}"#).replicas(), 0);
    assert_eq!(set(r#"{"spec":{"replicas":2147483647}}"#).replicas(), 2_147_483_647);
}

#[test]
fn nil_empty_and_invalid_selectors_are_told_apart() {
    assert!(set("{}").selector().unwrap().matches_nothing());
    assert!(set(r#"{"spec":{"selector":null}}"#).selector().unwrap().matches_nothing());
    assert!(set(r#"{"spec":{"selector":{}}}"#).selector().unwrap().matches_everything());
    assert!(set(r#"{"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Nope"}]}}}"#).selector().is_err());
}

#[test]
fn a_replication_controller_selects_by_a_plain_map() {
    let json = r#"{"metadata":{"namespace":"shop","name":"old"},"spec":{"selector":{"app":"old"}}}"#;
    let set = ReplicaSet::decode(json.as_bytes(), &Resource::REPLICATION_CONTROLLERS).unwrap();
    assert_eq!(set.kind(), ReplicaSetKind::ReplicationController);
    assert_eq!(set.selector().unwrap().to_string(), "app=old");
    assert!(set.to_json_with_status(&ReplicaSetStatus::default()).starts_with(
        br#"{"kind":"ReplicationController","apiVersion":"v1","metadata":{"namespace":"shop","name":"old"},"spec":{"selector""#
    ));
}

#[test]
fn a_known_field_of_another_type_is_an_error() {
    for json in [
        "5",
        r#"{"metadata":[]}"#,
        r#"{"spec":5}"#,
        r#"{"spec":{"replicas":"3"}}"#,
        r#"{"spec":{"replicas":2147483648}}"#,
        r#"{"spec":{"selector":5}}"#,
        r#"{"status":{"conditions":{}}}"#,
    ] {
        assert!(ReplicaSet::decode(json.as_bytes(), &Resource::REPLICA_SETS).is_err(), "{json}");
    }
}
