//! Controllers as one runs them: several, with a lease, watched by probes, in front of servers that fail.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use sanskube_e2e::cluster::{Cluster, REPLICA_SETS};
use sanskube_e2e::http::{get, metric};
use sanskube_e2e::process::{Process, wait_until};
use sanskube_e2e::proxy::Proxy;
use sanskube_e2e::soak::{soak, status_address};
use serde_json::Value;

const SANSKUBE: &str = env!("CARGO_BIN_EXE_sanskube-under-test");
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/sanskube";
/// A short lease: a new leader is found in some 3 to 5 s.
const ELECTION: [&str; 7] = [
    "--leader-elect",
    "--leader-elect-lease-duration",
    "3s",
    "--leader-elect-renew-deadline",
    "2s",
    "--leader-elect-retry-period",
    "500ms",
];

fn start(url: &str, flags: &[&str]) -> Process {
    Process::start(SANSKUBE, &[&["run", "--server", url], flags].concat())
}

/// How many requests a controller has made.
fn requests_made(address: SocketAddr) -> f64 {
    let (_, text) = get(address, "/metrics").expect("it is served");
    metric(&text, "rest_client_requests_total", "")
}

fn holder(cluster: &Cluster) -> Value {
    cluster.get(LEASE)["spec"]["holderIdentity"].clone()
}

/// Two controllers, of which the first leads and is in the middle of creating 500 pods.
fn half_way(cluster: &Cluster) -> [Process; 2] {
    let url = cluster.server.url();
    let flags = [&ELECTION[..], &["--kube-api-qps", "150", "--kube-api-burst", "10"]].concat();
    let mut first = start(&url, &flags);
    first.wait_for("leads: it holds the lease");
    let mut second = start(&url, &flags);
    // It says who leads.
    second.wait_for("leads: it holds the lease");
    cluster.create_set("web", 500);
    wait_until("some of the pods", || (cluster.pod_uids().len() >= 100).then_some(()));
    [first, second]
}

fn assert_500_pods_and_none_deleted(cluster: &Cluster, since: u64) {
    wait_until("500 available pods", || (cluster.available("web") == 500).then_some(()));
    let events = cluster.pod_events(since);
    let count = |kind| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("ADDED"), count("DELETED")), (500, 0));
    let terminating = events.iter().filter(|event| event["object"]["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(terminating.count(), 0);
}

#[test]
fn a_standby_ends_what_a_killed_leader_has_begun() {
    let cluster = Cluster::start();
    let since = cluster.version();
    let [first, _second] = half_way(&cluster);
    let before = holder(&cluster);
    first.signal("KILL");
    let left = cluster.pod_uids().len();
    assert!(left < 500, "the leader was killed half-way, not with {left} pods");
    assert_500_pods_and_none_deleted(&cluster, since);
    assert_ne!(holder(&cluster), before);
    assert_eq!(cluster.get(LEASE)["spec"]["leaseTransitions"], 1);
}

#[test]
fn a_leader_that_was_suspended_past_its_lease_ends_without_another_write() {
    let cluster = Cluster::start();
    let since = cluster.version();
    let [first, second] = half_way(&cluster);
    let before = holder(&cluster);
    first.signal("STOP");
    assert_500_pods_and_none_deleted(&cluster, since);
    assert_ne!(holder(&cluster), before);
    // The new leader rests, too, so that whatever is written now is written by the old one. What the new one has sent is answered by then.
    second.signal("STOP");
    let quiet = || cluster.server.with_api(|api, _| api.stats().writes);
    let mut writes = quiet();
    wait_until("the last write to be counted", || {
        std::thread::sleep(Duration::from_millis(200));
        let now = quiet();
        (std::mem::replace(&mut writes, now) == now).then_some(())
    });
    first.signal("CONT");
    let (status, said) = first.finish();
    assert_eq!(status.code(), Some(1), "{said:#?}");
    assert!(said.iter().any(|line| line.contains("the lease is lost")), "{said:#?}");
    assert_eq!(quiet(), writes);
    second.signal("CONT");
}

#[test]
fn a_leader_that_is_stopped_gives_the_lease_back_at_once() {
    let cluster = Cluster::start();
    // A lease so long that nobody could wait for its end here.
    let flags = ["--leader-elect", "--leader-elect-lease-duration", "3600s", "--leader-elect-retry-period", "300ms"];
    let mut first = start(&cluster.server.url(), &flags);
    first.wait_for("leads: it holds the lease");
    let before = holder(&cluster);
    let _second = start(&cluster.server.url(), &flags);
    cluster.create_set("web", 3);
    wait_until("available pods", || (cluster.available("web") == 3).then_some(()));
    first.signal("TERM");
    let (status, said) = first.finish();
    assert!(status.success(), "{said:#?}");
    cluster.scale("web", 5);
    wait_until("the pods of the next leader", || (cluster.available("web") == 5).then_some(()));
    assert_ne!(holder(&cluster), before);
}

#[test]
fn a_leader_ends_when_an_empty_server_with_lower_versions_takes_the_place_of_its_own() {
    // A port that was free a moment ago. Nobody else is likely to take it.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port();
    let cluster = Cluster::start_on(port);
    let url = cluster.server.url();
    // A lease so long that it is not lost because the machine is busy.
    let process = start(
        &url,
        &[
            "--leader-elect",
            "--leader-elect-lease-duration",
            "3600s",
            "--leader-elect-renew-deadline",
            "1800s",
            "--leader-elect-retry-period",
            "300ms",
        ],
    );
    cluster.create_set("web", 5);
    wait_until("available pods", || (cluster.available("web") == 5).then_some(()));
    let version = cluster.version();
    drop(cluster);
    // Its watches would go on, and be silent for long.
    let cluster = Cluster::start_on(port);
    let (status, said) = process.finish();
    assert!(status.code() == Some(1) && said.iter().any(|line| line.contains("went back from version")), "{said:#?}");
    assert!(cluster.version() < version, "it began too late");
    // Whoever starts it again, as a Deployment does, has one that knows better. It need not wait for the lease here.
    cluster.create_set("web", 2);
    let _process = start(&url, &[]);
    wait_until("available pods", || (cluster.available("web") == 2).then_some(()));
}

#[test]
fn probes_see_a_leader_and_one_that_stands_by_and_metrics_say_which_is_which() {
    let cluster = Cluster::start();
    let url = cluster.server.url();
    let flags = [&ELECTION[..], &["--metrics-bind-address", "127.0.0.1:0"]].concat();
    let mut first = start(&url, &flags);
    first.wait_for("leads: it holds the lease");
    let mut second = start(&url, &flags);
    let addresses = [status_address(&mut first), status_address(&mut second)];
    cluster.create_set("web", 4);
    wait_until("available pods", || (cluster.available("web") == 4).then_some(()));
    let mut texts = Vec::new();
    for address in addresses {
        for page in ["/healthz", "/readyz"] {
            assert_eq!(get(address, page).expect("it is served"), (200, "ok".into()), "{page}");
        }
        texts.push(get(address, "/metrics").expect("it is served").1);
    }
    assert_eq!(metric(&texts[0], "leader_election_master_status", "sanskube"), 1.0);
    assert_eq!(metric(&texts[1], "leader_election_master_status", "sanskube"), 0.0);
    assert!(metric(&texts[0], "rest_client_requests_total", "code=\"201\",method=\"POST\"") >= 4.0, "{}", texts[0]);
    assert!(metric(&texts[0], "workqueue_adds_total", "name=\"replicaset\"") >= 1.0);
    assert_eq!(metric(&texts[0], "reflector_items", "resource=\"pods\""), 4.0);
    assert_eq!(metric(&texts[1], "reflector_items", "resource=\"pods\""), 0.0);
    assert!(metric(&texts[0], "process_resident_memory_bytes", "") > 0.0);
}

#[test]
fn what_has_no_lists_yet_is_alive_but_not_ready() {
    // A server that takes connections and never says anything.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("the socket is bound"));
    let mut process = start(&url, &["--metrics-bind-address", "127.0.0.1:0"]);
    let address = status_address(&mut process);
    assert_eq!(get(address, "/healthz").expect("it is served").0, 200);
    assert_eq!(get(address, "/readyz").expect("it is served"), (503, "the first lists are not complete".into()));
}

#[test]
fn a_dry_run_says_what_it_would_do_and_writes_nothing() {
    let cluster = Cluster::start();
    cluster.create_set("web", 3);
    let set = || cluster.get(&format!("{REPLICA_SETS}/web"));
    let before = set();
    let mut process = start(&cluster.server.url(), &["--dry-run"]);
    process.wait_for("dry run: would create a pod web-… in default");
    process.wait_for("dry run: would set the status of replicaset default/web to");
    process.signal("TERM");
    let (_, said) = process.finish();
    assert_eq!(said.iter().filter(|line| line.contains("would create a pod")).count(), 3, "{said:#?}");
    assert_eq!((set(), cluster.pod_uids().len()), (before, 0));
    assert_eq!(cluster.get("/api/v1/namespaces/default/events")["items"], serde_json::json!([]));
}

#[test]
fn only_selected_sets_are_looked_after() {
    let cluster = Cluster::start();
    cluster.create_set("web", 2);
    // The labels of a set are its own; a set without them is not selected.
    let mut process = start(&cluster.server.url(), &["--selector", "!absent,absent", "--once"]);
    process.wait_for("stopped");
    let mut all = start(&cluster.server.url(), &["--selector", "!absent", "--once"]);
    all.wait_for("stopped");
    assert_eq!(cluster.available("web"), 2);
    let (status, said) = process.finish();
    assert!(status.success() && !said.iter().any(|line| line.contains("creating")), "{said:#?}");
}

#[test]
fn logs_can_be_objects() {
    let cluster = Cluster::start();
    let (status, said) = start(&cluster.server.url(), &["--once", "--logging-format", "json"]).finish();
    assert!(status.success());
    for line in &said {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(line["ts"].is_string() && line["msg"].is_string() && line["level"] == "info", "{line}");
    }
    assert!(!said.is_empty());
}

#[test]
fn flags_come_from_the_environment_too_and_shells_can_complete_them() {
    let (status, said) =
        Process::start("sh", &["-c", &format!("SANSKUBE_SERVER=nowhere exec {SANSKUBE} run")]).finish();
    assert_eq!(status.code(), Some(1));
    assert!(said[0].contains("\"nowhere\" has no scheme"), "{said:#?}");
    for shell in ["bash", "zsh", "fish"] {
        let (status, said) = Process::start(SANSKUBE, &["completions", shell]).finish();
        assert!(status.success() && said.iter().any(|line| line.contains("leader-elect-lease-duration")), "{shell}");
    }
}

#[test]
fn half_open_connections_are_given_up_and_nothing_is_lost() {
    let cluster = Cluster::start();
    let proxy = Proxy::start(cluster.server.addr());
    let flags = ["--min-watch-timeout", "1s", "--request-timeout", "1s", "--metrics-bind-address", "127.0.0.1:0"];
    let mut process = start(&proxy.url(), &flags);
    let address = status_address(&mut process);
    cluster.create_set("web", 2);
    wait_until("available pods", || (cluster.available("web") == 2).then_some(()));
    for replicas in [5, 3] {
        proxy.leave_half_open();
        let before = requests_made(address);
        cluster.scale("web", replicas);
        wait_until("the wanted pods", || (cluster.available("web") == replicas).then_some(()));
        let requests = requests_made(address) - before;
        assert!(requests < 80.0, "{requests} requests: {}", get(address, "/metrics").expect("it is served").1);
    }
    wait_until("the last pods to go", || (cluster.pod_uids().len() == 3).then_some(()));
}

#[test]
fn a_server_that_was_stopped_for_ten_seconds_is_not_stormed() {
    let cluster = Cluster::start();
    let proxy = Proxy::start(cluster.server.addr());
    let mut process = start(&proxy.url(), &["--request-timeout", "2s", "--metrics-bind-address", "127.0.0.1:0"]);
    let address = status_address(&mut process);
    cluster.create_set("web", 2);
    wait_until("available pods", || (cluster.available("web") == 2).then_some(()));
    let (requests, accepted) = (requests_made(address), proxy.accepted());
    cluster.scale("web", 20);
    proxy.set_frozen(true);
    let stopped = Instant::now();
    while stopped.elapsed() < Duration::from_secs(10) {
        // Its own loop goes on meanwhile.
        assert_eq!(get(address, "/healthz").expect("it is served").0, 200);
        std::thread::sleep(Duration::from_millis(200));
    }
    proxy.set_frozen(false);
    wait_until("the wanted pods", || (cluster.available("web") == 20).then_some(()));
    assert_eq!(cluster.pod_uids().len(), 20);
    // 18 pods, an event for each as long as they are told one by one, a few of the status, of the lists and of what was tried meanwhile.
    let (requests, accepted) = (requests_made(address) - requests, proxy.accepted() - accepted);
    assert!(requests < 120.0 && accepted < 80, "{requests} requests, {accepted} connections");
}

#[test]
fn a_server_that_never_answers_is_asked_now_and_then() {
    let cluster = Cluster::start();
    let proxy = Proxy::start(cluster.server.addr());
    proxy.set_frozen(true);
    let mut process = start(&proxy.url(), &["--request-timeout", "1s", "--metrics-bind-address", "127.0.0.1:0"]);
    let address = status_address(&mut process);
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!(get(address, "/healthz").expect("it is served").0, 200);
    assert!(proxy.accepted() <= 30, "{} connections", proxy.accepted());
    cluster.create_set("web", 2);
    proxy.set_frozen(false);
    wait_until("available pods", || (cluster.available("web") == 2).then_some(()));
}

#[test]
fn a_server_that_has_forgotten_its_history_is_listed_anew() {
    let cluster = Cluster::start();
    let mut process = start(&cluster.server.url(), &["--metrics-bind-address", "127.0.0.1:0"]);
    let address = status_address(&mut process);
    cluster.create_set("web", 3);
    wait_until("available pods", || (cluster.available("web") == 3).then_some(()));
    let before = requests_made(address);
    for replicas in [5, 2, 6] {
        cluster.server.with_api(|api, _| api.restart());
        cluster.scale("web", replicas);
        wait_until("the wanted pods", || (cluster.available("web") == replicas).then_some(()));
    }
    wait_until("the last pods to go", || (cluster.pod_uids().len() == 6).then_some(()));
    let requests = requests_made(address) - before;
    assert!(requests < 80.0, "{requests} requests");
}

#[test]
fn twenty_seconds_of_faults_leave_no_threads_sockets_or_memory_behind() {
    let soaked = soak(SANSKUBE, Duration::from_secs(20));
    let (before, after) = (soaked.before, soaked.after);
    assert!(soaked.scaled > 20 && soaked.requests > 500, "{soaked:?}");
    assert!(after.threads <= before.threads + 8.0 && after.files <= before.files + 16.0, "{soaked:?}");
    assert!(after.memory <= before.memory + f64::from(16 << 20), "{soaked:?}");
}
