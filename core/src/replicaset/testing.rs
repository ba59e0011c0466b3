//! A small cluster for tests: caches that show what the server has when they are told to, and a server that does what it is asked.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::key::Key;
use crate::object::{Decode, Pod, ReplicaSet, Resource};
use crate::recorder::Event;
use crate::request::{Failure, Head, Method, Outcome, Request, Response};
use crate::resource_version::ResourceVersion;
use crate::store::Store;
use crate::time::{Instant, Now, Timestamp};

pub(super) const START: &str = "2026-03-14T09:26:53Z";

pub(super) fn now() -> Now {
    Now { instant: Instant::from_millis(1_000_000), wall: Timestamp::parse(START).unwrap() }
}

/// A pod of namespace `shop` from its parts; `more` is merged in.
pub(super) fn pod(name: &str, more: Value) -> Pod {
    read_pod(&pod_json(name, more))
}

pub(super) fn read_pod(json: &Value) -> Pod {
    Pod::decode(json.to_string().as_bytes(), &Resource::PODS).unwrap()
}

pub(super) fn pod_json(name: &str, more: Value) -> Value {
    let mut pod = json!({"metadata": {"namespace": "shop", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "500",
        "creationTimestamp": "2026-03-14T08:26:53Z", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}});
    merge(&mut pod, more);
    pod
}

/// What makes a pod the set's own.
pub(super) fn owned() -> Value {
    json!({"metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-web",
        "controller": true, "blockOwnerDeletion": true}]}})
}

/// What makes a pod ready since a time.
pub(super) fn ready(since: &str) -> Value {
    json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]}})
}

/// The set `shop/web` of so many replicas; `more` is merged in.
pub(super) fn set_json(replicas: usize, more: Value) -> Value {
    let mut set = json!({"kind": "ReplicaSet", "apiVersion": "apps/v1",
        "metadata": {"namespace": "shop", "name": "web", "uid": "uid-web", "resourceVersion": "400", "generation": 1},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}},
        "status": {"replicas": 0}});
    merge(&mut set, more);
    set
}

pub(super) fn set(json: &Value) -> ReplicaSet {
    let kind = if json["kind"] == "ReplicationController" {
        ReplicaSetKind::ReplicationController
    } else {
        ReplicaSetKind::ReplicaSet
    };
    ReplicaSet::decode(json.to_string().as_bytes(), kind.resource()).unwrap()
}

pub(super) fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// A server, caches that lag as long as nobody shows them what is new, and a controller.
pub(super) struct Cluster {
    pub(super) controller: ReplicaSetController,
    pub(super) pods: Store<Pod>,
    pub(super) sets: Store<ReplicaSet>,
    pub(super) now: Now,
    pub(super) server: Server,
    /// Keys that handlers have woken.
    pub(super) woken: Vec<Wakeups>,
}

/// What the server has, by name, and what it was asked.
#[derive(Default)]
pub(super) struct Server {
    pub(super) pods: BTreeMap<String, Value>,
    pub(super) set: Option<Value>,
    pub(super) version: u64,
    pub(super) made: usize,
    pub(super) requests: Vec<Request>,
    /// Answers that are given instead of doing what is asked, to requests whose method and path fit.
    pub(super) refusals: Vec<(Method, String, Outcome)>,
    limit: Option<(Method, usize, Outcome)>,
    now: Timestamp,
}

/// What one sync did.
pub(super) struct Synced {
    pub(super) finish: Finish,
    pub(super) events: Vec<Event>,
    pub(super) requests: Vec<Request>,
    /// How many requests were in flight together, round by round.
    pub(super) rounds: Vec<usize>,
}

impl Synced {
    pub(super) fn count(&self, method: Method) -> usize {
        self.requests.iter().filter(|request| request.method == method).count()
    }

    /// The status that was written last.
    pub(super) fn status(&self) -> Option<Value> {
        let put = self.requests.iter().rev().find(|request| request.method == Method::Put)?;
        Some(serde_json::from_slice::<Value>(&put.body).unwrap()["status"].take())
    }
}

impl Cluster {
    pub(super) fn new(set_object: Value) -> Self {
        let kind = set(&set_object).kind();
        Self::with_options(set_object, ReplicaSetOptions::new(kind))
    }

    pub(super) fn with_options(set_object: Value, options: ReplicaSetOptions) -> Self {
        let (mut pods, mut sets) = (Store::new(), Store::new());
        index_pods(&mut pods);
        index_sets(&mut sets);
        let _ = sets.add(set(&set_object)).unwrap();
        let mut cluster = Self {
            controller: ReplicaSetController::new(options),
            pods,
            sets,
            now: now(),
            server: Server { version: 1000, set: Some(set_object), ..Server::default() },
            woken: Vec::new(),
        };
        cluster.caches_at(900);
        cluster
    }

    pub(super) fn with_pods(mut self, pods: impl IntoIterator<Item = Value>) -> Self {
        for pod in pods {
            self.server.pods.insert(pod["metadata"]["name"].as_str().unwrap().into(), pod.clone());
            let _ = self.pods.add(read_pod(&pod)).unwrap();
        }
        self.caches_at(900);
        self
    }

    pub(super) fn caches_at(&mut self, version: u64) {
        self.pods.set_resource_version(ResourceVersion::new(&version.to_string()));
        self.sets.set_resource_version(ResourceVersion::new(&version.to_string()));
    }

    pub(super) fn advance(&mut self, duration: Duration) {
        self.now = self.now.after(duration);
    }

    /// Runs a sync of `shop/web` to its end; all requests of a round are answered before the next is sent.
    pub(super) fn sync(&mut self) -> Synced {
        self.sync_key("shop/web")
    }

    /// The same with another key.
    pub(super) fn sync_key(&mut self, key: &str) -> Synced {
        let caches = Caches { pods: &self.pods, sets: &self.sets };
        let mut sync = self.controller.begin_sync(&Key::explicit(key), caches, self.now);
        self.server.now = self.now.wall;
        let (mut events, mut rounds) = (Vec::new(), Vec::new());
        let before = self.server.requests.len();
        loop {
            let mut round = Vec::new();
            while let Some(call) = sync.poll_request() {
                round.push(call);
            }
            if round.is_empty() {
                break;
            }
            rounds.push(round.len());
            for (ticket, request) in round {
                let outcome = self.server.handle(request);
                sync.handle_outcome(&mut self.controller, caches, ticket, outcome, self.now);
            }
        }
        events.extend(core::iter::from_fn(|| sync.poll_event()));
        let finish = sync.finish().expect("nothing is in flight").clone();
        Synced { finish, events, requests: self.server.requests[before..].to_vec(), rounds }
    }

    /// The path of the first request that a sync would make, had it begun.
    pub(super) fn first_request(&mut self) -> Request {
        let caches = Caches { pods: &self.pods, sets: &self.sets };
        let mut controller = ReplicaSetController::new(ReplicaSetOptions::new(self.controller.options().kind));
        let mut sync = controller.begin_sync(&Key::new("shop", "web"), caches, self.now);
        sync.poll_request().expect("there is something to do").1
    }

    /// Shows the caches all that the server has, and the controller what has changed by it.
    pub(super) fn catch_up(&mut self) {
        let gone: Vec<Key> =
            self.pods.keys().filter(|key| !self.server.pods.contains_key(key.name())).cloned().collect();
        for key in gone {
            let pod = self.pods.remove(key.as_str()).unwrap();
            let caches = Caches { pods: &self.pods, sets: &self.sets };
            self.woken.push(self.controller.handle_pod_deleted(&pod, caches));
        }
        for json in self.server.pods.values() {
            let pod = read_pod(json);
            let old = self.pods.add(pod.clone()).unwrap().old;
            let caches = Caches { pods: &self.pods, sets: &self.sets };
            self.woken.push(match old {
                Some(old) => self.controller.handle_pod_updated(&old, &pod, caches, self.now),
                None => self.controller.handle_pod_added(&pod, caches, self.now),
            });
        }
        if let Some(json) = &self.server.set {
            let new = set(json);
            let old = self.sets.add(set(json)).unwrap().old;
            self.woken.push(match old {
                Some(old) => self.controller.handle_set_updated(&old, &new),
                None => self.controller.handle_set_added(&new),
            });
        } else if let Some(old) = self.sets.remove("shop/web") {
            self.woken.push(self.controller.handle_set_deleted(&old));
        }
        self.caches_at(self.server.version);
    }

    /// Changes the set on the server.
    pub(super) fn change_set(&mut self, more: Value) {
        self.server.version += 1;
        let set = self.server.set.as_mut().unwrap();
        merge(set, more);
        set["metadata"]["resourceVersion"] = json!(self.server.version.to_string());
    }

    /// Changes a pod on the server.
    pub(super) fn change_pod(&mut self, name: &str, more: Value) {
        self.server.version += 1;
        let pod = self.server.pods.get_mut(name).unwrap();
        merge(pod, more);
        pod["metadata"]["resourceVersion"] = json!(self.server.version.to_string());
    }
}

impl Server {
    pub(super) fn refuse(&mut self, method: Method, path: &str, code: u16, status: Value) {
        self.refusals.push((method, path.into(), answer(code, &status)));
    }

    /// Refuses all requests of a method but the first few.
    pub(super) fn refuse_after(&mut self, method: Method, count: usize, code: u16, status: Value) {
        self.limit = Some((method, count, answer(code, &status)));
    }

    pub(super) fn fail(&mut self, method: Method, path: &str, failure: Failure) {
        self.refusals.push((method, path.into(), Outcome::Failed(failure)));
    }

    pub(super) fn handle(&mut self, request: Request) -> Outcome {
        self.requests.push(request.clone());
        let fits = |(method, path, _): &&(Method, String, Outcome)| {
            *method == request.method && request.path.contains(path.as_str())
        };
        if let Some((_, _, outcome)) = self.refusals.iter().find(fits) {
            return outcome.clone();
        }
        if let Some((method, left, outcome)) = &mut self.limit
            && *method == request.method
        {
            if *left == 0 {
                return outcome.clone();
            }
            *left -= 1;
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let name = request.path.rsplit('/').next().unwrap();
        let not_found =
            || answer(404, &json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}));
        match request.method {
            Method::Get => self.set.as_ref().map_or_else(not_found, |set| answer(200, set)),
            Method::Put => {
                let Some(set) = &mut self.set else { return not_found() };
                if body["metadata"]["resourceVersion"] != set["metadata"]["resourceVersion"] {
                    return answer(
                        409,
                        &json!({"kind": "Status", "code": 409, "reason": "Conflict", "message": "conflict"}),
                    );
                }
                self.version += 1;
                set["status"] = body["status"].clone();
                set["metadata"]["resourceVersion"] = json!(self.version.to_string());
                answer(200, set)
            }
            Method::Post => {
                self.version += 1;
                self.made += 1;
                let name = format!("{}{:05}", body["metadata"]["generateName"].as_str().unwrap(), self.made);
                let mut pod = body;
                merge(
                    &mut pod,
                    json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
                        "resourceVersion": self.version.to_string(), "creationTimestamp": self.now.to_string()}, "status": {"phase": "Pending"}}),
                );
                self.pods.insert(name, pod.clone());
                answer(201, &pod)
            }
            Method::Delete => {
                let Some(pod) = self.pods.get(name) else { return not_found() };
                let wanted = &body["preconditions"];
                if wanted["uid"] != pod["metadata"]["uid"]
                    || wanted["resourceVersion"] != pod["metadata"]["resourceVersion"]
                {
                    return answer(
                        409,
                        &json!({"kind": "Status", "code": 409, "reason": "Conflict", "message": "Precondition failed"}),
                    );
                }
                self.version += 1;
                let mut pod = self.pods.remove(name).unwrap();
                pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
                answer(200, &pod)
            }
            Method::Patch => {
                let Some(pod) = self.pods.get_mut(name) else { return not_found() };
                assert_eq!(body["metadata"]["uid"], pod["metadata"]["uid"]);
                self.version += 1;
                let mut owners = pod["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                for owner in body["metadata"]["ownerReferences"].as_array().unwrap() {
                    if owner["$patch"] == "delete" {
                        owners.retain(|old| old["uid"] != owner["uid"]);
                    } else {
                        owners.push(owner.clone());
                    }
                }
                pod["metadata"]["ownerReferences"] = json!(owners);
                pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
                answer(200, pod)
            }
        }
    }
}

pub(super) fn answer(code: u16, body: &Value) -> Outcome {
    Outcome::Response(Response { head: Head::new(code), body: body.to_string().into_bytes() })
}

/// The words of events, sorted.
pub(super) fn words(events: &[Event]) -> Vec<String> {
    let mut words: Vec<String> = events.iter().map(|event| format!("{}: {}", event.reason, event.message)).collect();
    words.sort();
    words
}
