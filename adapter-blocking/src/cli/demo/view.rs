//! What a user sees in the cluster: sets and pods, as the API server shows them.

use std::sync::Arc;

use sanskube::object::{Decode as _, Object as _, ReplicaSet, Resource};
use sanskube::time::Timestamp;
use serde_json::Value;

use super::user::{Kind, User, UserError};

/// Everything in the namespace, at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) sets: Vec<Arc<ReplicaSet>>,
    pub(super) pods: Vec<Pod>,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) phase: String,
    /// Since when it is ready; none while it is not.
    pub(super) ready_since: Option<Timestamp>,
    pub(super) node: String,
    pub(super) created: Option<Timestamp>,
    /// The uid of its controller.
    pub(super) owner: Option<String>,
    pub(super) terminating: bool,
}

impl View {
    /// What there is now. The sets are read before the pods.
    pub(super) fn read(user: &User) -> Result<Self, UserError> {
        let sets = user.list(Kind::ReplicaSet)?.iter().map(read_set).collect::<Result<_, _>>()?;
        let pods = user.list(Kind::Pod)?.iter().map(Pod::read).collect();
        Ok(Self { sets, pods })
    }

    /// The set of this name.
    pub(super) fn set(&self, name: &str) -> Option<&ReplicaSet> {
        self.sets.iter().find(|set| set.name() == name).map(|set| &**set)
    }

    /// The pod with this uid.
    pub(super) fn pod(&self, uid: &str) -> Option<&Pod> {
        self.pods.iter().find(|pod| pod.uid == uid)
    }

    /// The pods that a set counts: those it controls that have not ended and are not about to.
    pub(super) fn pods_of(&self, set: &ReplicaSet) -> impl Iterator<Item = &Pod> {
        self.pods.iter().filter(|pod| pod.is_owned_by(set) && pod.is_active())
    }

    /// One line about everything.
    pub(super) fn summary(&self) -> String {
        let mut lines: Vec<_> = self.sets.iter().map(|set| summary(set)).collect();
        if lines.is_empty() {
            lines.push("no set".into());
        }
        let phases = ["Pending", "Running", "Succeeded", "Failed"]
            .map(|phase| (self.pods.iter().filter(|pod| pod.phase == phase && !pod.terminating).count(), phase));
        let terminating = (self.pods.iter().filter(|pod| pod.terminating).count(), "terminating");
        let counted = phases.into_iter().chain([terminating]).filter(|(count, _)| *count > 0);
        let pods: Vec<_> = counted.map(|(count, what)| format!("{count} {what}")).collect();
        lines.push(if pods.is_empty() { "no pods".into() } else { format!("pods: {}", pods.join(", ")) });
        lines.join("; ")
    }
}

/// A set, read as the controller reads it.
pub(super) fn read_set(object: &Value) -> Result<Arc<ReplicaSet>, UserError> {
    let set = ReplicaSet::decode(object.to_string().as_bytes(), &Resource::REPLICA_SETS);
    set.map(Arc::new).map_err(|e| UserError::new(format!("a listed set: {e}")))
}

/// Whether the status of a set is about the spec as it is now.
pub(super) fn is_observed(set: &ReplicaSet) -> bool {
    set.status().observed_generation >= set.meta().generation
}

fn summary(set: &ReplicaSet) -> String {
    let (name, desired, status) = (set.name(), set.replicas(), set.status());
    let (current, ready, available) = (status.replicas, status.ready_replicas, status.available_replicas);
    let late = if is_observed(set) { "" } else { " (of an older spec)" };
    format!("{name}: {desired} desired, {current} current, {ready} ready, {available} available{late}")
}

impl Pod {
    fn read(object: &Value) -> Self {
        let list = |path: &str| object.pointer(path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let ready = list("/status/conditions").iter().find(|condition| condition["type"] == "Ready");
        let owner = list("/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true);
        Self {
            name: text(object, "/metadata/name"),
            uid: text(object, "/metadata/uid"),
            phase: text(object, "/status/phase"),
            ready_since: ready
                .filter(|condition| condition["status"] == "True")
                .and_then(|condition| Timestamp::parse(condition["lastTransitionTime"].as_str()?)),
            node: text(object, "/spec/nodeName"),
            created: Timestamp::parse(&text(object, "/metadata/creationTimestamp")),
            owner: owner.map(|owner| text(owner, "/uid")),
            terminating: object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready_since.is_some()
    }

    /// Whether this set controls it.
    pub(super) fn is_owned_by(&self, set: &ReplicaSet) -> bool {
        self.owner.as_deref().is_some_and(|owner| set.uid() == owner.into())
    }

    fn is_active(&self) -> bool {
        !self.terminating && self.phase != "Failed" && self.phase != "Succeeded"
    }
}

fn text(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_is_read_with_what_it_says_of_itself() {
        let object = json!({
            "metadata": {"name": "web", "uid": "u", "generation": 3},
            "spec": {"replicas": 4, "minReadySeconds": 5},
            "status": {"replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "observedGeneration": 2},
        });
        let set = read_set(&object).unwrap();
        assert!(!is_observed(&set));
        assert_eq!((set.min_ready_seconds(), set.uid()), (5, "u".into()));
        assert_eq!(summary(&set), "web: 4 desired, 3 current, 2 ready, 1 available (of an older spec)");
    }

    #[test]
    fn a_set_that_cannot_be_read_is_an_error() {
        let error = read_set(&json!({"metadata": {"name": "web"}, "spec": {"replicas": "four"}})).unwrap_err();
        assert!(error.to_string().starts_with("a listed set: "), "{error}");
    }

    #[test]
    fn a_pod_is_read_with_its_controller_and_its_readiness() {
        let pod = |status, deleted: Option<&str>| {
            Pod::read(&json!({
                "metadata": {
                    "name": "web-1", "uid": "p", "creationTimestamp": "1970-01-01T00:01:00Z", "deletionTimestamp": deleted,
                    "ownerReferences": [{"uid": "other"}, {"uid": "set", "controller": true}],
                },
                "spec": {"nodeName": "node-0"},
                "status": {
                    "phase": "Running",
                    "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "1970-01-01T00:02:00Z"}],
                },
            }))
        };
        let ready = pod("True", None);
        assert_eq!(ready.owner.as_deref(), Some("set"));
        assert_eq!(ready.created, Some(Timestamp::from_seconds(60)));
        assert_eq!(ready.ready_since, Some(Timestamp::from_seconds(120)));
        assert!(ready.is_active());
        assert!(!pod("False", None).is_ready());
        assert!(!pod("True", Some("1970-01-01T00:03:00Z")).is_active());
    }

    #[test]
    fn everything_is_told_in_one_line() {
        let pod = |phase: &str, terminating| Pod { phase: phase.into(), terminating, ..Pod::default() };
        let pods = vec![pod("Running", false), pod("Running", true), pod("Failed", false), pod("Running", false)];
        let view = View { pods, sets: vec![] };
        assert_eq!(view.summary(), "no set; pods: 2 Running, 1 Failed, 1 terminating");
        assert_eq!(View::default().summary(), "no set; no pods");
    }
}
