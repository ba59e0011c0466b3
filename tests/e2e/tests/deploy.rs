//! The deployment's manifest: its flags are ours, and its pods can be run.

use std::collections::BTreeSet;
use std::path::Path;

use sanskube_apiserver::Request;
use sanskube_e2e::cluster::{Cluster, REPLICA_SETS};
use sanskube_e2e::http::get;
use sanskube_e2e::kubectl::Kubectl;
use sanskube_e2e::process::{Process, wait_until};
use sanskube_e2e::soak::status_address;
use serde_json::{Value, json};

const SANSKUBE: &str = env!("CARGO_BIN_EXE_sanskube-under-test");

fn manifest(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapter-blocking/deploy").join(name);
    let text = std::fs::read_to_string(path).expect("it is part of the project");
    let documents = text.split("\n---\n");
    documents.map(|text| serde_saphyr::from_str(text).expect("it is YAML")).collect()
}

#[test]
fn its_flags_make_a_controller_that_answers_its_probes() {
    let deployment = manifest("deployment.yaml").remove(0);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().expect("there are arguments");
    let mut args: Vec<String> = args.iter().map(|arg| arg.as_str().expect("they are texts").to_owned()).collect();
    let bind = args.iter_mut().find(|arg| arg.starts_with("--metrics-bind-address=")).expect("it has probes");
    let port = container["ports"][0]["containerPort"].as_u64().expect("it has a port");
    assert!(bind.ends_with(&format!(":{port}")));
    // Here the port may be taken.
    *bind = "--metrics-bind-address=127.0.0.1:0".into();
    let cluster = Cluster::start();
    let url = cluster.server.url();
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["--server", &url]).collect();
    let mut process = Process::start(SANSKUBE, &args);
    process.wait_for("health and metrics at");
    let said: Value = process
        .said
        .iter()
        .find_map(|line| {
            let line: Value = serde_json::from_str(line).expect("every line is an object");
            line["msg"].as_str().is_some_and(|msg| msg.starts_with("health")).then_some(line)
        })
        .expect("it was just said");
    process.said.push(said["msg"].as_str().expect("it is a text").to_owned());
    process.said.retain(|line| !line.starts_with('{'));
    let address = status_address(&mut process);
    for probe in ["livenessProbe", "readinessProbe"] {
        let path = container[probe]["httpGet"]["path"].as_str().expect("it asks for a page");
        wait_until(probe, || get(address, path).is_ok_and(|(status, _)| status == 200).then_some(()));
    }
}

#[test]
fn its_pods_are_valid_and_its_names_go_together() {
    let deployment = manifest("deployment.yaml").remove(0);
    let (rbac, account) = (manifest("rbac.yaml"), manifest("serviceaccount.yaml").remove(0));
    let template = &deployment["spec"]["template"];
    assert_eq!(template["spec"]["serviceAccountName"], account["metadata"]["name"]);
    for binding in rbac.iter().filter(|object| object["kind"].as_str().is_some_and(|kind| kind.ends_with("Binding"))) {
        let role = |object: &&Value| object["metadata"]["name"] == binding["roleRef"]["name"];
        assert!(rbac.iter().filter(|object| object["kind"] == binding["roleRef"]["kind"]).any(|object| role(&object)));
        assert_eq!(binding["subjects"][0]["name"], account["metadata"]["name"]);
        assert_eq!(binding["subjects"][0]["namespace"], account["metadata"]["namespace"]);
    }
    // The in-memory server knows no deployments; what a deployment makes is a set of this template.
    let cluster = Cluster::start();
    let spec = json!({"replicas": deployment["spec"]["replicas"], "selector": deployment["spec"]["selector"], "template": template});
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "sanskube"}, "spec": spec});
    let path = REPLICA_SETS.replace("default", "kube-system");
    cluster.ask(
        &Request::new("POST", &format!("{path}?fieldValidation=Strict")).with_body("application/json", set.to_string()),
    );
    let (status, said) = Process::start(SANSKUBE, &["run", "--once", "--server", &cluster.server.url()]).finish();
    assert!(status.success(), "{said:#?}");
    assert_eq!(cluster.get(&format!("{path}/sanskube"))["status"]["availableReplicas"], 2);
}

#[test]
fn kubectl_applies_the_manifests_and_finds_nothing_to_change_the_second_time() {
    let Some(kubectl) = Kubectl::start() else { return };
    kubectl.cluster.server.with_api(|api, _| KINDS.iter().for_each(|kind| api.serve_kind(&kind.spec())));
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapter-blocking/deploy");
    let directory = directory.to_str().expect("the folder has a plain name");
    let objects = ["serviceaccount.yaml", "rbac.yaml", "deployment.yaml"].map(manifest).concat();
    let lines = |verb: &str| {
        let line = |object: &Value| {
            let (group, _) = object["apiVersion"].as_str()?.rsplit_once('/').unwrap_or_default();
            let dot = if group.is_empty() { "" } else { "." };
            let kind = object["kind"].as_str()?.to_lowercase();
            Some(format!("{kind}{dot}{group}/{} {verb}", object["metadata"]["name"].as_str()?))
        };
        objects.iter().map(|object| line(object).expect("an object has a kind and a name")).collect::<BTreeSet<_>>()
    };
    let apply = |how: &str| {
        let said = kubectl.run_with(&format!("apply {how} -f"), &[directory]);
        said.lines().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(apply(""), lines("created"));
    assert_eq!(apply(""), lines("unchanged"));
    assert_eq!(apply("--server-side --force-conflicts"), lines("serverside-applied"));
    let kept = kubectl.cluster.get("/apis/apps/v1/namespaces/kube-system/deployments/sanskube");
    assert_eq!(kept["spec"]["replicas"], 2);
}

/// A kind that the manifests have and the in-memory server has not.
struct StoredKind {
    group: &'static str,
    kind: &'static str,
    scope: &'static str,
}

const RBAC: &str = "rbac.authorization.k8s.io";
const KINDS: [StoredKind; 6] = [
    StoredKind { group: "", kind: "ServiceAccount", scope: "Namespaced" },
    StoredKind { group: "apps", kind: "Deployment", scope: "Namespaced" },
    StoredKind { group: RBAC, kind: "ClusterRole", scope: "Cluster" },
    StoredKind { group: RBAC, kind: "ClusterRoleBinding", scope: "Cluster" },
    StoredKind { group: RBAC, kind: "Role", scope: "Namespaced" },
    StoredKind { group: RBAC, kind: "RoleBinding", scope: "Namespaced" },
];

impl StoredKind {
    fn spec(&self) -> Value {
        let singular = self.kind.to_lowercase();
        json!({
            "group": self.group,
            "scope": self.scope,
            "names": {"kind": self.kind, "listKind": format!("{}List", self.kind), "plural": format!("{singular}s"), "singular": singular},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        })
    }
}
