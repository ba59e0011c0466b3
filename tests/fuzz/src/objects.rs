//! Objects, read by the core's own reader of JSON, beside serde's.

use sanskube::client::{Api, Scale};
use sanskube::object::{Common, Decode, Meta, MetadataOnly, Object, Phase, Pod, ReplicaSet, Resource, Shared};
use sanskube::request::{Head, Outcome, Response};
use serde::Deserialize;
use serde_json::Value;

use crate::choices::Choices;

/// The views of this core are what a general reader finds in the object, wherever they find its end.
pub fn objects(input: &[u8]) {
    let mut choices = Choices::new(input);
    let resource = choices.pick(&[Resource::PODS, Resource::REPLICA_SETS, Resource::REPLICATION_CONTROLLERS]).clone();
    let tail = choices.take(3);
    let json = choices.rest();
    check_scale(json);
    let metadata = MetadataOnly::decode(json, &resource);
    let general = serde_json::from_slice::<General>(json);
    if resource == Resource::PODS {
        let pod = read::<Pod>(json, tail, &resource);
        if let (Some(pod), Ok(general)) = (pod, general) {
            check_pod(&pod, general);
            if let Ok(metadata) = metadata {
                check_pod_metadata(&pod, &metadata.meta);
            }
        }
    } else if let Some(set) = read::<ReplicaSet>(json, tail, &resource) {
        check_set(&set, &resource);
        if let Ok(metadata) = metadata {
            assert!(*set.meta() == metadata.meta, "{set:?} {metadata:?}");
        }
    }
}

/// What an answer says of a scale is what a general reader finds in it.
fn check_scale(json: &[u8]) {
    let answer = Outcome::Response(Response { head: Head::new(200), body: json.to_vec() });
    let scale = Api::<ReplicaSet>::new(Resource::REPLICA_SETS).get_scale("web").read(&answer);
    let Ok(general) = serde_json::from_slice::<Value>(json) else { return };
    let is_object = |value: &Value| value.is_object() || value.is_null();
    let are_objects = general.is_object() && is_object(&general["spec"]) && is_object(&general["status"]);
    let wanted = serde_json::from_slice::<GeneralScale>(json).ok().filter(|_| are_objects).map(|general| {
        let (spec, status) = (general.spec.unwrap_or_default(), general.status.unwrap_or_default());
        Scale {
            wanted: spec.replicas.unwrap_or_default(),
            actual: status.replicas.unwrap_or_default(),
            selector: status.selector.unwrap_or_default(),
        }
    });
    assert_eq!(scale.ok(), wanted);
}

/// What serde reads of a scale, also from arrays.
#[derive(Deserialize)]
struct GeneralScale {
    spec: Option<ScaleSpec>,
    status: Option<ScaleStatus>,
}

#[derive(Default, Deserialize)]
struct ScaleSpec {
    replicas: Option<i32>,
}

#[derive(Default, Deserialize)]
struct ScaleStatus {
    replicas: Option<i32>,
    selector: Option<String>,
}

/// Reads an object alone, and one that something follows.
fn read<T: Decode>(json: &[u8], tail: &[u8], resource: &Resource) -> Option<T> {
    let alone = T::decode(json, resource).ok();
    let mut followed = json.to_vec();
    followed.push(b',');
    followed.extend_from_slice(tail);
    let mut shared = Shared::default();
    let first = T::decode_first(&followed, resource, &mut Common::new(&mut shared));
    if let Some(object) = &alone {
        let (first, length) = first.expect("what follows an object does not matter");
        assert_eq!(length, json.trim_ascii_end().len());
        // What it has in common with objects before does not matter either.
        let (again, _) =
            T::decode_first(&followed, resource, &mut Common::new(&mut shared)).expect("it was read before");
        assert!(object.is_same(&first) && first.is_same(&again));
        assert_eq!((object.key(), object.uid()), (again.key(), again.uid()));
    }
    alone
}

/// What serde reads of a pod. It refuses members that are repeated, of which Go merges what each of them says.
#[derive(Deserialize)]
struct General {
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

#[derive(Default, Deserialize)]
struct Status {
    phase: Option<String>,
    conditions: Option<Vec<Option<Condition>>>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: Option<String>,
    status: Option<String>,
}

fn check_pod(pod: &Pod, general: General) {
    let (spec, status) = (general.spec.unwrap_or_default(), general.status.unwrap_or_default());
    assert_eq!(pod.node(), spec.node_name.unwrap_or_default());
    let phase = match status.phase.as_deref() {
        Some("Failed") => Phase::Failed,
        Some("Pending") => Phase::Pending,
        Some("Running") => Phase::Running,
        Some("Succeeded") => Phase::Succeeded,
        Some("Unknown") => Phase::Unknown,
        _ => Phase::Other,
    };
    assert_eq!(pod.phase(), phase);
    let conditions = status.conditions.unwrap_or_default().into_iter().flatten();
    let ready = conditions.into_iter().find(|condition| condition.r#type.as_deref() == Some("Ready"));
    assert_eq!(pod.is_ready(), ready.is_some_and(|ready| ready.status.as_deref() == Some("True")));
}

fn check_pod_metadata(pod: &Pod, meta: &Meta) {
    assert_eq!(
        (pod.key(), pod.uid(), pod.resource_version()),
        (&meta.key, meta.uid.clone(), meta.resource_version.clone())
    );
    assert_eq!((pod.creation(), pod.deletion()), (meta.creation, meta.deletion));
    assert!(*pod.labels() == meta.labels && pod.controller() == meta.controller.as_deref());
}

fn check_set(set: &ReplicaSet, resource: &Resource) {
    let whole = set.to_json_with_status(set.status());
    let again = ReplicaSet::decode(&whole, resource).expect("a set reads back as it is written");
    assert!(set.is_same(&again), "{}", String::from_utf8_lossy(&whole));
    assert_eq!((set.replicas(), set.min_ready_seconds()), (again.replicas(), again.min_ready_seconds()));
    assert!(set.selector() == again.selector() && set.template_labels() == again.template_labels());
}
