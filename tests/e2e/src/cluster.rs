//! An API server in this process, looked at and acted on without going through HTTP.

use sanskube_apiserver::kubelet::KubeletConfig;
use sanskube_apiserver::{Config, Reply, Request, Server, ServerConfig, Token, WatchState};
use serde_json::{Value, json};

/// The path of the pods that the tests look at.
pub const PODS: &str = "/api/v1/namespaces/default/pods";
/// The path of their sets.
pub const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

/// A running API server with a pretend kubelet.
#[derive(Debug)]
pub struct Cluster {
    /// The server itself.
    pub server: Server,
    /// The token of an administrator, if one is needed.
    token: Option<String>,
}

impl Cluster {
    /// Starts one on a free port.
    pub fn start() -> Self {
        Self::with(ServerConfig::default(), None)
    }

    /// Starts one on this port.
    pub fn start_on(port: u16) -> Self {
        Self::with(ServerConfig { listen: ([127, 0, 0, 1], port).into(), ..ServerConfig::default() }, None)
    }

    /// Starts one for which requests count only with a token, or are those of a stranger who may do nothing.
    pub fn guarded(token: &str, strangers: bool) -> Self {
        let known = Token { token: token.into(), user: "controller".into(), admin: true };
        let api = Config { tokens: vec![known], anonymous: strangers, ..Config::default() };
        Self::with(ServerConfig { api, ..ServerConfig::default() }, Some(token.into()))
    }

    fn with(config: ServerConfig, token: Option<String>) -> Self {
        let kubelet = Some(KubeletConfig::default());
        let server = Server::start(ServerConfig { kubelet, ..config }).expect("the loopback port is free");
        Self { server, token }
    }

    /// What there is at a path.
    pub fn get(&self, path: &str) -> Value {
        self.ask(&Request::get(path))
    }

    /// Creates a ReplicaSet.
    pub fn create_set(&self, name: &str, replicas: u64) {
        let labels = json!({"app": name});
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name},
            "spec": {
                "replicas": replicas, "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
                },
            },
        });
        self.create(REPLICA_SETS, &set);
    }

    /// Creates an object.
    pub fn create(&self, path: &str, object: &Value) {
        self.ask(&Request::new("POST", path).with_body("application/json", object.to_string()));
    }

    /// Sets how many pods a ReplicaSet is to have.
    pub fn scale(&self, name: &str, replicas: u64) {
        let patch = json!({"spec": {"replicas": replicas}}).to_string();
        let request = Request::new("PATCH", &format!("{REPLICA_SETS}/{name}"));
        self.ask(&request.with_body("application/merge-patch+json", patch));
    }

    /// How many requests were answered so far.
    pub fn requests(&self) -> u64 {
        self.server.with_api(|api, _| api.stats().requests)
    }

    /// The uids of the pods, sorted.
    pub fn pod_uids(&self) -> Vec<String> {
        let list = self.get(PODS);
        let items = list["items"].as_array().expect("a list has items");
        let mut uids: Vec<_> = items.iter().map(|pod| pod["metadata"]["uid"].to_string()).collect();
        uids.sort();
        uids
    }

    /// How many pods of a set are available, as its status says.
    pub fn available(&self, set: &str) -> u64 {
        self.get(&format!("{REPLICA_SETS}/{set}"))["status"]["availableReplicas"].as_u64().unwrap_or_default()
    }

    /// What has happened to pods since a version, as a watch tells it.
    pub fn pod_events(&self, since: u64) -> Vec<Value> {
        let request = self.sign(Request::get(&format!("{PODS}?watch=1&resourceVersion={since}")));
        let mut bytes = Vec::new();
        self.server.with_api(|api, now| {
            let Reply::Watch { id, .. } = api.handle_request(now, &request) else { panic!("{request:?} is a watch") };
            while api.poll_watch(id, now, usize::MAX, &mut bytes) == WatchState::More {}
        });
        let frames = bytes.split(|byte| *byte == b'\n').filter(|frame| !frame.is_empty());
        frames.map(|frame| serde_json::from_slice(frame).expect("events are JSON")).collect()
    }

    /// The version of the newest change.
    pub fn version(&self) -> u64 {
        self.server.with_api(|api, _| api.resource_version())
    }

    /// The answer to a request that succeeds.
    pub fn ask(&self, request: &Request) -> Value {
        let request = self.sign(request.clone());
        let reply = self.server.with_api(|api, now| api.handle_request(now, &request));
        let Reply::Response(response) = reply else { panic!("{request:?} has an answer at once, not {reply:?}") };
        assert!((200..300).contains(&response.status), "{request:?}: {}", String::from_utf8_lossy(&response.body));
        serde_json::from_slice(&response.body).expect("answers are JSON")
    }

    fn sign(&self, request: Request) -> Request {
        match &self.token {
            Some(token) => request.with_header("authorization", &format!("Bearer {token}")),
            None => request,
        }
    }
}
