//! How many sets are synced at a time.

use std::time::Duration;

use sanskube::limits::Limits;
use sanskube::manager::{Config, Manager};
use sanskube::metrics::Text;
use sanskube::object::ReplicaSetKind;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{Network, World};
use serde_json::json;

#[test]
fn each_controller_has_its_own_number_of_syncs() {
    let now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
    let server_now = sanskube_apiserver::Now {
        monotonic: Duration::from_secs(1),
        wall: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
    };
    let api = ApiServer::new(sanskube_apiserver::Config::default(), server_now);
    let second = Duration::from_secs(1);
    let mut world = World::new(api, Network::new(1, second, second), now);
    for i in 0..8 {
        let labels = json!({"app": format!("web-{i}")});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        for (path, selector) in [
            ("/apis/apps/v1/namespaces/default/replicasets", json!({"matchLabels": labels})),
            ("/api/v1/namespaces/default/replicationcontrollers", labels.clone()),
        ] {
            let spec = json!({"replicas": 1, "selector": selector, "template": template});
            let set = json!({"metadata": {"name": format!("web-{i}")}, "spec": spec}).to_string();
            assert_eq!(world.request(&Request::new("POST", path).with_body("application/json", set)).status, 201);
        }
    }
    let config = Config {
        kinds: vec![ReplicaSetKind::ReplicaSet, ReplicaSetKind::ReplicationController],
        limits: Limits { concurrent_syncs: 5, concurrent_rc_syncs: 2, ..Limits::default() },
        ..Config::default()
    };
    let id = world.start(Manager::new(&config));
    while !world.machine(id).unwrap().has_synced() {
        assert!(world.step(now.instant + Duration::from_secs(60)));
    }
    // What creates the first pods is on its way to the server.
    let metrics = Text(&world.machine(id).unwrap().metrics(world.now())).to_string();
    for depth in ["workqueue_depth{name=\"replicaset\"} 3", "workqueue_depth{name=\"replicationmanager\"} 6"] {
        assert!(metrics.lines().any(|line| line == depth), "{metrics}");
    }
}
