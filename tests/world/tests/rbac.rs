//! The rules of the deployment are those that the controllers need: each request is allowed, and each rule is used.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use sanskube::election;
use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::manager::{Config, Manager};
use sanskube::object::ReplicaSetKind;
use sanskube::request::{Call, Method};
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::faults::{Failure, Rule};
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{Network, World};
use serde_json::{Value, json};

/// Verb, group, resource with subresource, and name where a rule may name one.
type Asked = BTreeSet<[String; 4]>;

/// A manager whose requests are written down.
struct Tap {
    manager: Manager,
    asked: Rc<RefCell<Asked>>,
}

impl Machine for Tap {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        self.manager.handle_input(now, input)
    }

    fn poll_output(&mut self, now: Now) -> Output {
        let output = self.manager.poll_output(now);
        if let Output::Call(call) = &output {
            self.asked.borrow_mut().insert(attributes(call));
        }
        output
    }
}

/// What a server's authorizer looks at (apiserver `pkg/endpoints/request/requestinfo.go`).
fn attributes(call: &Call) -> [String; 4] {
    let path = call.request.path.split('?').next().unwrap();
    let mut parts = path.trim_start_matches('/').split('/');
    let group = if parts.next() == Some("apis") { parts.next().unwrap() } else { "" };
    parts.next();
    let mut parts: Vec<&str> = parts.collect();
    if parts[0] == "namespaces" && parts.len() > 2 {
        parts.drain(..2);
    }
    let name = parts.get(1).copied().unwrap_or_default();
    let resource = parts.get(2).map_or_else(|| parts[0].to_owned(), |sub| format!("{}/{sub}", parts[0]));
    let verb = match call.request.method {
        Method::Delete => "delete",
        Method::Get if call.watch => "watch",
        Method::Get if name.is_empty() => "list",
        Method::Get => "get",
        Method::Patch => "patch",
        Method::Post => "create",
        Method::Put => "update",
    };
    [verb.to_owned(), group.to_owned(), resource, name.to_owned()]
}

fn set(api_version: &str, kind: &str, name: &str, replicas: u32) -> Value {
    let labels = json!({"app": name});
    let selector = if kind == "ReplicaSet" { json!({"matchLabels": labels}) } else { labels.clone() };
    let pod = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "registry.example/a:1"}]}});
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": selector, "template": pod}})
}

/// What controllers ask for in all that can happen to sets.
fn asked() -> Asked {
    let now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
    let server_now = sanskube_apiserver::Now {
        monotonic: Duration::from_secs(1),
        wall: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
    };
    let api = ApiServer::new(sanskube_apiserver::Config::default(), server_now);
    let mut world = World::new(api, Network::new(1, Duration::from_millis(1), Duration::from_millis(4)), now);
    world.set_kubelet(Kubelet::new(KubeletConfig::default()));
    let asked = Rc::<RefCell<Asked>>::default();
    for watch_list in [false, true] {
        let kinds = vec![ReplicaSetKind::ReplicaSet, ReplicaSetKind::ReplicationController];
        let election = Some(election::Config::new("kube-system", "sanskube", format!("{watch_list}")));
        let config = Config { kinds, election, watch_list, ..Config::default() };
        let id = world.start(Tap { manager: Manager::new(&config), asked: Rc::clone(&asked) });
        let ask = |world: &mut World<Tap>, method: &str, path: &str, body: &Value| {
            let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
            let response = world.request(&Request::new(method, path).with_body(kind, body.to_string()));
            assert!(response.status < 300, "{method} {path}: {}", String::from_utf8_lossy(&response.body));
            world.run_for(Duration::from_secs(10));
        };
        for (api_version, kind, plural, path) in [
            ("apps/v1", "ReplicaSet", "replicasets", "/apis/apps/v1/namespaces/default/replicasets"),
            (
                "v1",
                "ReplicationController",
                "replicationcontrollers",
                "/api/v1/namespaces/default/replicationcontrollers",
            ),
        ] {
            let name = format!("{}-{watch_list}", kind.to_lowercase());
            // An orphan to be adopted, then one more pod than wanted, then one that is released.
            let orphan = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{name}-orphan"), "labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "registry.example/a:1"}]}});
            ask(&mut world, "POST", "/api/v1/namespaces/default/pods", &orphan);
            ask(&mut world, "POST", path, &set(api_version, kind, &name, 3));
            ask(&mut world, "PATCH", &format!("{path}/{name}"), &json!({"spec": {"replicas": 1}}));
            ask(&mut world, "PATCH", &format!("{path}/{name}"), &json!({"spec": {"replicas": 2}}));
            // A status that is refused once is written again after a fresh look; an event that is told again is patched.
            let conflict = Rule {
                agent: String::new(),
                method: "PUT".into(),
                target: format!("{plural}/{name}/status"),
                skip: 0,
                times: 1,
                after_effect: false,
                failure: Failure::Status { code: 409, retry_after: None },
            };
            let full = Rule {
                agent: String::new(),
                method: "POST".into(),
                target: "/pods".into(),
                skip: 0,
                times: 4,
                after_effect: false,
                failure: Failure::Status { code: 403, retry_after: None },
            };
            world.api_mut().faults_mut().add_rule(conflict);
            world.api_mut().faults_mut().add_rule(full);
            ask(&mut world, "PATCH", &format!("{path}/{name}"), &json!({"spec": {"replicas": 3}}));
            world.api_mut().faults_mut().clear_rules();
            world.run_for(Duration::from_secs(30));
        }
        world.stop(id);
        world.run_for(Duration::from_secs(5));
    }
    let asked = asked.borrow().clone();
    asked
        .into_iter()
        .map(|[verb, group, resource, name]| {
            let name = if resource == "leases" { name } else { String::new() };
            [verb, group, resource, name]
        })
        .collect()
}

/// What the manifest allows.
fn allowed() -> Asked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapter-blocking/deploy/rbac.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let mut allowed = Asked::new();
    for document in text.split("\n---\n") {
        let role: Value = serde_saphyr::from_str(document).unwrap();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let texts = |field: &str| -> Vec<String> {
                rule[field].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
            };
            let names = if rule["resourceNames"].is_null() { vec![String::new()] } else { texts("resourceNames") };
            for verb in texts("verbs") {
                for group in texts("apiGroups") {
                    for resource in texts("resources") {
                        for name in &names {
                            allowed.insert([verb.clone(), group.clone(), resource.clone(), name.clone()]);
                        }
                    }
                }
            }
        }
    }
    allowed
}

#[test]
fn the_rules_of_the_deployment_are_just_what_is_asked_for() {
    let (asked, allowed) = (asked(), allowed());
    let missing: Vec<_> = asked.difference(&allowed).collect();
    assert!(missing.is_empty(), "not allowed: {missing:?}");
    // Finalizers are not asked for, but looked at when a pod names its owner.
    let unused: Vec<_> =
        allowed.difference(&asked).filter(|[_, _, resource, _]| !resource.ends_with("/finalizers")).collect();
    assert!(unused.is_empty(), "not needed: {unused:?}");
}
