//! The pod, as far as the ReplicaSet controller looks at it.

mod decode;

use alloc::boxed::Box;
use core::fmt;

use super::Object;
use super::labels::Labels;
use super::meta::Meta;
use super::owner::OwnerReference;
use crate::key::Key;
use crate::resource_version::ResourceVersion;
use crate::time::Timestamp;
use crate::uid::Uid;

/// A view of a pod: identity, owner, node, phase, readiness, and what the order of deletion needs.
///
/// Read straight from the bytes; containers, volumes and the like are skipped without being built.
#[derive(Clone, PartialEq, Eq)]
pub struct Pod {
    meta: Meta,
    node: Option<Box<str>>,
    phase: Phase,
    ready: bool,
    ready_changed: Option<Timestamp>,
    restarts: Restarts,
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
        &self.meta.key
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &Labels {
        &self.meta.labels
    }

    /// The managing controller, if there is one.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.meta.controller.as_deref()
    }

    /// `metadata.creationTimestamp`.
    pub fn creation(&self) -> Option<Timestamp> {
        self.meta.creation
    }

    /// `metadata.deletionTimestamp`: the pod is being deleted.
    pub fn deletion(&self) -> Option<Timestamp> {
        self.meta.deletion
    }

    /// The node that the pod is bound to; empty for none.
    pub fn node(&self) -> &str {
        self.node.as_deref().unwrap_or_default()
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
        self.ready_changed
    }

    /// How often containers were restarted.
    pub fn restarts(&self) -> Restarts {
        self.restarts
    }

    /// The value of the annotation `controller.kubernetes.io/pod-deletion-cost`; 0 where it is absent or not such a number.
    pub fn deletion_cost(&self) -> i32 {
        self.deletion_cost
    }
}

impl Object for Pod {
    fn namespace(&self) -> &str {
        self.meta.namespace()
    }

    fn name(&self) -> &str {
        self.meta.name()
    }

    fn uid(&self) -> Uid {
        self.meta.uid.clone()
    }

    fn resource_version(&self) -> ResourceVersion {
        self.meta.resource_version.clone()
    }

    fn key(&self) -> Key {
        self.meta.key.clone()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl fmt::Debug for Pod {
    /// Key and version, never more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pod {:?}", self.meta)
    }
}

#[cfg(test)]
mod tests;
