//! `sanskube run` as its operator meets it.

use std::fs::{rename, write};
use std::net::TcpListener;

use k8s_openapi::api::apps::v1::ReplicaSet;
use sanskube::client::Api;
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::embedded::{Adapter as _, Blocking};
use sanskube_e2e::process::{PATIENCE, Process, wait_until};
use sanskube_e2e::stall::hold_back;
use serde_json::json;
use tempfile::TempDir;

const SANSKUBE: &str = env!("CARGO_BIN_EXE_sanskube-under-test");

/// Runs it to its end, which must be a failure, and returns the one line that it says.
fn refusal(args: &[&str]) -> String {
    let (status, said) = Process::start(SANSKUBE, &[&["run"], args].concat()).finish();
    assert_eq!(status.code(), Some(1), "{said:#?}");
    assert_eq!(said.len(), 1, "{said:#?}");
    said[0].clone()
}

/// A kubeconfig with this user for the cluster at `url`, in a folder of its own.
fn kubeconfig(url: &str, user: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("there is room for a file");
    let path = folder.path().join("config");
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: '{url}'}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    );
    write(&path, text).expect("the file can be written");
    let path = path.to_str().expect("the path is text").to_owned();
    (folder, path)
}

fn count(said: &[String], part: &str) -> usize {
    said.iter().filter(|line| line.contains(part)).count()
}

#[test]
fn what_trying_again_does_not_change_is_said_and_ends_it() {
    assert!(refusal(&[]).starts_with("sanskube: no cluster: pass --server or --kubeconfig"));
    assert_eq!(
        refusal(&["--server", "localhost:8080"]),
        "sanskube: \"localhost:8080\" has no scheme: use a URL that begins with https:// or http://"
    );
    let missing = refusal(&["--kubeconfig", "/nonexistent/config"]);
    assert!(missing.starts_with("sanskube: cannot read the kubeconfig /nonexistent/config: "), "{missing}");
    let (_folder, path) = kubeconfig("https://k", "client-certificate: gone.crt, client-key: gone.key");
    assert_eq!(
        refusal(&["--kubeconfig", &path, "--context", "other"]),
        "sanskube: there is no context \"other\" (there are: c)"
    );
    let unreadable = refusal(&["--kubeconfig", &path]);
    assert!(unreadable.starts_with("sanskube: cannot read the client certificate "), "{unreadable}");
}

#[test]
fn once_ends_when_every_set_is_ready() {
    for content_type in ["json", "protobuf"] {
        let cluster = Cluster::start();
        cluster.create_set("web", 5);
        cluster.create_set("cache", 3);
        let args = ["run", "--once", "--content-type", content_type, "--server", &cluster.server.url()];
        let (status, said) = Process::start(SANSKUBE, &args).finish();
        assert!(status.success(), "{said:#?}");
        assert_eq!((cluster.available("web"), cluster.available("cache")), (5, 3));
        // From a cache that is filled by a list.
        cluster.scale("web", 2);
        let (status, said) = Process::start(SANSKUBE, &args).finish();
        assert!(status.success(), "{said:#?}");
        assert_eq!((cluster.available("web"), cluster.available("cache")), (2, 3));
    }
}

#[test]
fn a_server_that_is_not_there_yet_is_told_once_and_found_when_it_comes() {
    // A port that was free a moment ago. Nobody else is likely to take it.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port();
    let mut process = Process::start(SANSKUBE, &["run", "--server", &format!("http://127.0.0.1:{port}")]);
    process.wait_for("cannot reach");
    let cluster = Cluster::start_on(port);
    cluster.create_set("web", 2);
    wait_until("available pods", || (cluster.available("web") == 2).then_some(()));
    process.wait_for("can be reached again");
    process.signal("TERM");
    let (_, said) = process.finish();
    assert_eq!(count(&said, "cannot reach"), 1, "{said:#?}");
}

#[test]
fn a_name_without_an_address_is_told_once() {
    let url = "http://no-such-host.invalid:6443";
    let mut process = Process::start(SANSKUBE, &["run", "--server", url]);
    process.wait_for(&format!("cannot reach {url}: "));
    process.signal("TERM");
    let (_, said) = process.finish();
    assert_eq!(count(&said, "cannot reach"), 1, "{said:#?}");
}

#[test]
fn a_server_that_was_started_anew_without_its_objects_is_noticed() {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port().to_string();
    let url = format!("http://127.0.0.1:{port}");
    let serve = || {
        let mut server = Process::start(SANSKUBE, &["serve", "--port", &port]);
        server.wait_for("API server at");
        server
    };
    let set = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "main:1"}]}},
        },
    });
    let set = serde_json::from_value(set).expect("it is a ReplicaSet");
    let (client, sets) = (Blocking::client(&url), Api::<ReplicaSet>::in_namespace("default"));
    let is_ready = || {
        let status = Blocking::send(&client, sets.get("web")).ok()?.status?;
        (status.ready_replicas == Some(3)).then_some(())
    };
    let server = serve();
    let mut process = Process::start(SANSKUBE, &["run", "--server", &url]);
    Blocking::send(&client, sets.create(&set)).expect("it is created");
    wait_until("the pods to be ready", is_ready);
    drop(server);
    process.wait_for("cannot reach");
    let _server = serve();
    Blocking::send(&client, sets.create(&set)).expect("it is created: the old one is gone");
    wait_until("the pods to be ready", is_ready);
}

// CASES C-01.
#[test]
fn a_refused_token_is_told_once_and_its_renewal_is_used() {
    let cluster = Cluster::guarded("new", false);
    let (folder, path) = kubeconfig(&cluster.server.url(), "tokenFile: token");
    let at = |name: &str| folder.path().join(name);
    write(at("token"), "old\n").expect("the file can be written");
    cluster.create_set("web", 2);
    let mut process = Process::start(SANSKUBE, &["run", "--kubeconfig", &path]);
    process.wait_for("Unauthorized");
    // More refusals follow. Of each kind of objects the first one is told.
    let requests = || cluster.server.with_api(|api, _| api.stats().requests);
    let before = requests();
    wait_until("more refusals", || (requests() >= before + 4).then_some(()));
    write(at("fresh"), "new\n").expect("the file can be written");
    rename(at("fresh"), at("token")).expect("the file can be renamed");
    // The pretend kubelet has no token, so pods stay as they were created.
    wait_until("two pods", || (cluster.pod_uids().len() == 2).then_some(()));
    process.signal("TERM");
    let (_, said) = process.finish();
    assert!(count(&said, "Unauthorized") <= 3, "{said:#?}");
}

#[test]
fn a_stranger_is_told_what_is_forbidden() {
    let cluster = Cluster::guarded("secret", true);
    let mut process = Process::start(SANSKUBE, &["run", "--server", &cluster.server.url()]);
    process.wait_for("is forbidden: User \"system:anonymous\" cannot list resource \"pods\"");
    process.signal("INT");
    let (_, said) = process.finish();
    assert_eq!(count(&said, "cannot list resource \"pods\""), 1, "{said:#?}");
}

#[test]
fn the_first_signal_stops_in_order() {
    for signal in ["INT", "TERM"] {
        let cluster = Cluster::start();
        cluster.create_set("web", 2);
        let mut process = Process::start(SANSKUBE, &["run", "--server", &cluster.server.url()]);
        wait_until("available pods", || (cluster.available("web") == 2).then_some(()));
        process.wait_for("controlling");
        process.signal(signal);
        // Had it taken a second, it would have been ended by force, and not with success.
        let (status, said) = process.finish();
        assert!(status.success(), "{status}: {said:#?}");
        assert!(said.iter().any(|line| line.ends_with(": stopped")), "{said:#?}");
    }
}

#[test]
fn the_second_signal_stops_at_once() {
    let cluster = Cluster::start();
    cluster.create_set("web", 1);
    // A creation that is never answered, so that an orderly stop has something to wait for.
    let (url, held) = hold_back("POST", cluster.server.addr());
    let process = Process::start(SANSKUBE, &["run", "--server", &url]);
    held.recv_timeout(PATIENCE).expect("a pod is to be created");
    // Both signals are there before the process can look at the first one.
    for signal in ["STOP", "TERM", "INT", "CONT"] {
        process.signal(signal);
    }
    let (status, said) = process.finish();
    assert!(matches!(status.code(), Some(130 | 143)), "{status}: {said:#?}");
    assert_eq!(count(&said, ": stopped"), 0, "{said:#?}");
}
