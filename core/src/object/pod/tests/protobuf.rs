use alloc::string::ToString;
use alloc::vec::Vec;

use super::*;
use crate::error::Malformed;
use crate::object::{Common, Shared};
use crate::testing::{field, number_field};

fn read_message(message: &[u8]) -> Result<Pod, Malformed> {
    Pod::decode_protobuf(message, &Resource::PODS, &mut Common::new(&mut Shared::default()))
}

fn entry(key: &str, value: &str) -> Vec<u8> {
    [field(1, key), field(2, value)].concat()
}

fn time(seconds: i64) -> Vec<u8> {
    // API servers write no nanoseconds, and none are read.
    [number_field(1, seconds), number_field(2, 999)].concat()
}

#[test]
fn a_message_is_the_pod_that_its_json_is() {
    let owner = |uid: &str, controller| {
        [
            field(1, "ReplicaSet"),
            field(3, "web"),
            field(4, uid),
            field(5, "apps/v1"),
            number_field(6, controller),
            number_field(7, 1),
        ]
    };
    let metadata = [
        field(1, "a"),
        field(2, "a-"),
        field(3, "shop"),
        field(5, "5ecdda79-1b4d-4f3f-9269-cebce9bd6e8c"),
        field(6, "7"),
        number_field(7, 1),
        field(8, time(1_773_480_413)),
        field(9, time(1_773_480_414)),
        field(11, entry("app", "web")),
        field(11, entry("zone", "")),
        field(12, entry("x", "y")),
        field(12, entry("controller.kubernetes.io/pod-deletion-cost", "-5")),
        field(13, owner("1", 0).concat()),
        field(13, owner("2", 1).concat()),
        field(13, owner("3", 1).concat()),
        field(17, field(7, "{}")),
    ];
    let container = |name: &str, policy: &str| field(20, [field(1, name), field(24, policy)].concat());
    let spec = [field(2, field(1, "c")), field(10, "n1"), container("once", "OnFailure"), container("side", "Always")];
    let restarted = |name: &str, count| [field(1, name), number_field(5, count)].concat();
    let condition =
        |kind: &str, status: &str, at| field(2, [field(1, kind), field(2, status), field(4, time(at))].concat());
    let status = [
        field(1, "Running"),
        condition("Scheduled", "True", 1),
        condition("Ready", "True", 1_773_480_420),
        condition("Ready", "False", 2),
        field(8, restarted("c", 2)),
        field(8, restarted("d", 5)),
        field(8, restarted("e", 0)),
        field(10, restarted("once", 9)),
        field(10, restarted("side", 3)),
    ];
    let message = [field(1, metadata.concat()), field(2, spec.concat()), field(3, status.concat())].concat();
    let json = r#"{"metadata":{"namespace":"shop","name":"a","uid":"5ecdda79-1b4d-4f3f-9269-cebce9bd6e8c","resourceVersion":"7",
        "creationTimestamp":"2026-03-14T09:26:53Z","deletionTimestamp":"2026-03-14T09:26:54Z","labels":{"app":"web","zone":""},
        "annotations":{"x":"y","controller.kubernetes.io/pod-deletion-cost":"-5"},"ownerReferences":[
        {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"1","controller":false},
        {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"2","controller":true,"blockOwnerDeletion":true}]},
        "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-03-14T09:27:00Z"}],
        "containerStatuses":[{"name":"d","restartCount":5}],
        "initContainerStatuses":[{"name":"once","restartCount":9},{"name":"side","restartCount":3}]},
        "spec":{"nodeName":"n1","initContainers":[{"name":"once"},{"name":"side","restartPolicy":"Always"}]}}"#;
    let pod = read_message(&message).unwrap();
    assert!(pod == self::pod(json), "{pod:?}");
    assert_eq!(pod.restarts(), Restarts { regular: 5, sidecar: 3 });
    // What is cut off anywhere is no pod, or at least another one.
    for length in 0..message.len() {
        assert!(read_message(&message[..length]).ok() != Some(pod.clone()), "{length}");
    }
}

#[test]
fn a_recorded_list_is_the_same_pods_in_both_encodings() {
    let json = include_bytes!("../../../../tests/data/pods_protobuf.list.json");
    let list: serde_json::Value = serde_json::from_slice(json).unwrap();
    let mut bytes = &include_bytes!("../../../../tests/data/pods_protobuf.list.pb")[..];
    // The wire is a later stage; the one item stands where it stands.
    let name = b"\x0a\xaf\x04\x0a\x01a\x12\x00\x1a\x06golden";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes = &bytes[at..bytes.len() - 4];
    let pod = read_message(bytes).unwrap();
    assert!(pod == self::pod(&list["items"][0].to_string()), "{pod:?}");
    assert_eq!((pod.node(), pod.labels().get("app")), ("golden-n1", Some("x")));
}

#[test]
fn labels_are_found_wherever_they_stand_and_kept_once() {
    let mut shared = Shared::default();
    let mut read = |metadata: &[Vec<u8>]| {
        Pod::decode_protobuf(&field(1, metadata.concat()), &Resource::PODS, &mut Common::new(&mut shared)).unwrap()
    };
    let (a, b) = (field(11, entry("a", "1")), field(11, entry("b", "2")));
    let pods = [
        read(&[field(1, "x"), a.clone(), b.clone(), field(12, entry("b", "9"))]),
        read(&[a.clone(), b.clone()]),
        read(&[b.clone(), field(12, entry("b", "9")), field(1, "y"), a.clone()]),
    ];
    for pod in &pods {
        assert_eq!(alloc::format!("{:?}", pod.labels()), r#"{"a": "1", "b": "2"}"#);
    }
    assert!(pods[0].labels().is_same(pods[1].labels()));
    assert!(read(&[field(1, "x")]).labels().is_empty());
    assert_eq!(read(&[a, field(11, entry("a", "3"))]).labels().get("a"), Some("3"));
}

#[test]
fn an_absent_time_is_none_and_the_zero_time_of_go_too() {
    let pod = |creation: &[u8]| read_message(&field(1, field(8, creation))).unwrap().creation();
    assert_eq!(pod(b""), None);
    assert_eq!(pod(&number_field(1, -62_135_596_800)), None);
    assert_eq!(pod(&number_field(1, 0)), Some(Timestamp::UNIX_EPOCH));
    assert_eq!(pod(&number_field(1, -1)), Some(Timestamp::from_seconds(-1)));
    assert_eq!(pod(&number_field(1, i64::MAX)), Some(Timestamp::from_seconds(i64::MAX)));
}

#[test]
fn a_field_of_another_type_is_an_error() {
    for message in [
        number_field(1, 5),
        field(1, number_field(1, 5)),
        field(1, field(1, b"\xff")),
        field(1, field(8, field(1, "noon"))),
        field(1, field(11, field(2, b"\xff"))),
        field(2, number_field(10, 1)),
        field(3, field(8, number_field(5, 1 << 31))),
        [field(1, field(1, "a")), field(1, field(1, "b"))].concat(),
    ] {
        assert!(read_message(&message).is_err(), "{}", message.escape_ascii());
    }
}
