//! Both adapters drive the same manager through the same server: they send the same, and the same pods come of it.

use std::collections::BTreeMap;

use sanskube::manager::{Config, Manager};
use sanskube::request::{CallId, Encoding, Method};
use sanskube_e2e::adapter::adapters;
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::transcript::Transcript;

/// What the server has in the end: for each pod its owner and its phase, without what is drawn at random.
fn pods(cluster: &Cluster) -> Vec<String> {
    let list = cluster.get("/api/v1/namespaces/default/pods");
    let pods = list["items"].as_array().expect("a list has items").iter();
    let mut pods: Vec<String> = pods
        .map(|pod| {
            let owner = &pod["metadata"]["ownerReferences"][0];
            format!("{} {} {}", owner["kind"], owner["name"], pod["status"]["phase"])
        })
        .collect();
    pods.sort();
    pods
}

#[test]
fn both_adapters_send_the_same_and_the_same_pods_come_of_it() {
    for encoding in [Encoding::Json, Encoding::Protobuf] {
        compare(encoding);
    }
}

/// Runs a manager that reads pods in this with each adapter.
fn compare(encoding: Encoding) {
    let [blocking, smol] = adapters().map(|(name, drive)| {
        println!("with the {name} adapter");
        let cluster = Cluster::start();
        for (set, replicas) in [("web", 3), ("db", 1), ("none", 0), ("many", 20)] {
            cluster.create_set(set, replicas);
        }
        let manager = Manager::new(&Config { seed: 7, encoding, ..Config::default() });
        let mut transcript = Transcript::new(manager, Manager::all_ready);
        drive(&cluster.server.url(), &mut transcript);
        (transcript.into_requests(), pods(&cluster))
    });
    assert_eq!(blocking.1.len(), 24);
    assert_eq!(blocking.1, smol.1);
    let (blocking, smol) = (blocking.0, smol.0);
    // The first calls are made before anything has come back, so their order is fixed.
    let first: Vec<_> = blocking.values().take(2).collect();
    assert_eq!(first, smol.values().take(2).collect::<Vec<_>>());
    // What is written is the same but for the order, in which answers overtake each other. How often a status is written on the way depends on it too.
    let written = |requests: &BTreeMap<CallId, (Method, String)>| {
        let posts = requests.values().filter(|(method, path)| *method == Method::Post && path.ends_with("/pods"));
        let mut lines: Vec<String> = posts.map(|(_, path)| path.clone()).collect();
        let statuses = requests.values().filter(|(method, path)| *method == Method::Put && path.ends_with("/status"));
        let mut statuses: Vec<String> = statuses.map(|(_, path)| path.clone()).collect();
        statuses.sort();
        statuses.dedup();
        lines.extend(statuses);
        lines
    };
    assert_eq!(written(&blocking).len(), 24 + 4);
    assert_eq!(written(&blocking), written(&smol));
}
