//! Credentials that change while the controller runs, and what a kubeconfig can ask of requests.

use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::PermissionsExt as _;

use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::process::{Process, wait_until};
use sanskube_e2e::script::{Script, Sight, Step};
use tempfile::TempDir;

const SANSKUBE: &str = env!("CARGO_BIN_EXE_sanskube-under-test");

fn kubeconfig(url: &str, cluster: &str, user: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("there is room for a file");
    let path = folder.path().join("config");
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: '{url}', {cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    );
    write(&path, text).expect("the file can be written");
    let path = path.to_str().expect("the path is text").to_owned();
    (folder, path)
}

/// A plugin beside the kubeconfig that says the token which stands in the file `token`, and counts its runs in the file `runs`.
fn plugin(folder: &TempDir, version: &str, expires: &str) {
    let at = |name: &str| folder.path().join(name).display().to_string();
    let script = format!(
        "#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO $1 $GREETING\" >> {runs}\n\
         printf '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/{version}\",\
         \"status\":{{\"token\":\"%s\"{expires}}}}}' \"$(cat {token})\"\n",
        runs = at("runs"),
        token = at("token"),
    );
    write(at("plugin"), script).expect("the file can be written");
    set_permissions(at("plugin"), Permissions::from_mode(0o755)).expect("it is our file");
}

// CASES C-01, C-03.
#[test]
fn a_plugin_is_asked_again_when_its_token_is_refused_or_has_expired() {
    for (version, expires) in [("v1", ""), ("v1beta1", ",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"")] {
        let cluster = Cluster::guarded("new", false);
        let exec = format!(
            "exec: {{apiVersion: client.authentication.k8s.io/{version}, command: ./plugin, args: [get], \
             env: [{{name: GREETING, value: hello}}], interactiveMode: Never, provideClusterInfo: true}}"
        );
        let (folder, path) = kubeconfig(&cluster.server.url(), "", &exec);
        plugin(&folder, version, expires);
        write(folder.path().join("token"), "old").expect("the file can be written");
        cluster.create_set("web", 2);
        let mut process = Process::start(SANSKUBE, &["run", "--kubeconfig", &path]);
        process.wait_for("Unauthorized");
        write(folder.path().join("token"), "new").expect("the file can be written");
        wait_until("two pods", || (cluster.pod_uids().len() == 2).then_some(()));
        let runs = std::fs::read_to_string(folder.path().join("runs")).expect("it was run");
        let first = runs.lines().next().expect("it was run");
        let told =
            format!("\"spec\":{{\"cluster\":{{\"server\":\"{}\"}},\"interactive\":false}}", cluster.server.url());
        assert!(first.contains(&told) && first.ends_with(" get hello"), "{first}");
        assert!(runs.lines().count() < 10, "{runs}");
    }
}

#[test]
fn a_plugin_that_is_not_there_says_how_to_get_it() {
    let exec =
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, installHint: ask Ann for it}";
    let (_folder, path) = kubeconfig("http://127.0.0.1:1", "", exec);
    let (status, said) = Process::start(SANSKUBE, &["run", "--kubeconfig", &path]).finish();
    assert_eq!(status.code(), Some(1));
    assert_eq!(said, ["sanskube: the exec plugin no-such-plugin: there is no such program; ask Ann for it"]);
}

/// The first request of a controller with such a kubeconfig, with its headers in lower case.
fn first_request(cluster: &str, user: &str) -> String {
    let script = Script::start(vec![Step::AnswerAndHold(Vec::new())]);
    let (_folder, path) = kubeconfig(&script.url, cluster, user);
    // What is asked first is the lease.
    let flags = ["run", "--kubeconfig", &path, "--leader-elect", "--request-timeout", "1s"];
    let process = Process::start(SANSKUBE, &flags);
    let mut sights = script.finish().into_iter();
    drop(process);
    sights
        .find_map(|sight| if let Sight::Request(head, _) = sight { Some(head.join("\n")) } else { None })
        .expect("it has asked")
}

#[test]
fn a_request_says_as_whom_it_is_made() {
    let request =
        first_request("", "username: ann, password: 'x:y', as: bob, as-groups: [dev, ops], as-user-extra: {a: [b]}");
    for header in [
        "authorization: basic yw5uong6eq==",
        "impersonate-user: bob",
        "impersonate-group: dev",
        "impersonate-group: ops",
        "impersonate-extra-a: b",
        "accept-encoding: gzip",
    ] {
        assert!(request.contains(header), "{header} is not in {request}");
    }
}

// CASES C-12.
#[test]
fn compression_can_be_turned_off() {
    let request = first_request("disable-compression: true", "token: t");
    assert!(!request.contains("gzip"), "{request}");
}
