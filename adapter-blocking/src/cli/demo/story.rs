//! The story: what the user does, one step after the other, and what must come of it.

#[cfg(test)]
mod tests;

use sanskube::replicaset::is_ready;
use sanskube::time::Timestamp;
use serde_json::{Value, json};

use super::user::{Kind, User, UserError};
use super::view::{Pod, View, is_observed};

/// One step of the story.
pub(super) struct Step {
    /// What the user does.
    pub(super) name: &'static str,
    /// What must come of it.
    pub(super) expected: &'static str,
    /// Does it. Returns the uid of the pod that it is about, if it is about one.
    pub(super) act: fn(&User, &View) -> Result<String, UserError>,
    /// Looks whether it came of it.
    pub(super) check: fn(&Scene<'_>) -> Verdict,
}

/// What a check looks at.
pub(super) struct Scene<'a> {
    /// What there is.
    pub(super) view: &'a View,
    /// The uid that the step's act returned.
    pub(super) subject: &'a str,
    /// The time, by the clock of the API server: it runs in this process.
    pub(super) now: Timestamp,
}

/// What a check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not yet; look again.
    NotYet,
    /// Something happened that must never happen.
    Wrong(String),
    /// Yes.
    Yes,
}

impl From<bool> for Verdict {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::NotYet }
    }
}

/// The story.
pub(super) const STORY: &[Step] = &[
    Step {
        name: "a set of no pods is created",
        expected: "the set says that it has no pods",
        act: |user, _| create_set(user, "web", 0),
        check: |scene| scene.is_settled("web", 0),
    },
    Step {
        name: "the set is scaled from 0 to 3",
        expected: "3 pods, all ready",
        act: |user, _| scale(user, "web", 3),
        check: |scene| scene.is_settled("web", 3),
    },
    Step {
        name: "the set is scaled from 3 to 10",
        expected: "10 pods, all ready",
        act: |user, _| scale(user, "web", 10),
        check: |scene| scene.is_settled("web", 10),
    },
    Step {
        name: "the set is scaled from 10 to 2",
        expected: "2 pods, all ready",
        act: |user, _| scale(user, "web", 2),
        check: |scene| scene.is_settled("web", 2),
    },
    Step {
        name: "a pod is killed",
        expected: "it is gone, and another one has taken its place",
        act: |user, view| {
            let pod = pod_of(view, "web")?;
            user.delete(Kind::Pod, &pod.name)?;
            Ok(pod.uid.clone())
        },
        check: |scene| scene.settled_and("web", 2, scene.subject().is_none()),
    },
    Step {
        name: "a pod fails",
        expected: "another one has taken its place, and the failed one is left to be looked at",
        act: |user, view| {
            let pod = pod_of(view, "web")?;
            let not_ready = json!([{"type": "Ready", "status": "False"}]);
            let status = json!({"phase": "Failed", "reason": "Evicted", "conditions": not_ready});
            user.patch_status(Kind::Pod, &pod.name, &json!({"status": status}))?;
            Ok(pod.uid.clone())
        },
        check: |scene| scene.settled_and("web", 2, scene.subject().is_some_and(|pod| pod.phase == "Failed")),
    },
    Step {
        name: "a pod is created that belongs to nobody",
        expected: "it is ready and still belongs to nobody",
        act: |user, _| {
            let mut pod = template("cache");
            pod["metadata"]["name"] = "stray".into();
            Ok(uid(&user.create(Kind::Pod, &pod)?))
        },
        check: |scene| scene.subject().is_some_and(|pod| pod.is_ready() && pod.owner.is_none()).into(),
    },
    Step {
        name: "a set of 2 is created that selects it",
        expected: "it is adopted, and one more pod is made",
        act: |user, view| {
            create_set(user, "cache", 2)?;
            let stray = view.pods.iter().find(|pod| pod.name == "stray");
            Ok(stray.map(|pod| pod.uid.clone()).unwrap_or_default())
        },
        check: |scene| scene.settled_and("cache", 2, scene.is_subject_of("cache")),
    },
    Step {
        name: "a pod's label is changed",
        expected: "it is let go, and another one has taken its place",
        act: |user, view| {
            let pod = pod_of(view, "web")?;
            user.patch(Kind::Pod, &pod.name, &json!({"metadata": {"labels": {"app": "debug"}}}))?;
            Ok(pod.uid.clone())
        },
        check: |scene| scene.settled_and("web", 2, scene.subject().is_some_and(|pod| pod.owner.is_none())),
    },
    Step {
        name: "the set asks for minReadySeconds of 3 and is scaled from 2 to 4",
        expected: "4 pods, available no sooner than 3 s after they are ready",
        act: |user, _| {
            user.patch(Kind::ReplicaSet, "web", &json!({"spec": {"minReadySeconds": 3, "replicas": 4}}))?;
            Ok(String::new())
        },
        check: |scene| match scene.available_too_soon("web") {
            Some(wrong) => Verdict::Wrong(wrong),
            None => scene.is_settled("web", 4),
        },
    },
    Step {
        name: "both sets are deleted",
        expected: "their pods are gone, and only the one that was let go is left",
        act: |user, _| {
            user.delete(Kind::ReplicaSet, "web")?;
            user.delete(Kind::ReplicaSet, "cache")?;
            Ok(String::new())
        },
        check: |scene| {
            let View { sets, pods } = scene.view;
            (sets.is_empty() && pods.len() == 1 && pods[0].owner.is_none()).into()
        },
    },
];

impl Scene<'_> {
    /// Whether a set has so many pods, all of them ready and available, and says so.
    fn is_settled(&self, set: &str, count: usize) -> Verdict {
        self.settled_and(set, count, true)
    }

    /// The same, and something else besides.
    fn settled_and(&self, set: &str, count: usize, also: bool) -> Verdict {
        let Some(set) = self.view.set(set) else { return Verdict::NotYet };
        let pods = self.view.pods_of(set).filter(|pod| pod.is_ready()).count();
        let status = set.status();
        // Ready is a set with as many available pods as it wants; a pod too many would not show in that.
        let no_more = usize::try_from(status.replicas) == Ok(count) && status.ready_replicas == status.replicas;
        let terminating = self.view.pods.iter().any(|pod| pod.terminating);
        (also && is_ready(set) && no_more && !terminating && [set.replicas(), pods] == [count; 2]).into()
    }

    /// The pod that the step is about.
    fn subject(&self) -> Option<&Pod> {
        self.view.pod(self.subject)
    }

    /// Whether the pod that the step is about belongs to a set.
    fn is_subject_of(&self, set: &str) -> bool {
        self.view.set(set).is_some_and(|set| self.subject().is_some_and(|pod| pod.is_owned_by(set)))
    }

    /// What is wrong, if a set says that more pods are available than have been ready for long enough.
    fn available_too_soon(&self, set: &str) -> Option<String> {
        let set = self.view.set(set).filter(|set| is_observed(set))?;
        let seconds = |pod: &Pod| Some(self.now.as_seconds() - pod.ready_since?.as_seconds());
        let wanted = i64::from(set.min_ready_seconds());
        let long_enough = |pod: &&Pod| seconds(pod).is_some_and(|seconds| seconds >= wanted);
        let may_be = self.view.pods_of(set).filter(long_enough).count();
        let available = usize::try_from(set.status().available_replicas).unwrap_or(0);
        (available > may_be)
            .then(|| format!("{available} pods are called available, but only {may_be} have been ready for {wanted} s"))
    }
}

fn create_set(user: &User, name: &str, replicas: u64) -> Result<String, UserError> {
    let set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name)},
    });
    user.create(Kind::ReplicaSet, &set)?;
    Ok(String::new())
}

fn scale(user: &User, set: &str, replicas: u64) -> Result<String, UserError> {
    user.patch(Kind::ReplicaSet, set, &json!({"spec": {"replicas": replicas}}))?;
    Ok(String::new())
}

/// A pod, or the template of one.
fn template(app: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
    })
}

/// The first pod of a set.
fn pod_of<'a>(view: &'a View, set: &str) -> Result<&'a Pod, UserError> {
    let pod = view.set(set).and_then(|set| view.pods_of(set).next());
    pod.ok_or_else(|| UserError::new(format!("the set {set} has no pods")))
}

fn uid(object: &Value) -> String {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned()
}
