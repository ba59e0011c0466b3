//! A pod as serde reads it, to compare with: everything is built, nothing skipped.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::Value;

use crate::object::pod::decode::parse_cost;
use crate::object::{Labels, Meta, Object, OwnerReference, Phase, Pod, Restarts};
use crate::time::Timestamp;

/// What a pod tells of itself.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    key: String,
    uid: String,
    resource_version: String,
    times: [Option<Timestamp>; 3],
    labels: Labels,
    controller: Option<OwnerReference>,
    node: String,
    phase: Phase,
    ready: bool,
    restarts: Restarts,
    deletion_cost: i32,
}

impl From<&Pod> for Told {
    fn from(pod: &Pod) -> Self {
        Self {
            key: alloc::format!("{}", pod.key()),
            uid: alloc::format!("{}", pod.uid()),
            resource_version: alloc::format!("{}", pod.resource_version()),
            times: [pod.creation(), pod.deletion(), pod.ready_changed()],
            labels: pod.labels().clone(),
            controller: pod.controller().cloned(),
            node: pod.node().into(),
            phase: pod.phase(),
            ready: pod.is_ready(),
            restarts: pod.restarts(),
            deletion_cost: pod.deletion_cost(),
        }
    }
}

#[derive(Deserialize)]
struct Identity {
    metadata: Option<Meta>,
}

#[derive(Deserialize)]
struct Whole {
    metadata: Option<Annotated>,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
struct Annotated {
    annotations: Option<BTreeMap<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
    init_containers: Option<Vec<Option<Container>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    phase: Option<String>,
    conditions: Option<Vec<Option<Condition>>>,
    container_statuses: Option<Vec<Option<Container>>>,
    init_container_statuses: Option<Vec<Option<Container>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    name: Option<String>,
    restart_policy: Option<String>,
    restart_count: Option<i32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    r#type: Option<String>,
    status: Option<String>,
    last_transition_time: Option<String>,
}

/// Whether an array stands where Go wants an object: serde takes it for the fields in their order.
fn has_array_for_object(pod: &Value) -> bool {
    let lists = [
        &pod["metadata"]["ownerReferences"],
        &pod["spec"]["initContainers"],
        &pod["status"]["conditions"],
        &pod["status"]["containerStatuses"],
        &pod["status"]["initContainerStatuses"],
    ];
    let elements = lists.into_iter().filter_map(Value::as_array).flatten();
    [pod, &pod["metadata"], &pod["spec"], &pod["status"]].into_iter().chain(elements).any(Value::is_array)
}

/// The pod, if it is one.
pub(super) fn read(json: &[u8]) -> Option<Told> {
    if has_array_for_object(&serde_json::from_slice(json).ok()?) {
        return None;
    }
    let meta = serde_json::from_slice::<Identity>(json).ok()?.metadata;
    let meta = meta.unwrap_or_else(|| serde_json::from_str("{}").unwrap());
    let Whole { metadata, spec, status } = serde_json::from_slice(json).ok()?;
    let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
    let cost = match metadata.unwrap_or_default().annotations.unwrap_or_default().remove(COST) {
        None | Some(Value::Null) => 0,
        Some(Value::String(text)) => parse_cost(&text),
        Some(_) => return None,
    };
    let list = |containers: Option<Vec<Option<Container>>>| -> Vec<Container> {
        containers.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect()
    };
    let sidecars: Vec<Option<String>> = list(spec.init_containers)
        .into_iter()
        .filter(|container| container.restart_policy.as_deref() == Some("Always"))
        .map(|container| container.name)
        .collect();
    let most = |containers: &mut dyn Iterator<Item = Container>| {
        containers.filter_map(|container| container.restart_count).fold(0, i32::max)
    };
    let conditions = status.conditions.unwrap_or_default().into_iter().flatten();
    let ready = conditions.into_iter().find(|condition| condition.r#type.as_deref() == Some("Ready"));
    let changed = ready.as_ref().and_then(|ready| Timestamp::parse(ready.last_transition_time.as_ref()?));
    let is_sidecar = |container: &Container| {
        let name = container.name.as_deref().unwrap_or_default();
        sidecars.iter().any(|sidecar| sidecar.as_deref().unwrap_or_default() == name)
    };
    Some(Told {
        key: alloc::format!("{}", meta.key),
        uid: alloc::format!("{}", meta.uid),
        resource_version: alloc::format!("{}", meta.resource_version),
        times: [meta.creation, meta.deletion, changed.filter(|time| time.as_nanos() != i64::MIN)],
        labels: meta.labels,
        controller: meta.controller.as_deref().cloned(),
        node: spec.node_name.unwrap_or_default(),
        phase: match status.phase.as_deref() {
            Some("Failed") => Phase::Failed,
            Some("Pending") => Phase::Pending,
            Some("Running") => Phase::Running,
            Some("Succeeded") => Phase::Succeeded,
            Some("Unknown") => Phase::Unknown,
            _ => Phase::Other,
        },
        ready: ready.is_some_and(|ready| ready.status.as_deref() == Some("True")),
        restarts: Restarts {
            regular: most(&mut list(status.container_statuses).into_iter()),
            sidecar: most(&mut list(status.init_container_statuses).into_iter().filter(is_sidecar)),
        },
        deletion_cost: cost,
    })
}

const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
