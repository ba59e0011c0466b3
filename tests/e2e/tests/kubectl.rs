//! The API server as kubectl sees it.

use sanskube_e2e::kubectl::Kubectl;
use sanskube_e2e::process::Process;

const SANSKUBE: &str = env!("CARGO_BIN_EXE_sanskube-under-test");

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: web}}
spec: {containers: [{name: main, image: 'registry.example/main:1'}]}
";

const SET: &str = "
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: 'registry.example/main:1'}]}
";

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              cronSpec: {type: string, description: When it is run.}
              replicas: {type: integer}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Spec, type: string, jsonPath: .spec.cronSpec}
";

const TAB: &str = "
apiVersion: stable.example.com/v1
kind: CronTab
metadata: {name: a}
spec: {cronSpec: '5 * * * *', replicas: 1}
";

/// The lines of a table, their columns set apart by single spaces.
fn rows(table: &str) -> Vec<String> {
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn pods_are_got_in_every_form() {
    let Some(kubectl) = Kubectl::start() else { return };
    let file = kubectl.manifest("pod.yaml", POD);
    assert_eq!(kubectl.run(&format!("create -f {file}")), "pod/one created\n");
    kubectl.run("wait --for=condition=Ready pod/one --timeout=30s");
    assert_eq!(
        kubectl.run("get pods --no-headers").split_whitespace().take(4).collect::<Vec<_>>(),
        ["one", "1/1", "Running", "0"]
    );
    assert!(rows(&kubectl.run("get pods -o wide"))[0].starts_with("NAME READY STATUS RESTARTS AGE IP NODE"));
    assert_eq!(kubectl.run("get pods -o name"), "pod/one\n");
    assert_eq!(kubectl.run("get pod one -o jsonpath={.spec.containers[0].image}"), "registry.example/main:1");
    assert!(kubectl.run("get pod one -o yaml").contains("\n  phase: Running\n"));
    let list: serde_json::Value = serde_json::from_str(&kubectl.run("get pods -o json")).expect("it is JSON");
    assert_eq!(list["items"][0]["metadata"]["name"], "one");
    for (some, none) in
        [("-l app=web", "-l app=db"), ("--field-selector=status.phase=Running", "--field-selector=status.phase=Failed")]
    {
        assert_eq!(kubectl.run(&format!("get pods -o name {some}")), "pod/one\n");
        assert_eq!(kubectl.run(&format!("get pods -o name {none}")), "");
    }
    assert!(rows(&kubectl.run("get pods -A"))[1].starts_with("default one 1/1 Running"));
    assert_eq!(kubectl.fail("get pod two"), "Error from server (NotFound): pods \"two\" not found\n");
    assert!(kubectl.fail("get deployments").contains("doesn't have a resource type \"deployments\""));
}

#[test]
fn a_watch_prints_what_happens() {
    let Some(kubectl) = Kubectl::start() else { return };
    let mut watch = kubectl.spawn("get pods -w");
    let mut everywhere = kubectl.spawn("get pods -A -w --output-watch-events");
    let file = kubectl.manifest("pod.yaml", POD);
    kubectl.run(&format!("create -f {file}"));
    watch.wait_for("Running");
    everywhere.wait_for("ADDED");
    assert!(rows(&watch.said.join("\n")).iter().any(|row| row == "NAME READY STATUS RESTARTS AGE"), "{:?}", watch.said);
    kubectl.run("delete pod one --now");
    everywhere.wait_for("DELETED");
}

#[test]
fn objects_are_described() {
    let Some(kubectl) = Kubectl::start() else { return };
    let (pod, set) = (kubectl.manifest("pod.yaml", POD), kubectl.manifest("set.yaml", SET));
    kubectl.run(&format!("create -f {pod} -f {set}"));
    kubectl.run("wait --for=condition=Ready pod/one --timeout=30s");
    let described = kubectl.run("describe pod one");
    for line in ["Status: Running", "Labels: app=web", "Ready True"] {
        assert!(rows(&described).iter().any(|row| row == line), "{line}: {described}");
    }
    assert!(rows(&kubectl.run("describe rs web")).contains(&"Replicas: 0 current / 2 desired".to_owned()));
    assert!(rows(&kubectl.run("describe node node-0")).contains(&"Kubelet Version: v1.36.2".to_owned()));
    assert!(kubectl.run("describe namespace default").contains("Status:       Active"));
}

#[test]
fn an_apply_creates_changes_and_leaves_alone() {
    let Some(kubectl) = Kubectl::start() else { return };
    let file = kubectl.manifest("set.yaml", SET);
    assert_eq!(kubectl.run(&format!("apply -f {file}")), "replicaset.apps/web created\n");
    assert_eq!(kubectl.run(&format!("apply -f {file}")), "replicaset.apps/web unchanged\n");
    let changed = kubectl.manifest("changed.yaml", &SET.replace("replicas: 2", "replicas: 3"));
    assert!(kubectl.run(&format!("apply -f {changed} --dry-run=server")).contains("(server dry run)"));
    assert_eq!(kubectl.run("get rs web -o jsonpath={.spec.replicas}"), "2");
    assert_eq!(kubectl.run(&format!("apply -f {changed}")), "replicaset.apps/web configured\n");
    assert_eq!(kubectl.run("get rs web -o jsonpath={.spec.replicas}"), "3");
    let wrong = kubectl.manifest("wrong.yaml", &SET.replace("replicas: 2", "replicsa: 2"));
    assert!(kubectl.fail(&format!("apply -f {wrong}")).contains("unknown field \"spec.replicsa\""));
}

#[test]
fn a_server_side_apply_tells_of_conflicts() {
    let Some(kubectl) = Kubectl::start() else { return };
    let (file, changed) = (
        kubectl.manifest("set.yaml", SET),
        kubectl.manifest("changed.yaml", &SET.replace("replicas: 2", "replicas: 3")),
    );
    assert_eq!(kubectl.run(&format!("apply --server-side -f {file}")), "replicaset.apps/web serverside-applied\n");
    let conflict = kubectl.fail(&format!("apply --server-side --field-manager=other -f {changed}"));
    assert!(conflict.contains("conflict with \"kubectl\": .spec.replicas"), "{conflict}");
    kubectl.run(&format!("apply --server-side --field-manager=other --force-conflicts -f {changed}"));
    assert_eq!(kubectl.run("get rs web -o jsonpath={.spec.replicas}"), "3");
}

#[test]
fn objects_are_edited_labelled_annotated_and_replaced() {
    let Some(kubectl) = Kubectl::start() else { return };
    kubectl.run("create configmap settings --from-literal=a=1");
    kubectl.run_with("patch configmap settings -p", &[r#"{"data":{"b":"2"}}"#]);
    kubectl.run_with("patch configmap settings --type=merge -p", &[r#"{"data":{"c":"3"}}"#]);
    kubectl.run_with("patch configmap settings --type=json -p", &[r#"[{"op":"remove","path":"/data/a"}]"#]);
    assert_eq!(kubectl.run("get cm settings -o jsonpath={.data}"), r#"{"b":"2","c":"3"}"#);
    assert_eq!(kubectl.run("label cm settings tier=back"), "configmap/settings labeled\n");
    assert!(kubectl.fail("label cm settings tier=front").contains("--overwrite is false"));
    assert_eq!(kubectl.run("annotate cm settings note=hello"), "configmap/settings annotated\n");
    assert_eq!(kubectl.run("get cm -o name -l tier=back"), "configmap/settings\n");
    kubectl.run("label cm settings tier-");
    assert_eq!(kubectl.run("get cm -o name -l tier"), "");
    let new =
        kubectl.manifest("cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {d: '4'}}");
    assert_eq!(kubectl.run(&format!("replace -f {new}")), "configmap/settings replaced\n");
    assert_eq!(kubectl.run("get cm settings -o jsonpath={.data}"), r#"{"d":"4"}"#);
}

#[test]
fn a_set_is_scaled_and_deleted_in_every_way() {
    let Some(kubectl) = Kubectl::start() else { return };
    let file = kubectl.manifest("set.yaml", SET);
    let mut controller = Process::start(SANSKUBE, &["run", "--server", &kubectl.cluster.server.url()]);
    controller.wait_for("controlling");
    for (cascade, left) in [("background", 0), ("foreground", 0), ("orphan", 3)] {
        kubectl.run(&format!("create -f {file}"));
        assert_eq!(kubectl.run("scale rs web --replicas=3"), "replicaset.apps/web scaled\n");
        kubectl.run("wait --for=jsonpath={.status.availableReplicas}=3 rs/web --timeout=60s");
        assert_eq!(kubectl.run("get pods -o name").lines().count(), 3);
        kubectl.run(&format!("delete rs web --cascade={cascade}"));
        if left == 0 {
            kubectl.run("wait --for=delete pod -l app=web --timeout=60s");
        }
        assert_eq!(kubectl.run("get pods -o name").lines().count(), left, "{cascade}");
    }
    let events = kubectl.run("events --for replicaset/web");
    assert!(events.contains("SuccessfulCreate"), "{events}");
    assert!(kubectl.run("get events --field-selector=reason=SuccessfulCreate").contains("replicaset/web"));
}

#[test]
fn pods_are_deleted_gently_or_by_force() {
    let Some(kubectl) = Kubectl::start() else { return };
    let file = kubectl.manifest("pod.yaml", POD);
    for how in ["--grace-period=1", "--now", "--grace-period=0 --force", "--wait=true"] {
        kubectl.run(&format!("create -f {file}"));
        kubectl.run("wait --for=condition=Ready pod/one --timeout=30s");
        assert!(kubectl.run(&format!("delete pod one {how}")).contains("deleted"), "{how}");
        assert_eq!(kubectl.run("get pods -o name"), "", "{how}");
    }
    kubectl.run("create namespace blue");
    kubectl.run(&format!("create -n blue -f {file}"));
    kubectl.run("delete namespace blue --timeout=60s");
    assert!(kubectl.fail("get namespace blue").contains("NotFound"));
    assert_eq!(kubectl.run("get pods -A -o name"), "");
    kubectl.run(&format!("create -f {file}"));
    kubectl.run("delete pods --all --now");
    assert_eq!(kubectl.run("get pods -o name"), "");
}

#[test]
fn what_is_served_is_discovered_and_explained() {
    let Some(kubectl) = Kubectl::start() else { return };
    let resources = rows(&kubectl.run("api-resources"));
    for row in ["pods po v1 true Pod", "replicasets rs apps/v1 true ReplicaSet", "nodes no v1 false Node"] {
        assert!(resources.contains(&row.to_owned()), "{row}: {resources:#?}");
    }
    assert!(kubectl.run("api-versions").contains("coordination.k8s.io/v1\n"));
    assert!(kubectl.run("version").contains("Server Version: v1.36.2+sanskube"));
    assert!(kubectl.run("explain rs.spec.replicas").contains("FIELD: replicas <integer>"));
    assert!(kubectl.run("explain pod.spec").contains("containers\t<[]Container>"));
    assert!(kubectl.fail("explain pod.spec.nonsense").contains("does not exist"));
}

#[test]
fn what_needs_a_kubelet_is_refused_in_clear_words() {
    let Some(kubectl) = Kubectl::start() else { return };
    let file = kubectl.manifest("pod.yaml", POD);
    kubectl.run(&format!("create -f {file}"));
    kubectl.run("wait --for=condition=Ready pod/one --timeout=30s");
    assert!(kubectl.fail("logs one").contains("this API server has no kubelets to ask for logs"));
    for what in ["exec one -- ls", "port-forward pod/one 80", "attach one"] {
        let refusal = kubectl.fail(what);
        assert!(refusal.contains("needs a kubelet, and this API server has none"), "{what}: {refusal}");
    }
}

#[test]
fn custom_kinds_are_defined_used_and_deleted() {
    let Some(kubectl) = Kubectl::start() else { return };
    let (definition, tab) = (kubectl.manifest("crd.yaml", DEFINITION), kubectl.manifest("tab.yaml", TAB));
    kubectl.run(&format!("apply -f {definition}"));
    kubectl.run("wait --for=condition=Established crd/crontabs.stable.example.com --timeout=30s");
    assert_eq!(kubectl.run(&format!("apply -f {tab}")), "crontab.stable.example.com/a created\n");
    assert_eq!(kubectl.run(&format!("apply -f {tab}")), "crontab.stable.example.com/a unchanged\n");
    kubectl.run(&format!("apply --server-side --force-conflicts -f {tab}"));
    assert_eq!(rows(&kubectl.run("get ct")), ["NAME SPEC", "a 5 * * * *"]);
    kubectl.run("scale ct/a --replicas=4");
    kubectl.run_with("patch ct a --type=merge -p", &[r#"{"spec":{"cronSpec":"7 * * * *"}}"#]);
    kubectl.run("label ct a tier=back");
    kubectl.run_with("patch ct a --subresource=status --type=merge -p", &[r#"{"status":{"replicas":4}}"#]);
    assert_eq!(
        kubectl.run("get ct -l tier=back -o jsonpath={.items[*].spec}"),
        r#"{"cronSpec":"7 * * * *","replicas":4}"#
    );
    kubectl.run("wait --for=jsonpath={.status.replicas}=4 ct/a --timeout=30s");
    assert!(kubectl.run("describe ct a").contains("Cron Spec:  7 * * * *"));
    assert!(kubectl.run("explain crontab.spec.cronSpec").contains("When it is run."));
    assert_eq!(kubectl.run("get all -o name"), "crontab.stable.example.com/a\n");
    kubectl.run("delete crd crontabs.stable.example.com --timeout=60s");
    assert!(kubectl.fail("get ct").contains("the server could not find the requested resource"));
}

#[test]
fn a_quota_counts_and_the_root_is_listed() {
    let Some(kubectl) = Kubectl::start() else { return };
    kubectl.run("create quota small --hard=pods=1");
    kubectl.run("wait --for=jsonpath={.status.hard.pods}=1 quota/small --timeout=30s");
    kubectl.run(&format!("create -f {}", kubectl.manifest("pod.yaml", POD)));
    let refusal = kubectl.fail("run two --image=registry.example/main:1");
    assert!(refusal.contains("exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1"), "{refusal}");
    assert_eq!(rows(&kubectl.run("describe quota small")).last().unwrap(), "pods 1 1");
    assert!(kubectl.run("get --raw /").contains("\"/apis/apps/v1\""));
}
