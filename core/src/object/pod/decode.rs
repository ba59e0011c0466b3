//! Reading a pod: what is not needed is skipped without being built.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Odd, Phase, Pod, seconds};
use crate::error::Malformed;
use crate::json::{Reader, Unexpected};
use crate::key::Key;
use crate::object::meta::read_time;
use crate::object::owner::OwnerReferenceText;
use crate::object::{Decode, Resource, Shared};
use crate::resource_version::ResourceVersion;
use crate::time::Timestamp;
use crate::uid::Uid;

/// The annotation that says how dear a pod is when its set is scaled down.
const DELETION_COST: &[u8] = b"controller.kubernetes.io/pod-deletion-cost";

impl Decode for Pod {
    fn decode(json: &[u8], resource: &Resource) -> Result<Self, Malformed> {
        let (pod, length) = Self::decode_first(json, resource, &mut Shared::default())?;
        Reader::new(&json[length..]).end().map_err(malformed)?;
        Ok(pod)
    }

    fn decode_first(bytes: &[u8], _resource: &Resource, shared: &mut Shared) -> Result<(Self, usize), Malformed> {
        let mut reader = Reader::new(bytes);
        let pod = PodText::read(&mut reader).and_then(|pod| pod.into_pod(shared));
        Ok((pod.map_err(malformed)?, reader.position()))
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
    /// The JSON of the labels; empty where there are none.
    labels: &'a [u8],
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

impl<'a> PodText<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Unexpected> {
        let mut pod = Self::default();
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"metadata" => pod.read_metadata(reader)?,
                b"spec" => pod.read_spec(reader)?,
                b"status" => pod.read_status(reader)?,
                _ => reader.skip()?,
            }
        }
        Ok(pod)
    }

    fn read_metadata(&mut self, reader: &mut Reader<'a>) -> Result<(), Unexpected> {
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"namespace" => self.namespace = reader.text()?,
                b"name" => self.name = reader.text()?,
                b"uid" => self.uid = reader.text()?,
                b"resourceVersion" => self.resource_version = reader.text()?,
                b"creationTimestamp" => self.creation = read_time(reader)?,
                b"deletionTimestamp" => self.deletion = read_time(reader)?,
                b"labels" => self.labels = reader.raw()?,
                b"annotations" => self.deletion_cost = read_deletion_cost(reader)?,
                b"ownerReferences" => self.controller = OwnerReferenceText::read_controller(reader)?,
                _ => reader.skip()?,
            }
        }
        Ok(())
    }

    fn read_spec(&mut self, reader: &mut Reader<'a>) -> Result<(), Unexpected> {
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"nodeName" => self.node = reader.text()?,
                b"initContainers" => self.read_sidecars(reader)?,
                _ => reader.skip()?,
            }
        }
        Ok(())
    }

    /// Keeps the names of the init containers that are always restarted.
    fn read_sidecars(&mut self, reader: &mut Reader<'a>) -> Result<(), Unexpected> {
        self.sidecars.clear();
        let mut containers = reader.array()?;
        while reader.next_element(&mut containers)? {
            let (mut name, mut restart_policy) = (Cow::default(), Cow::default());
            let mut members = reader.object()?;
            while let Some(key) = reader.next_member(&mut members)? {
                match &*key {
                    b"name" => name = reader.text()?,
                    b"restartPolicy" => restart_policy = reader.text()?,
                    _ => reader.skip()?,
                }
            }
            if restart_policy == "Always" {
                self.sidecars.push(name);
            }
        }
        Ok(())
    }

    fn read_status(&mut self, reader: &mut Reader<'a>) -> Result<(), Unexpected> {
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"phase" => self.phase = Phase::new(&reader.text()?),
                b"conditions" => self.ready = read_first_ready(reader)?,
                b"containerStatuses" => {
                    self.restarts = 0;
                    read_container_statuses(reader, |_, restarts| self.restarts = self.restarts.max(restarts))?;
                }
                b"initContainerStatuses" => {
                    self.init_restarts.clear();
                    read_container_statuses(reader, |name, restarts| self.init_restarts.push((name, restarts)))?;
                }
                _ => reader.skip()?,
            }
        }
        Ok(())
    }

    fn into_pod(self, shared: &mut Shared) -> Result<Pod, Unexpected> {
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
            key: Key::new(&self.namespace, &self.name),
            uid: uid.as_uuid().unwrap_or_default(),
            resource_version: version.as_number(),
            labels: shared.labels(self.labels)?,
            controller: self.controller.as_ref().map(|owner| shared.owner(owner)),
            node: shared.name(&self.node),
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

fn read_deletion_cost(reader: &mut Reader<'_>) -> Result<i32, Unexpected> {
    let mut cost = 0;
    let mut members = reader.object()?;
    while let Some(key) = reader.next_member(&mut members)? {
        match &*key {
            DELETION_COST => cost = parse_cost(&reader.text()?),
            _ => reader.skip()?,
        }
    }
    Ok(cost)
}

/// The first condition of type `Ready`.
fn read_first_ready(reader: &mut Reader<'_>) -> Result<Option<Ready>, Unexpected> {
    let mut ready = None;
    let mut conditions = reader.array()?;
    while reader.next_element(&mut conditions)? {
        let (mut kind, mut status, mut changed) = (Cow::default(), Cow::default(), Cow::default());
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"type" => kind = reader.text()?,
                b"status" => status = reader.text()?,
                b"lastTransitionTime" => changed = reader.text()?,
                _ => reader.skip()?,
            }
        }
        if ready.is_none() && kind == "Ready" {
            // An unreadable time is none, and so is the zero time of Go, which is out of range.
            let changed = Timestamp::parse(&changed).filter(|time| time.as_nanos() != i64::MIN);
            ready = Some(Ready { status: status == "True", changed });
        }
    }
    Ok(ready)
}

/// Tells the name and the restarts of each container of a list.
fn read_container_statuses<'a>(
    reader: &mut Reader<'a>,
    mut tell: impl FnMut(Cow<'a, str>, i32),
) -> Result<(), Unexpected> {
    let mut containers = reader.array()?;
    while reader.next_element(&mut containers)? {
        let (mut name, mut restarts) = (Cow::default(), 0);
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"name" => name = reader.text()?,
                b"restartCount" => restarts = reader.integer()?,
                _ => reader.skip()?,
            }
        }
        tell(name, restarts);
    }
    Ok(())
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
