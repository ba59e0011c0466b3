use super::decode::parse_cost;
use super::*;
use crate::object::Decode;

fn pod(json: &str) -> Pod {
    serde_json::from_str(json).unwrap()
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
    ] {
        assert!(serde_json::from_str::<Pod>(json).is_err(), "{json}");
    }
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
        let _ = serde_json::from_slice::<Pod>(&bytes);
        let _ = crate::object::ReplicaSet::decode(&bytes, &crate::object::Resource::REPLICA_SETS);
    }
}
