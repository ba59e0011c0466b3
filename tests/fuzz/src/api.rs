//! Requests into the in-memory API server.

use std::time::Duration;

use jiff::Timestamp;
use sanskube::limits::Limits;
use sanskube::object::{Common, Decode as _, Object as _, Pod, Resource, Shared};
use sanskube::wire::{ListBody, ProtobufListBody};
use sanskube_apiserver::{ApiServer, Config, Now, Reply, Request, RequestReader, Response, WatchId};
use serde_json::{Value, json};

use crate::choices::{Choices, pieces};

/// When everything begins.
pub(crate) const START: Now = Now { monotonic: Duration::ZERO, wall: Timestamp::constant(1_800_000_000, 0) };

/// What is written to here; namespaces alone are only read.
const COLLECTIONS: [&str; 8] = [
    "/api/v1/pods",
    "/api/v1/replicationcontrollers",
    "/api/v1/configmaps",
    "/api/v1/events",
    "/api/v1/nodes",
    "/apis/apps/v1/replicasets",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
];

/// Whatever bytes come on a connection, however they are cut, each request has its answer, and what is stored can be read.
pub fn api_requests(input: &[u8]) {
    let mut choices = Choices::new(input);
    let cuts = choices.take(8);
    let bytes = choices.rest();
    let whole = Connection::new().serve(&[bytes]);
    let pieced = Connection::new().serve(&pieces(bytes, &mut Choices::new(cuts)));
    assert!(whole == pieced, "{whole:?}\n{pieced:?}");
}

/// One connection, the server behind it, and what was answered.
struct Connection {
    api: ApiServer,
    now: Now,
    watches: Vec<WatchId>,
    answers: Vec<Vec<u8>>,
}

impl Connection {
    fn new() -> Self {
        Self { api: populated(), now: START, watches: Vec::new(), answers: Vec::new() }
    }

    fn serve(mut self, pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut reader = RequestReader::default();
        let mut input = Vec::new();
        'bytes: for piece in pieces {
            input.extend_from_slice(piece);
            loop {
                match reader.take(&mut input) {
                    Ok(Some(incoming)) => self.answer(&incoming.request),
                    Ok(None) => break,
                    Err(bad) => {
                        assert!((400..600).contains(&bad.0));
                        break 'bytes;
                    }
                }
            }
        }
        check_store(&mut self.api, self.now);
        self.answers
    }

    fn answer(&mut self, request: &Request) {
        let before = self.api.resource_version();
        match self.api.handle_request(self.now, request) {
            Reply::Response(response) | Reply::Delayed { response, .. } => self.answers.push(checked(response)),
            Reply::Watch { id, head } => {
                assert_eq!(head.status, 200);
                self.watches.push(id);
            }
            Reply::Hangup => panic!("no fault was asked for"),
        }
        assert!(self.api.resource_version() >= before, "versions grow");
        self.now = self.now.later(Duration::from_secs(1));
        if self.api.poll_deadline().is_some_and(|at| at <= self.now.monotonic) {
            self.api.handle_timeout(self.now);
            assert!(self.api.poll_deadline().is_none_or(|at| at > self.now.monotonic), "what is due is done");
        }
        while let Some(id) = self.api.poll_ready() {
            let mut frames = Vec::new();
            self.api.poll_watch(id, self.now, 64 << 10, &mut frames);
            assert!(self.watches.contains(&id));
            self.answers.push(frames);
        }
    }
}

/// What was answered, if it is what an answer may be.
fn checked(response: Response) -> Vec<u8> {
    assert!((200..600).contains(&response.status), "{response:?}");
    let is_json = response.header("content-type").is_some_and(|text| text.starts_with("application/json"));
    if is_json && response.header("content-encoding").is_none() && !response.body.is_empty() {
        let body = response.json().unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(&response.body)));
        let says_status = body["kind"] == "Status" && body["status"] == "Failure";
        assert!(!says_status || body["code"] == response.status, "{body}");
        assert!(response.status < 400 || says_status || body.get("kind").is_none(), "{body}");
    }
    let mut answer = response.status.to_string().into_bytes();
    answer.extend_from_slice(&response.body);
    answer
}

fn send(api: &mut ApiServer, now: Now, request: &Request) -> Response {
    match api.handle_request(now, request) {
        Reply::Response(response) | Reply::Delayed { response, .. } => response,
        other => panic!("{request:?}: {other:?}"),
    }
}

/// Checks that all that is stored can be listed, that pods are the same in both encodings, and that writing an object as it is does not change it.
fn check_store(api: &mut ApiServer, now: Now) {
    check_pods(api, now);
    for collection in COLLECTIONS {
        let list = send(api, now, &Request::get(collection));
        assert_eq!(list.status, 200, "{collection}");
        let list = list.json().expect("a list is JSON");
        for item in list["items"].as_array().expect("a list has items") {
            let metadata = &item["metadata"];
            let text = |field: &str| metadata[field].as_str().unwrap_or_default();
            let (base, plural) = collection.rsplit_once('/').expect("a collection has a path");
            let path = match text("namespace") {
                "" => format!("{collection}/{}", text("name")),
                namespace => format!("{base}/namespaces/{namespace}/{plural}/{}", text("name")),
            };
            check_rewrite(api, now, &path, text("resourceVersion"), "application/json");
            if !collection.contains("apiextensions") {
                check_rewrite(api, now, &path, text("resourceVersion"), PROTOBUF);
            }
        }
    }
}

/// Checks that the core finds the same pods in a list in JSON and in one in protobuf.
fn check_pods(api: &mut ApiServer, now: Now) {
    let request = Request::get("/api/v1/pods");
    let mut shared = Shared::default();
    let common = &mut Common::new(&mut shared);
    let body = send(api, now, &request).body;
    let (mut list, mut piece, mut pods) = (ListBody::new(&Limits::default()), &*body, Vec::new());
    while let Some(item) = list.next_item(&mut piece).expect("a list is read") {
        pods.push(Pod::decode(item, &Resource::PODS).expect("a pod is read"));
    }
    let meta = list.finish().expect("a list is whole");
    let body = send(api, now, &request.with_header("accept", PROTOBUF)).body;
    let (mut list, mut piece, mut nth) = (ProtobufListBody::new(&Limits::default()), &*body, 0);
    while let Some(message) = list.next_item(&mut piece).expect("a list is read") {
        let pod = Pod::decode_protobuf(message, &Resource::PODS, common).expect("a pod is read");
        assert!(pods[nth].is_same(&pod), "{:?}\n{pod:?}", pods[nth]);
        nth += 1;
    }
    assert_eq!((list.finish(), nth), (Ok(meta), pods.len()));
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn check_rewrite(api: &mut ApiServer, now: Now, path: &str, version: &str, media: &str) {
    let object = send(api, now, &Request::get(path).with_header("accept", media));
    assert_eq!(object.status, 200, "{path}");
    let answer = send(api, now, &Request::new("PUT", path).with_body(media, object.body.clone()));
    let body = answer.json().expect("an answer is JSON");
    // What a binding brings is taken as it is (`ValidatePodBinding`, `setPodNodeAndMetadata`), even if no pod could be written with it.
    let causes = body["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if path.contains("/pods/") && answer.status == 422 && !causes.is_empty() && causes.iter().all(of_binding) {
        return;
    }
    assert_eq!(
        (answer.status, body["metadata"]["resourceVersion"].as_str()),
        (200, Some(version)),
        "{path} as {media}: {body}\n{}",
        String::from_utf8_lossy(&object.body)
    );
}

fn of_binding(cause: &Value) -> bool {
    ["spec.nodeName", "metadata.annotations", "metadata.labels"].iter().any(|field| cause["field"] == *field)
}

/// A server with an object of each usual kind.
fn populated() -> ApiServer {
    let mut api = ApiServer::new(Config::default(), START);
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let objects = [
        ("/api/v1/namespaces/default/configmaps", json!({"metadata": {"name": "a"}, "data": {"k": "v"}})),
        ("/api/v1/namespaces/default/pods", json!({"metadata": {"name": "a"}, "spec": template["spec"]})),
        (
            "/apis/apps/v1/namespaces/default/replicasets",
            json!({"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}),
        ),
    ];
    for (path, object) in objects {
        let request = Request::new("POST", path).with_body("application/json", object.to_string());
        assert_eq!(send(&mut api, START, &request).status, 201, "{path}");
    }
    api
}

/// Where a body is sent.
const PLACES: [(&str, &str); 14] = [
    ("POST", "/api/v1/namespaces/default/configmaps"),
    ("POST", "/api/v1/namespaces/default/pods"),
    ("POST", "/apis/apps/v1/namespaces/default/replicasets"),
    ("POST", "/api/v1/namespaces/default/replicationcontrollers"),
    ("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases"),
    ("POST", "/api/v1/namespaces/default/events"),
    ("POST", "/api/v1/nodes"),
    ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
    ("PUT", "/api/v1/namespaces/default/pods/a"),
    ("PUT", "/apis/apps/v1/namespaces/default/replicasets/a/scale"),
    ("PUT", "/apis/apps/v1/namespaces/default/replicasets/a/status"),
    ("PUT", "/api/v1/namespaces/default/configmaps/a"),
    ("POST", "/api/v1/namespaces/default/pods/a/binding"),
    ("DELETE", "/api/v1/namespaces/default/pods/a"),
];

/// Whatever body is posted or put, it is refused with a status or can be read and written as it is.
pub fn api_bodies(input: &[u8]) {
    let mut choices = Choices::new(input);
    let (method, path) = *choices.pick(&PLACES);
    let media = *choices.pick(&["application/json", "application/yaml"]);
    let query = *choices.pick(&["", "?fieldValidation=Strict", "?dryRun=All", "?fieldValidation=Ignore"]);
    write(method, &format!("{path}{query}"), media, choices.rest());
}

/// The same of patches.
pub fn api_patches(input: &[u8]) {
    const PATHS: [&str; 5] = [
        "/api/v1/namespaces/default/configmaps/a",
        "/api/v1/namespaces/default/pods/a",
        "/apis/apps/v1/namespaces/default/replicasets/a",
        "/apis/apps/v1/namespaces/default/replicasets/a/status",
        "/apis/apps/v1/namespaces/default/replicasets/a/scale",
    ];
    const MEDIA: [&str; 4] = [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ];
    let mut choices = Choices::new(input);
    let path = *choices.pick(&PATHS);
    let media = *choices.pick(&MEDIA);
    let query = *choices.pick(&["", "?fieldManager=m", "?fieldManager=m&force=true", "?fieldManager=m&dryRun=All"]);
    write("PATCH", &format!("{path}{query}"), media, choices.rest());
}

/// The same of bodies in protobuf.
pub fn api_protobuf(input: &[u8]) {
    let mut choices = Choices::new(input);
    let (method, path) = *choices.pick(&PLACES);
    write(method, path, PROTOBUF, choices.rest());
}

fn write(method: &str, path: &str, media: &str, body: &[u8]) {
    let mut api = populated();
    let request = Request::new(method, path).with_body(media, body);
    checked(send(&mut api, START, &request));
    check_store(&mut api, START);
    // As does one that comes once more, and an object that is waited for by its finalizers.
    checked(send(&mut api, START, &request));
}
