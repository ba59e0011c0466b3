//! The API server of the vectors: it answers by rules, as their FORMAT.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sanskube::request::{Head, Method, Outcome, Request, Response};
use serde_json::{Value, json};

use super::body_of;

/// What the server has, and what it was asked.
#[derive(Clone)]
pub(super) struct Api {
    next_version: u64,
    set: Option<Value>,
    rules: Vec<Value>,
    pods: BTreeMap<String, Value>,
    made: usize,
    calls: BTreeMap<&'static str, u64>,
    /// All requests with their verbs, in order.
    pub(super) log: Vec<(&'static str, Request)>,
    /// The versions that patched pods were given.
    pub(super) patched: BTreeMap<String, Value>,
    /// Names of pods it made.
    pub(super) names: BTreeSet<String>,
}

impl Api {
    pub(super) fn new(api: &Value, pods: &Value) -> Self {
        let pods = pods.as_array().into_iter().flatten();
        Self {
            next_version: api["nextResourceVersion"].as_u64().unwrap_or(1),
            set: api.get("replicaSet").filter(|set| !set.is_null()).cloned(),
            rules: api["rules"].as_array().cloned().unwrap_or_default(),
            pods: pods.map(|pod| (text(&pod["metadata"]["name"]).to_owned(), pod.clone())).collect(),
            made: 0,
            calls: BTreeMap::new(),
            log: Vec::new(),
            patched: BTreeMap::new(),
            names: BTreeSet::new(),
        }
    }

    /// What somebody else did: used versions, removed a pod.
    pub(super) fn handle_others(&mut self, args: &Value) {
        if let Some(version) = args["nextResourceVersion"].as_u64() {
            self.next_version = version;
        }
        if let Some(gone) = args["podGone"].as_str() {
            self.pods.remove(gone.rsplit('/').next().unwrap_or(gone));
        }
    }

    /// The answer to a request, and how long it takes.
    pub(super) fn handle(&mut self, request: &Request) -> (Outcome, Duration) {
        let verb = match request.method {
            Method::Delete => "delete_pod",
            Method::Get => "get_rs",
            Method::Patch => "patch_pod",
            Method::Post => "create_pod",
            Method::Put => "update_status",
        };
        self.log.push((verb, request.clone()));
        let call = self.calls.entry(verb).or_default();
        *call += 1;
        let call = *call;
        let name = request.path.rsplit('/').next().unwrap_or_default();
        let rule = self.rules.iter().find(|rule| {
            let from = rule["fromCall"].as_u64().unwrap_or(0);
            let to = rule["toCall"].as_u64().filter(|&to| to > 0).unwrap_or(u64::MAX);
            let about = text(&rule["name"]);
            text(&rule["verb"]) == verb && (about.is_empty() || about == name) && (from..=to).contains(&call)
        });
        let delay = rule.map_or(0, |rule| rule["delayMs"].as_u64().unwrap_or(0));
        let refusal = rule.map(|rule| rule["status"].clone()).filter(|status| !status.is_null());
        let answer = match refusal {
            Some(status) => (status["code"].as_u64().unwrap_or(500), status),
            None => self.obey(request, name),
        };
        let head = Head::new(u16::try_from(answer.0).unwrap_or(500));
        let outcome = Outcome::Response(Response { head, body: answer.1.to_string().into_bytes() });
        (outcome, Duration::from_millis(delay))
    }

    fn obey(&mut self, request: &Request, name: &str) -> (u64, Value) {
        let body = body_of(request);
        match request.method {
            Method::Get => match &self.set {
                Some(set) if text(&set["metadata"]["name"]) == name => (200, set.clone()),
                _ => not_found(name),
            },
            Method::Put => (200, self.versioned(body)),
            Method::Post => {
                self.made += 1;
                let mut pod = self.versioned(body);
                let name = format!("{}{:05}", text(&pod["metadata"]["generateName"]), self.made);
                let namespace = request.path.split('/').nth(4).unwrap_or_default();
                pod["metadata"]["name"] = json!(name);
                pod["metadata"]["namespace"] = json!(namespace);
                pod["metadata"]["uid"] = json!(format!("00000000-0000-4000-8000-{:012}", self.made));
                self.pods.insert(name.clone(), pod.clone());
                self.names.insert(name);
                (201, pod)
            }
            Method::Delete => match self.pods.remove(name) {
                Some(pod) => (200, self.versioned(pod)),
                None => not_found(name),
            },
            Method::Patch => match self.pods.remove(name) {
                Some(pod) => {
                    let mut pod = self.versioned(pod);
                    let owners = pod["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                    pod["metadata"]["ownerReferences"] = patched(owners, &body);
                    self.pods.insert(name.to_owned(), pod.clone());
                    self.patched.insert(name.to_owned(), pod["metadata"]["resourceVersion"].clone());
                    (200, pod)
                }
                None => not_found(name),
            },
        }
    }

    fn versioned(&mut self, mut object: Value) -> Value {
        object["metadata"]["resourceVersion"] = json!(self.next_version.to_string());
        self.next_version += 1;
        object
    }
}

fn patched(mut owners: Vec<Value>, patch: &Value) -> Value {
    for owner in patch["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
        if owner["$patch"] == "delete" {
            owners.retain(|old| old["uid"] != owner["uid"]);
        } else {
            owners.push(owner.clone());
        }
    }
    Value::Array(owners)
}

fn not_found(name: &str) -> (u64, Value) {
    let message = format!("{name:?} not found");
    (
        404,
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": message}),
    )
}

fn text(json: &Value) -> &str {
    json.as_str().unwrap_or_default()
}
