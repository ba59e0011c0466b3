//! Users: requests that come from nowhere in particular, and take effect at once.

use sanskube_apiserver::Request;
use serde_json::json;

use super::action::{Policy, User};
use super::run::{Run, Undo};
use crate::setting::{self, JSON, MERGE};

/// The namespaces: all sets but the last live in the first.
pub(super) const NAMESPACES: [&str; 2] = ["default", "other"];

/// The namespace and the name of a set.
fn place(set: u8) -> (&'static str, &'static str) {
    match set {
        0 => (NAMESPACES[0], "a"),
        1 => (NAMESPACES[0], "b"),
        _ => (NAMESPACES[1], "c"),
    }
}

fn sets_path(set: u8) -> String {
    format!("/apis/apps/v1/namespaces/{}/replicasets", place(set).0)
}

fn set_path(set: u8) -> String {
    format!("{}/{}", sets_path(set), place(set).1)
}

impl Run {
    /// Does what a user does.
    pub(super) fn act_as_user(&mut self, user: User) {
        match user {
            User::Cost { pod, cost } => {
                let annotation = "controller.kubernetes.io/pod-deletion-cost";
                self.patch_pod(pod, &format!(r#"{{"metadata":{{"annotations":{{"{annotation}":"{cost}"}}}}}}"#));
            }
            User::Create { set, replicas, min_ready } => self.create_set(set, replicas, min_ready),
            User::Delete { set, policy } => self.delete_set(set, policy),
            User::DeletePod { pod, at_once } => {
                let Some(path) = self.pod_path(pod) else { return };
                let options = if at_once { r#"{"gracePeriodSeconds":0}"# } else { "{}" };
                self.ask("DELETE", &path, JSON, options);
            }
            User::Disown { pod } => self.patch_pod(pod, r#"{"metadata":{"ownerReferences":null}}"#),
            User::EndNamespace { after } => {
                self.ask("DELETE", &format!("/api/v1/namespaces/{}", NAMESPACES[1]), JSON, "{}");
                self.undo_after(after, Undo::Namespace);
            }
            User::FailPod { pod } => {
                if let Some(key) = self.pod_key(pod)
                    && let Some((namespace, name)) = key.split_once('/')
                {
                    self.world.fail_pod(namespace, name, "Evicted");
                }
            }
            User::Finalize { pod, on } => {
                let finalizers = if on { r#"["example.com/hold"]"# } else { "null" };
                self.patch_pod(pod, &format!(r#"{{"metadata":{{"finalizers":{finalizers}}}}}"#));
            }
            User::MakePod { set } => {
                let (namespace, app) = (place(set).0, self.app(set));
                let pod = format!(
                    r#"{{"metadata":{{"generateName":"user-","labels":{{"app":"{app}"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}"#
                );
                self.ask("POST", &format!("/api/v1/namespaces/{namespace}/pods"), JSON, &pod);
            }
            User::Quota { pods, lasts } => {
                let path = format!("/api/v1/namespaces/{}/resourcequotas", NAMESPACES[0]);
                let quota = format!(r#"{{"metadata":{{"name":"q"}},"spec":{{"hard":{{"pods":"{pods}"}}}}}}"#);
                self.ask("POST", &path, JSON, &quota);
                let status =
                    format!(r#"{{"status":{{"hard":{{"pods":"{pods}"}},"used":{{"pods":"{}"}}}}}}"#, self.pod_count());
                self.ask("PATCH", &format!("{path}/q/status"), MERGE, &status);
                self.undo_after(lasts, Undo::Quota);
            }
            User::Recreate { set, replicas } => {
                self.delete_set(set, Policy::Background);
                self.create_set(set, replicas, 0);
            }
            User::Relabel { pod, set } => {
                let app = set.map_or("none", |set| self.app(set));
                self.patch_pod(pod, &format!(r#"{{"metadata":{{"labels":{{"app":"{app}"}}}}}}"#));
            }
            User::ReplacePod { pod } => self.replace_pod(pod),
            User::Scale { set, replicas } => {
                let scale = format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
                self.ask("PATCH", &format!("{}/scale", set_path(set)), MERGE, &scale);
            }
            User::Touch { set } => {
                let count = self.world.api().resource_version();
                let change =
                    format!(r#"{{"spec":{{"template":{{"metadata":{{"annotations":{{"touched":"{count}"}}}}}}}}}}"#);
                self.ask("PATCH", &set_path(set), MERGE, &change);
            }
        }
    }

    /// Asks the server for something, and says whether it was done.
    pub(super) fn ask(&mut self, method: &str, path: &str, content_type: &str, body: &str) -> bool {
        let request = Request::new(method, path).with_body(content_type, body);
        let response = self.world.request(&request);
        self.say(|| format!("user: {method} {path} {body} = {}", response.status));
        (200..300).contains(&response.status)
    }

    /// Lifts the quota.
    pub(super) fn end_quota(&mut self) {
        let path = format!("/api/v1/namespaces/{}/resourcequotas/q", NAMESPACES[0]);
        self.ask("DELETE", &path, JSON, "{}");
    }

    /// Makes the second namespace, and says whether it is there.
    pub(super) fn make_namespace(&mut self) -> bool {
        let body = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, NAMESPACES[1]);
        self.ask("POST", "/api/v1/namespaces", JSON, &body)
    }

    /// Takes every finalizer from pods.
    pub(super) fn end_finalizers(&mut self) {
        let held = self.check.pods.all().filter(|(_, pod)| !pod.metadata.finalizers.is_empty());
        let keys: Vec<String> = held.map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            self.ask("PATCH", &path_of(&key), MERGE, r#"{"metadata":{"finalizers":null}}"#);
        }
    }

    /// The label by which a set selects.
    fn app(&self, set: u8) -> &'static str {
        place(if self.plan.setup.overlap && set == 1 { 0 } else { set }).1
    }

    fn create_set(&mut self, set: u8, replicas: u8, min_ready: u8) {
        let body = setting::set(place(set).1, self.app(set), replicas, min_ready);
        self.ask("POST", &sets_path(set), JSON, &body);
    }

    fn delete_set(&mut self, set: u8, policy: Policy) {
        self.ask("DELETE", &set_path(set), JSON, &format!(r#"{{"propagationPolicy":"{policy:?}"}}"#));
    }

    fn patch_pod(&mut self, pod: u8, body: &str) {
        if let Some(path) = self.pod_path(pod) {
            self.ask("PATCH", &path, MERGE, body);
        }
    }

    fn replace_pod(&mut self, pod: u8) {
        let Some((namespace, name)) = self.pod_key(pod).and_then(|key| {
            let (namespace, name) = key.split_once('/')?;
            Some((namespace.to_owned(), name.to_owned()))
        }) else {
            return;
        };
        let labels = self.check.pods.now(&format!("{namespace}/{name}")).map(|pod| pod.metadata.labels.clone());
        let another = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        let pods = format!("/api/v1/namespaces/{namespace}/pods");
        self.ask("DELETE", &format!("{pods}/{name}"), JSON, r#"{"gracePeriodSeconds":0}"#);
        self.ask("POST", &pods, JSON, &another.to_string());
    }

    fn pod_count(&self) -> usize {
        let within = |key: &str| key.split('/').next() == Some(NAMESPACES[0]);
        self.check.pods.all().filter(|(key, _)| within(key)).count()
    }

    fn pod_key(&self, pod: u8) -> Option<String> {
        let keys: Vec<&str> = self.check.pods.all().map(|(key, _)| key).collect();
        let place = usize::from(pod) % keys.len().max(1);
        keys.get(place).map(|key| (*key).to_owned())
    }

    fn pod_path(&self, pod: u8) -> Option<String> {
        self.pod_key(pod).map(|key| path_of(&key))
    }
}

fn path_of(key: &str) -> String {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    format!("/api/v1/namespaces/{namespace}/pods/{name}")
}
