//! Pods and sets as the checks see them: read from the server's bytes, and by other code than that under test.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A pod.
#[derive(Debug, Deserialize)]
pub struct Pod {
    /// Its metadata.
    pub metadata: Metadata,
    #[serde(default)]
    status: PodStatus,
}

/// A ReplicaSet.
#[derive(Debug, Deserialize)]
pub struct Set {
    /// Its metadata.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: SetSpec,
    /// What its controller says there is.
    #[serde(default)]
    pub status: SetStatus,
}

/// What both have.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.generation`
    #[serde(default)]
    pub generation: i64,
    /// `metadata.labels`
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// `metadata.creationTimestamp`
    pub creation_timestamp: String,
    /// `metadata.deletionTimestamp`
    pub deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<Owner>,
    /// `metadata.finalizers`
    #[serde(default)]
    pub finalizers: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Owner {
    kind: String,
    uid: String,
    #[serde(default)]
    controller: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
    conditions: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// `spec` of a set.
#[derive(Debug, Deserialize)]
pub struct SetSpec {
    /// `spec.replicas`
    pub replicas: usize,
    selector: Selector,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Selector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
}

/// `status` of a set.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct SetStatus {
    /// `status.replicas`
    pub replicas: usize,
    /// `status.fullyLabeledReplicas`
    pub fully_labeled_replicas: usize,
    /// `status.readyReplicas`
    pub ready_replicas: usize,
    /// `status.availableReplicas`
    pub available_replicas: usize,
    /// `status.terminatingReplicas`
    pub terminating_replicas: usize,
    /// `status.observedGeneration`
    pub observed_generation: i64,
    /// `status.conditions`
    pub conditions: Vec<Value>,
}

impl Metadata {
    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// The uid of the ReplicaSet that controls it.
    pub fn set(&self) -> Option<&str> {
        let owner = self.owner_references.iter().find(|owner| owner.controller && owner.kind == "ReplicaSet");
        owner.map(|owner| owner.uid.as_str())
    }

    /// Its owners, but for the one with this uid.
    pub(crate) fn owners_but(&self, uid: &str) -> impl Iterator<Item = impl PartialEq> {
        self.owner_references.iter().filter(move |owner| owner.uid != uid)
    }

    /// The uid of whatever controls it.
    pub fn controller(&self) -> Option<&str> {
        self.owner_references.iter().find(|owner| owner.controller).map(|owner| owner.uid.as_str())
    }

    /// Whether anything controls it.
    pub fn is_orphan(&self) -> bool {
        self.controller().is_none()
    }
}

impl Pod {
    /// Whether it counts: it has not ended and is not being deleted.
    pub fn is_live(&self) -> bool {
        !self.metadata.is_deleting() && !matches!(self.status.phase.as_str(), "Failed" | "Succeeded")
    }

    /// `status.phase`
    pub fn phase(&self) -> &str {
        &self.status.phase
    }

    /// Whether it is ready.
    pub fn is_ready(&self) -> bool {
        self.status.conditions.iter().any(|condition| condition.kind == "Ready" && condition.status == "True")
    }

    /// Whether it counts for the set with this uid.
    pub fn is_live_of(&self, set: &str) -> bool {
        self.is_live() && self.metadata.set() == Some(set)
    }
}

impl Set {
    /// Whether a pod counts for it: a live one of its own that it selects.
    pub fn counts(&self, pod: &Pod) -> bool {
        pod.is_live_of(&self.metadata.uid) && self.selects(pod)
    }

    /// Whether it selects a pod.
    pub fn selects(&self, pod: &Pod) -> bool {
        self.spec.selector.match_labels.iter().all(|(name, value)| pod.metadata.labels.get(name) == Some(value))
    }
}
