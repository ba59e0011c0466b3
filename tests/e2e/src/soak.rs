//! The soak: a controller at work for a long time, with a server that fails now and then.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sanskube::rand::SplitMix64;
use sanskube_apiserver::faults::{Failure, Rule};

use crate::cluster::{Cluster, PODS, REPLICA_SETS};
use crate::http::{get, metric};
use crate::process::{PATIENCE, Process, wait_until};
use crate::proxy::Proxy;

/// What a controller has of the machine it runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Use {
    /// Memory in bytes.
    pub memory: f64,
    /// Threads.
    pub threads: f64,
    /// Files and sockets.
    pub files: f64,
}

/// What came of it.
#[derive(Debug)]
pub struct Soaked {
    /// The most that the controller had in the second fifth of the time.
    pub before: Use,
    /// The most that it had in the last fifth.
    pub after: Use,
    /// How many requests were answered.
    pub requests: u64,
    /// How often a set was scaled.
    pub scaled: u64,
}

/// Lets the program `sanskube` look after a few sets that are scaled at random, for this long. Watches are closed and cut, requests refused, hung up on,
/// and hung up on after they have had their effect; connections are closed in the middle of whatever is under way, and the server pauses.
///
/// The pretend kubelet is no part of what is tested, and not made to last: so the server refuses only what a kubelet does not ask for, and what
/// becomes of pods on their way is up to the network of the controller.
///
/// # Panics
/// The controller does not come to rest at the end with exactly the pods that are wanted.
pub fn soak(sanskube: &str, time: Duration) -> Soaked {
    let (cluster, mut random) = (Cluster::start(), SplitMix64::new(7));
    let proxy = Proxy::start(cluster.server.addr());
    let mut process = Process::start(
        sanskube,
        &[
            "run",
            "--server",
            &proxy.url(),
            "--request-timeout",
            "5s",
            "--metrics-bind-address",
            "127.0.0.1:0",
            "--kube-api-qps",
            "0",
        ],
    );
    let address = status_address(&mut process);
    let mut wanted = [0u64; 4];
    let name = |set: usize| format!("set-{set}");
    for set in 0..wanted.len() {
        cluster.create_set(&name(set), 0);
    }
    let failures = [
        Failure::Hangup,
        Failure::Status { code: 500, retry_after: None },
        Failure::Status { code: 429, retry_after: Some(1) },
        Failure::Status { code: 409, retry_after: None },
        Failure::Status { code: 504, retry_after: None },
    ];
    let mut draw = |bound: u64| random.next_u64() % bound;
    let (began, mut before, mut after, mut scaled) = (Instant::now(), Use::default(), Use::default(), 0);
    cluster.server.with_api(|api, _| api.faults_mut().close_watches_after(Some(Duration::from_millis(700))));
    while began.elapsed() < time {
        let set = usize::try_from(draw(4)).expect("it is below four");
        wanted[set] = draw(30);
        cluster.server.with_api(|api, _| api.faults_mut().clear_rules());
        cluster.scale(&name(set), wanted[set]);
        scaled += 1;
        let failure = failures[usize::try_from(draw(5)).expect("it is below five")].clone();
        let rule = Rule {
            agent: String::new(),
            method: String::new(),
            target: ["/events", "/replicasets"][usize::try_from(draw(2)).expect("it is below two")].into(),
            skip: u32::try_from(draw(10)).expect("it is below ten"),
            times: u32::try_from(draw(4)).expect("it is below four"),
            after_effect: draw(2) == 0,
            failure,
        };
        cluster.server.with_api(|api, _| {
            api.faults_mut().add_rule(rule);
            if draw(3) == 0 {
                api.faults_mut().cut_watches(3, 2);
            }
        });
        match draw(6) {
            0 => proxy.cut(),
            1 => proxy.set_frozen(true),
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(draw(400)));
        proxy.set_frozen(false);
        match 5 * began.elapsed().as_millis() / time.as_millis().max(1) {
            1 => before = before.or_more(used(address)),
            4.. => after = after.or_more(used(address)),
            _ => {}
        }
    }
    cluster.server.with_api(|api, _| {
        api.faults_mut().clear_rules();
        api.faults_mut().close_watches_after(None);
        api.faults_mut().cut_watches(0, 0);
    });
    let pods = usize::try_from(wanted.iter().sum::<u64>()).expect("there are few");
    // After so many failures a watch is begun again after up to a minute.
    let deadline = Instant::now() + 3 * PATIENCE;
    loop {
        let settled = wanted.iter().enumerate().all(|(set, wanted)| cluster.available(&name(set)) == *wanted);
        if settled && cluster.pod_uids().len() == pods {
            break;
        }
        assert!(Instant::now() < deadline, "wanted {wanted:?}, and there is\n{}", inventory(&cluster));
        std::thread::sleep(Duration::from_millis(50));
    }
    Soaked { before, after, requests: cluster.requests(), scaled }
}

impl Use {
    /// Of each the more.
    fn or_more(self, other: Self) -> Self {
        Self {
            memory: self.memory.max(other.memory),
            threads: self.threads.max(other.threads),
            files: self.files.max(other.files),
        }
    }
}

/// A line for each set and each pod.
fn inventory(cluster: &Cluster) -> String {
    let mut lines = String::new();
    for path in [REPLICA_SETS, PODS] {
        for object in cluster.get(path)["items"].as_array().expect("a list has items") {
            let meta = &object["metadata"];
            let (name, owners, deleted) =
                (&meta["name"], &meta["ownerReferences"][0]["name"], &meta["deletionTimestamp"]);
            let (spec, status) = (&object["spec"]["replicas"], &object["status"]);
            let status = if status["phase"].is_null() { status } else { &status["phase"] };
            let line = format!(
                "{name} of {owners}, deleted {deleted}, wants {spec}, node {}: {status}\n",
                object["spec"]["nodeName"]
            );
            lines.push_str(&line);
        }
    }
    lines
}

/// Where a program that was asked to serve its status on any port does so.
pub fn status_address(process: &mut Process) -> SocketAddr {
    const SAID: &str = "health and metrics at http://";
    process.wait_for(SAID);
    let line = process.said.iter().find_map(|line| line.split(SAID).nth(1)).expect("it was just said");
    line.trim().parse().expect("it is an address")
}

fn used(address: SocketAddr) -> Use {
    let (_, text) = wait_until("metrics", || get(address, "/metrics").ok().filter(|(status, _)| *status == 200));
    let value = |name| metric(&text, name, "");
    Use {
        memory: value("process_resident_memory_bytes"),
        threads: value("process_threads"),
        files: value("process_open_fds"),
    }
}
