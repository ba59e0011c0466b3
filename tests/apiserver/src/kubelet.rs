//! A pretend scheduler and kubelet: binds pods, makes them run and ready after small delays, and
//! finishes their deletion. It uses the API server as any client would.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::request::{Request, Response};
use crate::server::{ApiServer, Reply};
use crate::time::{Now, rfc3339};
use crate::watch::{WatchId, WatchState};

/// Settings of a [`Kubelet`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletConfig {
    /// How many nodes there are, named `node-0`, `node-1`, ….
    pub nodes: usize,
    /// From the creation of a pod to its binding.
    pub bind_after: Duration,
    /// From the binding to the phase Running.
    pub run_after: Duration,
    /// From Running to the condition Ready. Zero: a pod is both in one step.
    pub ready_after: Duration,
    /// From the deletion of a bound pod to its end.
    pub terminate_after: Duration,
}

impl Default for KubeletConfig {
    fn default() -> Self {
        Self {
            nodes: 3,
            bind_after: Duration::from_millis(20),
            run_after: Duration::from_millis(50),
            ready_after: Duration::from_millis(50),
            terminate_after: Duration::from_millis(100),
        }
    }
}

/// Namespace and name.
type PodKey = (String, String);

/// What a pod waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Bind,
    Run,
    Ready,
    Terminate,
}

/// What is read of an event of the watch.
#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "type")]
    kind: String,
    object: Seen,
}

#[derive(Deserialize)]
struct Seen {
    kind: String,
    #[serde(default)]
    metadata: SeenMetadata,
    #[serde(default)]
    spec: SeenSpec,
    #[serde(default)]
    status: SeenStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SeenMetadata {
    namespace: String,
    name: String,
    uid: String,
    deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SeenSpec {
    node_name: String,
    scheduling_gates: Option<IgnoredAny>,
    containers: Vec<SeenContainer>,
}

#[derive(Deserialize)]
struct SeenContainer {
    #[serde(default)]
    name: String,
    #[serde(default)]
    image: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SeenStatus {
    phase: String,
    conditions: Vec<SeenCondition>,
}

#[derive(Deserialize)]
struct SeenCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

#[derive(Debug)]
struct Pod {
    uid: String,
    step: Step,
    at: Duration,
    node: String,
    containers: Vec<(String, String)>,
}

/// A pretend scheduler and kubelet of all nodes.
#[derive(Debug)]
pub struct Kubelet {
    config: KubeletConfig,
    watch: Option<WatchId>,
    /// No other watch is opened before this time.
    next_watch: Duration,
    pods: BTreeMap<PodKey, Pod>,
    /// When each of them is due.
    due: BTreeSet<(Duration, PodKey)>,
    paused: bool,
    next_node: usize,
    next_ip: u32,
    registered: bool,
}

impl Kubelet {
    /// A kubelet that has seen no pod yet.
    #[must_use]
    pub fn new(config: KubeletConfig) -> Self {
        Self {
            config,
            watch: None,
            next_watch: Duration::ZERO,
            pods: BTreeMap::new(),
            due: BTreeSet::new(),
            paused: false,
            next_node: 0,
            next_ip: 1,
            registered: false,
        }
    }

    /// Does nothing until it is resumed; what became due meanwhile is done then.
    pub fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// The watch it reads, so that a front knows whom to call when [`ApiServer::poll_ready`] names it.
    #[must_use]
    pub fn watch(&self) -> Option<WatchId> {
        self.watch
    }

    /// When [`Self::handle_timeout`] has something to do next.
    #[must_use]
    pub fn poll_deadline(&self) -> Option<Duration> {
        if self.paused {
            return None;
        }
        let watch = self.watch.is_none().then_some(self.next_watch);
        [watch, self.due.first().map(|(at, _)| *at)].into_iter().flatten().min()
    }

    /// Reads what happened to pods, and does what is due. Calling it early is harmless.
    pub fn handle_timeout(&mut self, now: Now, api: &mut ApiServer) {
        if !self.registered {
            self.registered = true;
            self.register_nodes(now, api);
        }
        self.read(now, api);
        if self.paused {
            return;
        }
        let due: Vec<PodKey> =
            self.due.iter().take_while(|(at, _)| *at <= now.monotonic).map(|(_, key)| key.clone()).collect();
        for key in due {
            self.act(now, api, &key);
        }
        self.read(now, api);
    }

    /// Makes a pod fail, as an eviction by the kubelet does. Whether the pod was there.
    pub fn fail_pod(&mut self, now: Now, api: &mut ApiServer, namespace: &str, name: &str, reason: &str) -> bool {
        let status = json!({ "status": {
            "phase": "Failed", "reason": reason, "message": "The pod was failed on purpose.",
            "conditions": [{ "type": "Ready", "status": "False", "lastTransitionTime": rfc3339(now.wall) }],
        } });
        let key = (namespace.to_owned(), name.to_owned());
        // It will not run any more, but if it is to end it still ends.
        if self.pods.get(&key).is_some_and(|pod| pod.step != Step::Terminate) {
            self.forget(&key);
        }
        let response = patch_status(now, api, namespace, name, &status);
        response.is_some_and(|r| r.status == 200)
    }

    fn register_nodes(&self, now: Now, api: &mut ApiServer) {
        for i in 0..self.config.nodes {
            let name = format!("node-{i}");
            let resources = json!({ "cpu": "8", "memory": "16Gi", "pods": "1000" });
            let node = json!({
                "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" } },
                "status": {
                    "capacity": resources, "allocatable": resources,
                    "nodeInfo": { "kubeletVersion": "v1.36.2", "osImage": "sanskube", "containerRuntimeVersion": "pretend://1" },
                    "addresses": [{ "type": "InternalIP", "address": node_address(&name) }, { "type": "Hostname", "address": name }],
                },
            });
            send(now, api, "POST", "/api/v1/nodes", "application/json", &node);
            let time = rfc3339(now.wall);
            let ready = json!({ "status": { "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
                "lastHeartbeatTime": time, "lastTransitionTime": time,
            }] } });
            let target = format!("/api/v1/nodes/{name}/status");
            send(now, api, "PATCH", &target, STRATEGIC, &ready);
            let taints = json!({ "spec": { "taints": null } });
            send(now, api, "PATCH", &format!("/api/v1/nodes/{name}"), "application/merge-patch+json", &taints);
        }
    }

    /// Follows the pods; a watch that ended is opened again, but not at once if it did not last. What pods wait for goes on meanwhile.
    fn read(&mut self, now: Now, api: &mut ApiServer) {
        loop {
            let id = match self.watch {
                Some(id) => id,
                None if now.monotonic < self.next_watch => return,
                None => {
                    self.next_watch = now.monotonic + BETWEEN_WATCHES;
                    let target = "/api/v1/pods?watch=true&timeoutSeconds=86400";
                    let request = Request::get(target).with_header("user-agent", AGENT);
                    match api.handle_request(now, &request) {
                        Reply::Watch { id, .. } => *self.watch.insert(id),
                        _ => return,
                    }
                }
            };
            let mut frames = Vec::new();
            let state = api.poll_watch(id, now, 1 << 20, &mut frames);
            for line in frames.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
                if let Ok(frame) = serde_json::from_slice(line) {
                    self.observe(now, frame);
                }
            }
            match state {
                WatchState::Open => return,
                WatchState::More => {}
                WatchState::Ended | WatchState::Cut => self.watch = None,
            }
        }
    }

    fn observe(&mut self, now: Now, Frame { kind, object }: Frame) {
        let Seen { kind: of, metadata, spec, status } = object;
        let key = (metadata.namespace, metadata.name);
        if kind == "DELETED" || of != "Pod" {
            self.forget(&key);
            return;
        }
        let uid = metadata.uid;
        let bound = !spec.node_name.is_empty();
        let ready = status.conditions.iter().any(|c| c.kind == "Ready" && c.status == "True");
        let gated = spec.scheduling_gates.is_some();
        let deleting = metadata.deletion_timestamp.is_some();
        let step = match (deleting, bound, status.phase.as_str()) {
            (true, true, _) => Some((Step::Terminate, self.config.terminate_after)),
            (true, false, _) | (_, _, "Failed" | "Succeeded") => None,
            (_, false, _) if gated => None,
            (_, false, _) => Some((Step::Bind, self.config.bind_after)),
            (_, true, "Pending") => Some((Step::Run, self.config.run_after)),
            (_, true, _) if !ready => Some((Step::Ready, self.config.ready_after)),
            _ => None,
        };
        let Some((step, delay)) = step else {
            self.forget(&key);
            return;
        };
        if self.pods.get(&key).is_some_and(|p| p.uid == uid && p.step == step) {
            return;
        }
        let containers = spec.containers.into_iter().map(|c| (c.name, c.image)).collect();
        self.forget(&key);
        self.plan(key, Pod { uid, step, at: now.monotonic + delay, node: spec.node_name, containers });
    }

    fn plan(&mut self, key: PodKey, pod: Pod) {
        self.due.insert((pod.at, key.clone()));
        self.pods.insert(key, pod);
    }

    fn forget(&mut self, key: &PodKey) -> Option<Pod> {
        let pod = self.pods.remove(key)?;
        self.due.remove(&(pod.at, key.clone()));
        Some(pod)
    }

    fn act(&mut self, now: Now, api: &mut ApiServer, key: &PodKey) {
        let Some(pod) = self.forget(key) else {
            return;
        };
        let (namespace, name) = (key.0.as_str(), key.1.as_str());
        let time = rfc3339(now.wall);
        let response = match pod.step {
            Step::Bind => {
                let node = format!("node-{}", self.next_node % self.config.nodes.max(1));
                self.next_node += 1;
                let binding = json!({ "metadata": { "name": name }, "target": { "kind": "Node", "name": node } });
                let target = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
                send(now, api, "POST", &target, "application/json", &binding)
            }
            Step::Run | Step::Ready => {
                let (first, ready) =
                    (pod.step == Step::Run, pod.step == Step::Ready || self.config.ready_after.is_zero());
                let ip = self.next_ip;
                self.next_ip += u32::from(first);
                let statuses: Vec<Value> = pod
                    .containers
                    .iter()
                    .map(|(name, image)| {
                        json!({
                            "name": name, "image": image, "imageID": image, "ready": ready, "started": true,
                            "restartCount": 0, "state": { "running": { "startedAt": time } }, "lastState": {},
                        })
                    })
                    .collect();
                let condition = |kind: &str, on: bool| json!({ "type": kind, "status": if on { "True" } else { "False" }, "lastTransitionTime": time });
                let mut status = json!({
                    "phase": "Running",
                    "conditions": [
                        condition("Initialized", true),
                        condition("Ready", ready),
                        condition("ContainersReady", ready),
                    ],
                    "containerStatuses": statuses,
                });
                if first {
                    let address = format!("10.{}.{}.{}", ip >> 16 & 255, ip >> 8 & 255, ip & 255);
                    status["startTime"] = time.clone().into();
                    status["podIP"] = address.clone().into();
                    status["podIPs"] = json!([{ "ip": address }]);
                    let host = node_address(&pod.node);
                    status["hostIP"] = host.clone().into();
                    status["hostIPs"] = json!([{ "ip": host }]);
                }
                let uid = json!({ "metadata": { "uid": pod.uid }, "status": status });
                patch_status(now, api, namespace, name, &uid)
            }
            Step::Terminate => {
                let options = json!({ "gracePeriodSeconds": 0, "preconditions": { "uid": pod.uid } });
                let target = format!("/api/v1/namespaces/{namespace}/pods/{name}");
                send(now, api, "DELETE", &target, "application/json", &options)
            }
        };
        // What the server could not do now is tried again; what it refuses is told by an event, if it was ever to be done.
        if response.is_none_or(|response| response.status == 429 || response.status >= 500) {
            self.plan(key.clone(), Pod { at: now.monotonic + BETWEEN_TRIES, ..pod });
        }
    }
}

/// The address of a node; one that this kubelet has not registered has the last one.
fn node_address(node: &str) -> String {
    let number = node.strip_prefix("node-").and_then(|number| number.parse::<u64>().ok());
    format!("192.0.2.{}", number.map_or(254, |number| number % 250 + 1))
}

/// The least time from one watch to the next.
const BETWEEN_WATCHES: Duration = Duration::from_millis(100);
/// From a request that failed to the same once more.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
const AGENT: &str = "kubelet/v1.36.2";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

fn patch_status(now: Now, api: &mut ApiServer, namespace: &str, name: &str, body: &Value) -> Option<Response> {
    let target = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
    send(now, api, "PATCH", &target, STRATEGIC, body)
}

fn send(now: Now, api: &mut ApiServer, method: &str, target: &str, content: &str, body: &Value) -> Option<Response> {
    let request = Request::new(method, target).with_header("user-agent", AGENT).with_body(content, body.to_string());
    match api.handle_request(now, &request) {
        Reply::Response(response) | Reply::Delayed { response, .. } => Some(response),
        Reply::Hangup | Reply::Watch { .. } => None,
    }
}
