//! The plain life of a set in a quiet world.

use std::time::Duration;

use sanskube::manager::{Config, Manager};
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{Network, World};
use serde_json::{Value, json};

fn world(seed: u64) -> World<Manager> {
    let now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
    let server_now = sanskube_apiserver::Now {
        monotonic: Duration::from_secs(1),
        wall: jiff::Timestamp::from_second(1_800_000_000).unwrap(),
    };
    let api = ApiServer::new(sanskube_apiserver::Config { seed, ..Default::default() }, server_now);
    let network = Network::new(seed, Duration::from_millis(1), Duration::from_millis(5));
    let mut world = World::new(api, network, now);
    world.set_kubelet(Kubelet::new(KubeletConfig::default()));
    world
}

fn create_set(world: &mut World<Manager>, replicas: u32) {
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let request = Request::new("POST", "/apis/apps/v1/namespaces/default/replicasets")
        .with_body("application/json", set.to_string());
    assert_eq!(world.request(&request).status, 201);
}

fn set(world: &mut World<Manager>) -> Value {
    let response = world.request(&Request::get("/apis/apps/v1/namespaces/default/replicasets/web"));
    serde_json::from_slice(&response.body).unwrap()
}

#[test]
fn a_set_comes_up_and_stays_up_without_another_write() {
    let mut world = world(1);
    create_set(&mut world, 10);
    let id = world.start(Manager::new(&Config::default()));
    world.run_for(Duration::from_secs(5));
    assert_eq!(world.api().count("pods"), 10);
    assert_eq!(set(&mut world)["status"]["availableReplicas"], 10);
    assert!(world.machine(id).unwrap().all_ready());

    let writes = world.api().stats().writes;
    world.run_for(Duration::from_secs(3600));
    assert_eq!(world.api().stats().writes, writes);
}

#[test]
fn a_controller_killed_half_way_and_another_make_exactly_the_wanted_number() {
    for seed in 0..20 {
        let mut world = world(seed);
        create_set(&mut world, 200);
        let first = world.start(Manager::new(&Config::default()));
        while world.api().count("pods") < 20 + 5 * seed as usize {
            let limit = world.now().instant + Duration::from_secs(60);
            assert!(world.step(limit));
        }
        world.kill(first);
        world.run_for(Duration::from_millis(3));
        world.start(Manager::new(&Config { seed: 1, ..Config::default() }));
        world.run_for(Duration::from_secs(30));
        assert_eq!(world.api().count("pods"), 200, "seed {seed}");
        let deletes = world.exchanges().iter().filter(|e| e.request.method == sanskube::request::Method::Delete);
        assert_eq!(deletes.count(), 0, "seed {seed}");
    }
}

#[test]
fn a_stopped_controller_is_gone_within_a_second() {
    let mut world = world(3);
    create_set(&mut world, 50);
    let id = world.start(Manager::new(&Config::default()));
    world.run_for(Duration::from_millis(20));
    world.stop(id);
    world.run_for(Duration::from_millis(999));
    assert!(world.is_stopped(id));
    let writes = world.api().stats().writes;
    world.run_for(Duration::from_secs(60));
    assert!(world.api().stats().writes <= writes + 200, "only the kubelet writes");
}

#[test]
fn a_server_that_goes_away_for_a_minute_is_found_again() {
    let mut world = world(4);
    create_set(&mut world, 5);
    world.start(Manager::new(&Config::default()));
    world.run_for(Duration::from_secs(5));
    world.take_server_down();
    world.run_for(Duration::from_secs(60));
    world.bring_server_up();
    let scale = Request::new("PATCH", "/apis/apps/v1/namespaces/default/replicasets/web/scale")
        .with_body("application/merge-patch+json", r#"{"spec":{"replicas":8}}"#);
    assert_eq!(world.request(&scale).status, 200);
    world.run_for(Duration::from_secs(60));
    assert_eq!(world.api().count("pods"), 8);
}
