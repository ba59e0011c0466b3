//! Reading a pod: what is not needed is skipped without being built.

use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{Phase, Pod, Restarts};
use crate::object::lenient::{Gather, Gathered, Text, nullable};
use crate::object::meta::MetaWire;
use crate::time::Timestamp;

/// The annotation that says how dear a pod is when its set is scaled down.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PodWire { metadata, spec, status } = PodWire::deserialize(deserializer)?;
        let sidecar = status
            .init_container_statuses
            .iter()
            .filter(|status| spec.init_containers.made.0.iter().any(|sidecar| **sidecar == *status.name))
            .map(|status| status.restart_count)
            .fold(0, i32::max);
        let ready = status.conditions.made.0;
        Ok(Self {
            meta: metadata.to_meta(),
            node: (!spec.node_name.is_empty()).then(|| (*spec.node_name).into()),
            phase: match &*status.phase {
                "Failed" => Phase::Failed,
                "Pending" => Phase::Pending,
                "Running" => Phase::Running,
                "Succeeded" => Phase::Succeeded,
                "Unknown" => Phase::Unknown,
                _ => Phase::Other,
            },
            ready: ready.as_ref().is_some_and(|ready| ready.status),
            ready_changed: ready.and_then(|ready| ready.changed),
            restarts: Restarts { regular: status.container_statuses.made.0, sidecar },
            deletion_cost: metadata.annotations.0,
        })
    }
}

/// A pod as it stands in JSON.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct PodWire<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    metadata: MetaWire<'a, DeletionCost>,
    #[serde(borrow, deserialize_with = "nullable")]
    spec: SpecWire<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    status: StatusWire<'a>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpecWire<'a> {
    #[serde(borrow)]
    node_name: Text<'a>,
    #[serde(borrow)]
    init_containers: Gathered<Sidecars<'a>, ContainerWire<'a>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StatusWire<'a> {
    #[serde(borrow)]
    phase: Text<'a>,
    #[serde(borrow)]
    conditions: Gathered<FirstReady, ConditionWire<'a>>,
    #[serde(borrow)]
    container_statuses: Gathered<MostRestarts, ContainerStatusWire<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    init_container_statuses: Vec<ContainerStatusWire<'a>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatusWire<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(deserialize_with = "nullable")]
    restart_count: i32,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerWire<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    restart_policy: Text<'a>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ConditionWire<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    last_transition_time: Text<'a>,
}

/// The first condition of type `Ready`.
#[derive(Default)]
struct FirstReady(Option<Ready>);

struct Ready {
    status: bool,
    changed: Option<Timestamp>,
}

impl<'a> Gather<ConditionWire<'a>> for FirstReady {
    fn add(&mut self, condition: ConditionWire<'a>) {
        if self.0.is_none() && *condition.kind == *"Ready" {
            // An unreadable time is none, and so is the zero time of Go, which is out of range.
            let changed = Timestamp::parse(&condition.last_transition_time).filter(|time| time.as_nanos() != i64::MIN);
            self.0 = Some(Ready { status: *condition.status == *"True", changed });
        }
    }
}

/// The most restarts of a container.
#[derive(Default)]
struct MostRestarts(i32);

impl<'a> Gather<ContainerStatusWire<'a>> for MostRestarts {
    fn add(&mut self, status: ContainerStatusWire<'a>) {
        self.0 = self.0.max(status.restart_count);
    }
}

/// The names of the init containers that are always restarted.
#[derive(Default)]
struct Sidecars<'a>(Vec<Text<'a>>);

impl<'a> Gather<ContainerWire<'a>> for Sidecars<'a> {
    fn add(&mut self, container: ContainerWire<'a>) {
        if *container.restart_policy == *"Always" {
            self.0.push(container.name);
        }
    }
}

/// The deletion cost among the annotations.
#[derive(Default)]
struct DeletionCost(i32);

impl<'de> Deserialize<'de> for DeletionCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnnotationsVisitor;

        impl<'de> Visitor<'de> for AnnotationsVisitor {
            type Value = DeletionCost;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings or null")
            }

            fn visit_none<E>(self) -> Result<Self::Value, E> {
                Ok(DeletionCost::default())
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                deserializer.deserialize_map(self)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut cost = 0;
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    if *key == *DELETION_COST {
                        cost = parse_cost(&map.next_value::<Text<'de>>()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(DeletionCost(cost))
            }
        }

        deserializer.deserialize_option(AnnotationsVisitor)
    }
}

/// Mirrors `pkg/apis/core/helper/helpers.go`, `GetDeletionCostFromPodAnnotations`: no plus sign and no leading zero in front, but
/// anything Go's `ParseInt` takes behind a minus.
pub(super) fn parse_cost(text: &str) -> i32 {
    match text.as_bytes() {
        [b'0'] | [b'1'..=b'9', ..] => text.parse().unwrap_or_default(),
        [b'-', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => text.parse().unwrap_or_default(),
        _ => 0,
    }
}
