//! Reading a pod: what is not needed is skipped without being built.

mod json;
mod protobuf;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Odd, Phase, Pod, seconds};
use crate::error::Malformed;
use crate::json::{Reader, Unexpected};
use crate::object::map_text::MapText;
use crate::object::owner::OwnerReferenceText;
use crate::object::{Common, Decode, Resource, Shared};
use crate::resource_version::ResourceVersion;
use crate::time::Timestamp;
use crate::uid::Uid;

/// The annotation that says how dear a pod is when its set is scaled down.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

impl Decode for Pod {
    fn decode(json: &[u8], resource: &Resource) -> Result<Self, Malformed> {
        let (pod, length) = Self::decode_first(json, resource, &mut Common::new(&mut Shared::default()))?;
        Reader::new(&json[length..]).end().map_err(malformed)?;
        Ok(pod)
    }

    fn decode_first(bytes: &[u8], _resource: &Resource, common: &mut Common<'_>) -> Result<(Self, usize), Malformed> {
        let mut reader = Reader::new(bytes);
        let pod = PodText::read_json(&mut reader).and_then(|pod| pod.into_pod(common));
        Ok((pod.map_err(malformed)?, reader.position()))
    }

    const PROTOBUF: bool = true;

    fn decode_protobuf(message: &[u8], _resource: &Resource, common: &mut Common<'_>) -> Result<Self, Malformed> {
        PodText::read_protobuf(message).and_then(|pod| pod.into_pod(common)).map_err(malformed)
    }
}

fn malformed(e: Unexpected) -> Malformed {
    Malformed::new("pod", e)
}

/// What is read of a pod.
#[derive(Default)]
struct PodText<'a> {
    namespace: Cow<'a, str>,
    name: Cow<'a, str>,
    uid: Cow<'a, str>,
    resource_version: Cow<'a, str>,
    creation: Option<Timestamp>,
    deletion: Option<Timestamp>,
    labels: MapText<'a>,
    controller: Option<OwnerReferenceText<'a>>,
    deletion_cost: i32,
    node: Cow<'a, str>,
    sidecars: Vec<Cow<'a, str>>,
    phase: Phase,
    ready: Option<Ready>,
    restarts: i32,
    /// Names and restarts of the init containers.
    init_restarts: Vec<(Cow<'a, str>, i32)>,
}

#[derive(Clone, Copy)]
struct Ready {
    status: bool,
    changed: Option<Timestamp>,
}

impl PodText<'_> {
    fn into_pod(self, common: &mut Common<'_>) -> Result<Pod, Unexpected> {
        let uid = Uid::new(&self.uid);
        let version = ResourceVersion::new(&self.resource_version);
        let (creation, changed) = (self.creation, self.ready.and_then(|ready| ready.changed));
        let unfit = |time: Option<Timestamp>| time.filter(|time| seconds(*time).is_none());
        let odd = Odd {
            uid: uid.as_uuid().is_none().then(|| uid.clone()),
            resource_version: if version.as_number().is_none() { version.clone() } else { ResourceVersion::NONE },
            creation: unfit(creation),
            deletion: self.deletion,
            ready_changed: unfit(changed),
            sidecar_restarts: self.sidecar_restarts(),
            deletion_cost: self.deletion_cost,
        };
        Ok(Pod {
            key: common.key(&self.namespace, &self.name),
            uid: uid.as_uuid().unwrap_or_default(),
            resource_version: version.as_number(),
            labels: common.shared.labels(self.labels)?,
            controller: self.controller.as_ref().map(|owner| common.shared.owner(owner)),
            node: common.shared.name(&self.node),
            odd: (odd != Odd::default()).then(|| Box::new(odd)),
            creation: creation.and_then(seconds),
            ready_changed: changed.and_then(seconds),
            restarts: self.restarts,
            phase: self.phase,
            ready: self.ready.is_some_and(|ready| ready.status),
        })
    }

    fn sidecar_restarts(&self) -> i32 {
        let sidecars = self.init_restarts.iter().filter(|(name, _)| self.sidecars.contains(name));
        sidecars.map(|(_, restarts)| *restarts).fold(0, i32::max)
    }
}

impl Phase {
    fn new(text: &str) -> Self {
        match text {
            "Failed" => Self::Failed,
            "Pending" => Self::Pending,
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Unknown" => Self::Unknown,
            _ => Self::Other,
        }
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
