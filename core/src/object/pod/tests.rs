use alloc::vec::Vec;

use super::decode::parse_cost;
use super::*;
use crate::object::{Decode, Resource};
use crate::rand::SplitMix64;

mod oracle;
mod protobuf;

fn read(json: &[u8]) -> Result<Pod, crate::error::Malformed> {
    Pod::decode(json, &Resource::PODS)
}

fn pod(json: &str) -> Pod {
    read(json.as_bytes()).unwrap()
}

#[test]
fn what_the_order_of_deletion_needs_is_read_and_the_rest_skipped() {
    let pod = pod(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"a","uid":"u","resourceVersion":"7",
        "annotations":{"x":"y","controller.kubernetes.io/pod-deletion-cost":"-5"},"labels":{"app":"web"},"managedFields":[{"a":[{}]}]},
        "status":{"phase":"Running","conditions":[{"type":"Scheduled","status":"True"},null,
        {"type":"Ready","status":"True","lastTransitionTime":"2026-03-14T09:26:53Z"},{"type":"Ready","status":"False"}],
        "containerStatuses":[{"name":"c","restartCount":2},{"name":"d","restartCount":5},{"name":"e","restartCount":null}],
        "initContainerStatuses":[{"name":"once","restartCount":9},{"name":"side","restartCount":3}]},
        "spec":{"nodeName":"n1","initContainers":[{"name":"once"},{"name":"side","restartPolicy":"Always"}],"containers":[{"name":"c"}]}}"#,
    );
    assert_eq!(alloc::format!("{pod:?}"), "Pod shop/a@7");
    assert_eq!((pod.node(), pod.phase(), pod.is_ready()), ("n1", Phase::Running, true));
    assert_eq!(pod.ready_changed(), Timestamp::parse("2026-03-14T09:26:53Z"));
    assert_eq!(pod.restarts(), Restarts { regular: 5, sidecar: 3 });
    assert_eq!(pod.deletion_cost(), -5);
    assert_eq!(pod.labels().get("app"), Some("web"));
}

#[test]
fn of_a_member_that_stands_twice_a_pod_has_the_last_value_and_another_object_is_refused() {
    let json = br#"{"metadata":{"name":"a","name":"b","namespace":"n","labels":{"x":"1"},"labels":{"y":"2"}},"metadata":{"uid":"u","uid":"v"},
        "status":{"phase":"Running","phase":"Failed"},"spec":{"nodeName":"n1"},"spec":{"nodeName":"n2"}}"#;
    let pod = read(json).unwrap();
    assert_eq!((pod.namespace(), pod.name(), pod.uid()), ("n", "b", "v".into()));
    assert_eq!((pod.phase(), pod.node()), (Phase::Failed, "n2"));
    assert_eq!((pod.labels().get("x"), pod.labels().get("y")), (None, Some("2")));
    assert!(crate::object::MetadataOnly::decode(json, &Resource::PODS).is_err());
}

#[test]
fn a_pod_is_as_small_as_its_doc_says() {
    assert_eq!(size_of::<Pod>(), 88);
}

#[test]
fn what_does_not_fit_the_record_is_told_all_the_same() {
    let pod = pod(r#"{"metadata":{"uid":"odd","resourceVersion":"v7","creationTimestamp":"1969-12-31T23:59:59Z",
        "deletionTimestamp":"0001-01-02T00:00:00Z"},
        "status":{"conditions":[{"type":"Ready","lastTransitionTime":"2026-03-14T09:26:53.5Z"}]}}"#);
    assert_eq!((pod.uid(), pod.resource_version()), ("odd".into(), "v7".into()));
    assert_eq!(pod.creation(), Some(Timestamp::from_seconds(-1)));
    assert_eq!(pod.deletion(), Some(Timestamp::from_seconds(i64::MIN)));
    assert_eq!(pod.ready_changed(), Timestamp::parse("2026-03-14T09:26:53.5Z"));
    let zero = self::pod(r#"{"metadata":{"resourceVersion":"0","creationTimestamp":"1970-01-01T00:00:00Z"}}"#);
    assert_eq!((zero.uid(), zero.resource_version()), ("".into(), ResourceVersion::ZERO));
    assert_eq!(zero.creation(), Some(Timestamp::UNIX_EPOCH));
}

#[test]
fn a_pod_with_nothing_in_it_is_a_pod() {
    for json in ["{}", r#"{"metadata":null,"spec":null,"status":null}"#] {
        let pod = pod(json);
        assert_eq!(
            (pod.node(), pod.phase(), pod.is_ready(), pod.restarts()),
            ("", Phase::Other, false, Restarts::default())
        );
        assert!(pod.controller().is_none());
    }
}

#[test]
fn deletion_costs_are_read_as_strictly_as_upstream_reads_them() {
    for (text, cost) in [
        ("0", 0),
        ("7", 7),
        ("2147483647", i32::MAX),
        ("-2147483648", i32::MIN),
        ("-007", -7),
        ("-0", 0),
        ("", 0),
        ("-", 0),
        ("+5", 0),
        ("007", 0),
        (" 5", 0),
        ("5 ", 0),
        ("2147483648", 0),
        ("-+5", 0),
    ] {
        assert_eq!(parse_cost(text), cost, "{text:?}");
    }
}

#[test]
fn a_known_field_of_another_type_is_an_error() {
    for json in [
        "5",
        r#"{"spec":{"nodeName":1}}"#,
        r#"{"status":{"conditions":{}}}"#,
        r#"{"status":{"containerStatuses":[{"restartCount":"1"}]}}"#,
        r#"{"metadata":{"annotations":[]}}"#,
        r#"{"metadata":{"creationTimestamp":"noon"}}"#,
        r#"{"metadata":{"ownerReferences":[{"controller":"true"}]}}"#,
        r#"{"metadata":{"name":"a"}"#,
        r#"{"metadata":{}}{}"#,
    ] {
        assert!(read(json.as_bytes()).is_err(), "{json}");
    }
}

/// Recorded pods, and one that has something in every field that is read.
fn recorded() -> Vec<Vec<u8>> {
    const LISTS: [&str; 4] = [
        include_str!("../../../tests/data/pods_bound.list.json"),
        include_str!("../../../tests/data/pods_finalizer.list.json"),
        include_str!("../../../tests/data/pods_live.list.json"),
        include_str!("../../../tests/data/pods_two.list.json"),
    ];
    const FULL: &str = r#"{"metadata":{"namespace":"shop","name":"a","uid":"7d1c0f5e-0000-4000-8000-0000000000a1","resourceVersion":"7",
        "creationTimestamp":"2026-03-14T09:26:53Z","deletionTimestamp":"2026-03-14T09:26:54Z","labels":{"app":"w\u0065b","b":null},
        "annotations":{"controller.kubernetes.io/pod-deletion-cost":"5","k:{\"a\":\"b\"}":"c"},
        "ownerReferences":[{"name":"x","uid":"1"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"2","controller":true}]},
        "spec":{"initContainers":[{"name":"side","restartPolicy":"Always"},{"name":"once"}],"nodeName":"n"},
        "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-03-14T09:26:55Z"}],
        "containerStatuses":[{"restartCount":3,"state":{}}],"initContainerStatuses":[{"name":"side","restartCount":4}]}}"#;
    let lists = LISTS.iter().map(|list| serde_json::from_str::<serde_json::Value>(list).unwrap());
    let items = lists.flat_map(|list| list["items"].as_array().unwrap().clone());
    items.map(|item| serde_json::to_vec(&item).unwrap()).chain([FULL.into()]).collect()
}

/// Scraps that change what a document means.
const SCRAPS: [&str; 18] = [
    "null", "\"x\"", "1", "-3", "true", "{}", "[]", "[null]", "\\", "\"", "\\u0041", "\\ud800", ",", ":", " ", "}",
    "\u{1}", "é",
];

fn spoil(json: &mut Vec<u8>, random: &mut SplitMix64) {
    let mut below = |bound: usize| (random.next_u64() % bound as u64) as usize;
    let at = below(json.len());
    let end = (at + below(12)).min(json.len());
    match below(6) {
        0 => drop(json.drain(at..end)),
        1 => json[at] = below(256) as u8,
        2 => drop(json.splice(at..end, SCRAPS[below(SCRAPS.len())].bytes())),
        // The value of a member becomes another one.
        _ => {
            let Some(start) = json[at..].iter().position(|&byte| byte == b':').map(|colon| at + colon + 1) else {
                return;
            };
            let mut value = crate::json::Reader::new(&json[start..]);
            let Ok(length) = value.raw().map(<[u8]>::len) else { return };
            drop(json.splice(start..start + length, SCRAPS[below(SCRAPS.len())].bytes()));
        }
    }
}

#[test]
fn a_pod_is_read_as_serde_reads_it_however_it_is_spoilt() {
    let mut random = SplitMix64::new(17);
    let (mut alike, mut refused) = (0, 0);
    let documents = recorded();
    for document in &documents {
        assert_eq!(oracle::Told::from(&read(document).unwrap()), oracle::read(document).unwrap());
    }
    for nth in 0..5_000 {
        // Every other time the full one, which is short, so that what is spoilt is more often something that is read.
        let nth = if nth % 2 == 0 { documents.len() - 1 } else { nth / 2 % documents.len() };
        let mut json = documents[nth].clone();
        for _ in 0..=random.next_u64() % 2 {
            spoil(&mut json, &mut random);
        }
        match (read(&json), oracle::read(&json)) {
            (Ok(pod), Some(told)) => {
                assert_eq!(oracle::Told::from(&pod), told, "{}", json.escape_ascii());
                alike += 1;
            }
            // Where only what is not read is spoilt, or a member is there twice, serde alone refuses.
            (Ok(_), None) => {}
            (Err(e), Some(_)) => panic!("{e}: {}", json.escape_ascii()),
            (Err(_), None) => refused += 1,
        }
    }
    assert!(alike > 700 && refused > 700, "{alike} alike, {refused} refused");
}

#[test]
fn damaged_bytes_never_panic() {
    let mut random = crate::testing::Random::new(9);
    let whole = br#"{"metadata":{"namespace":"s","name":"a","annotations":{"controller.kubernetes.io/pod-deletion-cost":"5"},"ownerReferences":[{}]},
        "spec":{"initContainers":[{"name":"x","restartPolicy":"Always"}]},"status":{"conditions":[{"type":"Ready","lastTransitionTime":"x"}],
        "containerStatuses":[{"restartCount":1}],"initContainerStatuses":[{"name":"x","restartCount":2}]}}"#;
    for _ in 0..20_000 {
        let mut bytes = whole.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] = random.next() as u8,
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let _ = read(&bytes);
        let _ = crate::object::ReplicaSet::decode(&bytes, &Resource::REPLICA_SETS);
    }
}
