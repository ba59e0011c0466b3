//! The pod, as far as the ReplicaSet controller looks at it.

mod decode;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::num::{NonZeroU32, NonZeroU64};

use super::Object;
use super::labels::Labels;
use super::owner::OwnerReference;
use crate::key::Key;
use crate::resource_version::ResourceVersion;
use crate::time::Timestamp;
use crate::uid::Uid;

/// A view of a pod: identity, owner, node, phase, readiness, and what the order of deletion needs.
///
/// Read straight from the bytes; containers, volumes and the like are skipped without being built. Takes 88 bytes beside its key and
/// what it shares with other pods.
#[derive(Clone, PartialEq, Eq)]
pub struct Pod {
    key: Key,
    /// Zero where the uid is no UUID.
    uid: [u8; 16],
    resource_version: Option<NonZeroU64>,
    labels: Labels,
    controller: Option<Arc<OwnerReference>>,
    node: Option<Arc<Box<str>>>,
    odd: Option<Box<Odd>>,
    creation: Seconds,
    ready_changed: Seconds,
    restarts: i32,
    phase: Phase,
    ready: bool,
}

/// A time in whole seconds after the epoch, as metadata has them; none for any other time.
type Seconds = Option<NonZeroU32>;

/// What few pods have, and what does not fit where it belongs.
#[derive(Clone, Default, PartialEq, Eq)]
struct Odd {
    uid: Option<Uid>,
    resource_version: ResourceVersion,
    creation: Option<Timestamp>,
    deletion: Option<Timestamp>,
    ready_changed: Option<Timestamp>,
    sidecar_restarts: i32,
    deletion_cost: i32,
}

/// `status.phase` of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// At least one container ended in failure and none will run again, or the node refused the pod.
    Failed,
    /// Empty, or a phase that this build does not know.
    #[default]
    Other,
    /// Accepted, but not every container has been started.
    Pending,
    /// Bound to a node and started.
    Running,
    /// All containers ended well and none will run again.
    Succeeded,
    /// The node could not be asked.
    Unknown,
}

/// The largest number of restarts of a container of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Restarts {
    /// Among the regular containers.
    pub regular: i32,
    /// Among the sidecars: init containers that are always restarted.
    pub sidecar: i32,
}

impl Pod {
    /// Namespace and name.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The managing controller, if there is one: the first owner with `controller: true`, as apimachinery's `GetControllerOf` picks it.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.controller.as_deref()
    }

    /// `metadata.creationTimestamp`.
    pub fn creation(&self) -> Option<Timestamp> {
        time(self.creation).or_else(|| self.odd(|odd| odd.creation))
    }

    /// `metadata.deletionTimestamp`: the pod is being deleted.
    pub fn deletion(&self) -> Option<Timestamp> {
        self.odd(|odd| odd.deletion)
    }

    /// The node that the pod is bound to; empty for none.
    pub fn node(&self) -> &str {
        self.node.as_ref().map_or("", |node| node)
    }

    /// `status.phase`.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether the first condition of type `Ready` is true.
    ///
    /// Mirrors `pkg/api/v1/pod/util.go`, `IsPodReady`.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// `lastTransitionTime` of the first condition of type `Ready`.
    pub fn ready_changed(&self) -> Option<Timestamp> {
        time(self.ready_changed).or_else(|| self.odd(|odd| odd.ready_changed))
    }

    /// How often containers were restarted.
    pub fn restarts(&self) -> Restarts {
        Restarts { regular: self.restarts, sidecar: self.odd(|odd| odd.sidecar_restarts) }
    }

    /// The value of the annotation `controller.kubernetes.io/pod-deletion-cost`; 0 where it is absent or not such a number.
    pub fn deletion_cost(&self) -> i32 {
        self.odd(|odd| odd.deletion_cost)
    }

    fn odd<T: Default>(&self, of: impl FnOnce(&Odd) -> T) -> T {
        self.odd.as_deref().map(of).unwrap_or_default()
    }
}

impl Object for Pod {
    fn namespace(&self) -> &str {
        self.key.namespace()
    }

    fn name(&self) -> &str {
        self.key.name()
    }

    fn uid(&self) -> Uid {
        self.odd(|odd| odd.uid.clone()).unwrap_or_else(|| Uid::from_uuid(self.uid))
    }

    fn resource_version(&self) -> ResourceVersion {
        self.resource_version.map_or_else(|| self.odd(|odd| odd.resource_version.clone()), ResourceVersion::from_number)
    }

    fn key(&self) -> Key {
        self.key.clone()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// The time as it is kept, if it can be.
fn seconds(time: Timestamp) -> Seconds {
    let seconds = u32::try_from(time.as_seconds()).ok().and_then(NonZeroU32::new);
    seconds.filter(|_| Timestamp::from_seconds(time.as_seconds()) == time)
}

fn time(seconds: Seconds) -> Option<Timestamp> {
    seconds.map(|seconds| Timestamp::from_seconds(i64::from(seconds.get())))
}

impl fmt::Debug for Pod {
    /// Key and version, never more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pod {}@{}", self.key, self.resource_version())
    }
}

#[cfg(test)]
mod tests;
