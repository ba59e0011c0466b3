//! The ReplicaSet and its elder, the ReplicationController, as one view.

mod decode;
mod status;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use serde_json::value::RawValue;

use super::Object;
use super::labels::Labels;
use super::meta::{Meta, object_by_meta};
use super::resource::Resource;
use super::selector::{Selector, SelectorError};
pub use status::{Condition, ReplicaSetStatus};

/// Which of the two kinds a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplicaSetKind {
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `v1` ReplicationController.
    ReplicationController,
}

impl ReplicaSetKind {
    /// The name of their controller, by which its events are told (`replica_set.go` and `replication_controller.go`, `NewController`).
    pub fn component(self) -> &'static str {
        match self {
            Self::ReplicaSet => "replicaset-controller",
            Self::ReplicationController => "replication-controller",
        }
    }

    /// The collection that sets of this kind live in.
    pub fn resource(self) -> &'static Resource {
        static SETS: Resource = Resource::REPLICA_SETS;
        static CONTROLLERS: Resource = Resource::REPLICATION_CONTROLLERS;
        match self {
            Self::ReplicaSet => &SETS,
            Self::ReplicationController => &CONTROLLERS,
        }
    }
}

/// A view of a ReplicaSet or ReplicationController.
///
/// Beside what the controller looks at it keeps the JSON of `metadata` (without `managedFields`) and of `spec` as it came, since the
/// whole object is sent back with a new status and pods are made from the template: fields that this build does not know survive.
pub struct ReplicaSet {
    kind: ReplicaSetKind,
    meta: Meta,
    replicas: i32,
    min_ready_seconds: i32,
    selector: Result<Selector, SelectorError>,
    template_labels: Labels,
    status: ReplicaSetStatus,
    raw_metadata: Box<RawValue>,
    raw_spec: Box<RawValue>,
}

impl ReplicaSet {
    /// Which of the two kinds.
    pub fn kind(&self) -> ReplicaSetKind {
        self.kind
    }

    /// What is known of `metadata`.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// `spec.replicas`: the wanted number of pods. Absent is 1, as the API server defaults it; a negative number, which the API server
    /// refuses, is 0.
    pub fn replicas(&self) -> usize {
        usize::try_from(self.replicas).unwrap_or(0)
    }

    /// `spec.minReadySeconds`: how long a pod must have been ready to count as available, in seconds.
    pub fn min_ready_seconds(&self) -> i32 {
        self.min_ready_seconds
    }

    /// `spec.selector`: [nothing](Selector::nothing) where it is absent, everything where it is empty.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn selector(&self) -> Result<&Selector, &SelectorError> {
        self.selector.as_ref()
    }

    /// The labels of the template.
    pub fn template_labels(&self) -> &Labels {
        &self.template_labels
    }

    /// `status`.
    pub fn status(&self) -> &ReplicaSetStatus {
        &self.status
    }

    /// The JSON of `spec` as it came.
    pub fn raw_spec(&self) -> &RawValue {
        &self.raw_spec
    }

    /// The JSON of the whole object with another status.
    ///
    /// The order of the fields is Go's.
    pub fn to_json_with_status(&self, status: &ReplicaSetStatus) -> Vec<u8> {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Whole<'a> {
            kind: &'a str,
            api_version: &'a str,
            metadata: &'a RawValue,
            spec: &'a RawValue,
            status: &'a ReplicaSetStatus,
        }

        let resource = self.kind.resource();
        let whole = Whole {
            kind: &resource.kind,
            api_version: &resource.api_version(),
            metadata: &self.raw_metadata,
            spec: &self.raw_spec,
            status,
        };
        serde_json::to_vec(&whole).expect("a struct of texts, numbers and JSON has a JSON form")
    }
}

impl Object for ReplicaSet {
    object_by_meta!();

    fn is_same(&self, other: &Self) -> bool {
        // All else was read from these.
        self.kind == other.kind
            && self.status == other.status
            && self.raw_metadata.get() == other.raw_metadata.get()
            && self.raw_spec.get() == other.raw_spec.get()
    }
}

impl fmt::Debug for ReplicaSet {
    /// Kind, key and version, never more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.kind, self.meta)
    }
}

#[cfg(test)]
mod tests;
