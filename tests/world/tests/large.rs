//! The life of a set of thousands of pods.

use std::time::Duration;

use sanskube::manager::{Config, Manager};
use sanskube::request::Method;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{Exchange, Network, World};
use serde_json::json;

/// What kube-controller-manager asks for at once, and the default of `burst_replicas` in [`sanskube::limits::Limits`].
const BURST: usize = 500;
const PODS: &str = "/api/v1/namespaces/default/pods";
const SET: &str = "/apis/apps/v1/namespaces/default/replicasets/web";

/// A server without a kubelet (so pods stay Pending and go at once), and a controller that nothing slows down.
fn world() -> World<Manager> {
    let now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
    let server_now = sanskube_apiserver::Now {
        monotonic: Duration::from_secs(1),
        wall: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
    };
    let config = sanskube_apiserver::Config { managed_fields: false, ..Default::default() };
    let network = Network::new(0, Duration::from_millis(1), Duration::from_millis(5));
    let mut world = World::new(ApiServer::new(config, server_now), network, now);
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": {
        "replicas": 5000, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let request = Request::new("POST", "/apis/apps/v1/namespaces/default/replicasets")
        .with_body("application/json", set.to_string());
    assert_eq!(world.request(&request).status, 201);
    let config = Config { client_limits: None, ..Config::default() };
    assert_eq!(config.limits.burst_replicas, BURST);
    world.start(Manager::new(&config));
    world
}

fn scale(world: &mut World<Manager>, replicas: usize) {
    let scale = Request::new("PATCH", &format!("{SET}/scale"))
        .with_body("application/merge-patch+json", json!({"spec": {"replicas": replicas}}).to_string());
    assert_eq!(world.request(&scale).status, 200);
}

/// The number of writes to pods by this method between one status write and the next, without the gaps that have none. A sync writes the
/// status at its end, and the next one begins when all that it did has come back.
fn bursts(exchanges: &[Exchange], method: Method) -> Vec<usize> {
    let syncs = exchanges.split(|e| e.request.path.starts_with(SET) && e.request.method == Method::Put);
    let count = |sync: &[Exchange]| {
        sync.iter().filter(|e| e.request.method == method && e.request.path.starts_with(PODS)).count()
    };
    syncs.map(count).filter(|count| *count > 0).collect()
}

#[test]
fn a_set_of_5000_comes_up_in_bursts_of_500_and_goes_to_10_and_to_0() {
    let mut world = world();
    let mut seen = 0;
    for (wanted, method, other) in
        [(5000, Method::Post, Method::Delete), (10, Method::Delete, Method::Post), (0, Method::Delete, Method::Post)]
    {
        let before = world.api().count("pods");
        if seen > 0 {
            scale(&mut world, wanted);
        }
        world.run_for(Duration::from_secs(30));
        assert_eq!(world.api().count("pods"), wanted);
        let exchanges = &world.exchanges()[seen..];
        let failed = exchanges.iter().find(|e| !matches!(e.status, 200 | 201));
        assert!(failed.is_none(), "{failed:?}");
        let bursts = bursts(exchanges, method);
        let moved = before.abs_diff(wanted);
        assert_eq!(bursts.iter().sum::<usize>(), moved, "to {wanted}: {bursts:?}");
        assert!(bursts.iter().all(|burst| *burst <= BURST), "to {wanted}: {bursts:?}");
        assert_eq!(bursts.len(), moved.div_ceil(BURST), "to {wanted}: {bursts:?}");
        assert_eq!(self::bursts(exchanges, other), [0; 0], "to {wanted}");
        seen = world.exchanges().len();
    }
}
