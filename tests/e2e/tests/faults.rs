//! Wires that are cut or fall silent, for both adapters.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use sanskube::client::{Api, Error, ListOptions, Patch};
use sanskube::limits::Limits;
use sanskube::reflector::Config;
use sanskube::request::Failure;
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::embedded::{Adapter, Running};
use sanskube_e2e::process::wait_until;
use sanskube_e2e::proxy::Proxy;
use sanskube_e2e::with_both_adapters;
use serde_json::json;

fn maps() -> Api<ConfigMap> {
    Api::in_namespace("default")
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// A collection whose watches are short, so that silence is soon noticed.
fn impatient() -> Config {
    let limits =
        Limits { watch_timeout: Duration::from_secs(1), watch_grace: Duration::from_millis(100), ..Limits::default() };
    Config { limits, ..Config::from(maps()) }
}

fn a_watch_that_is_cut_is_resumed<A: Adapter>() {
    let cluster = Cluster::start();
    let (direct, proxy) = (A::client(&cluster.server.url()), Proxy::start(cluster.server.addr()));
    let runner = A::runner(&A::client(&proxy.url()));
    let cache = A::watch::<ConfigMap>(&runner, maps());
    let running = Running::<A>::start(&runner);
    assert!(A::wait_for_sync(&runner));
    for n in 0..3 {
        let before = proxy.accepted();
        proxy.cut();
        A::send(&direct, maps().create(&map(&format!("m{n}")))).unwrap();
        wait_until("it is seen", || cache.find(&format!("default/m{n}")).map(drop));
        assert!(proxy.accepted() > before);
    }
    running.stop();
}

fn a_watch_that_falls_silent_is_given_up_and_resumed<A: Adapter>() {
    let cluster = Cluster::start();
    let (direct, proxy) = (A::client(&cluster.server.url()), Proxy::start(cluster.server.addr()));
    let runner = A::runner(&A::client(&proxy.url()));
    let cache = A::watch::<ConfigMap>(&runner, impatient());
    let running = Running::<A>::start(&runner);
    assert!(A::wait_for_sync(&runner));
    // The half of the wire that is left still takes what is written, and nothing comes back.
    proxy.leave_half_open();
    A::send(&direct, maps().create(&map("a"))).unwrap();
    wait_until("it is seen", || cache.find("default/a").map(drop));
    running.stop();
}

fn an_operation_on_a_silent_wire_times_out_and_the_next_works<A: Adapter>() {
    let cluster = Cluster::start();
    let proxy = Proxy::start(cluster.server.addr());
    let client = A::with_limits(
        A::client(&proxy.url()),
        Limits { call_timeout: Duration::from_millis(300), ..Limits::default() },
    );
    A::send(&client, maps().create(&map("a"))).unwrap();
    proxy.leave_half_open();
    let patch = Patch::Merge(json!({"data": {"k": "v"}}));
    assert_eq!(A::send(&client, maps().patch("a", &patch)).unwrap_err(), Error::Failed(Failure::TimedOut));
    // That connection is not used again.
    let unpatched = A::send(&client, maps().get("a")).unwrap();
    assert!(unpatched.data.is_none());
}

fn an_idle_connection_that_was_cut_is_not_used_again<A: Adapter>() {
    let cluster = Cluster::start();
    let proxy = Proxy::start(cluster.server.addr());
    let client = A::client(&proxy.url());
    for n in 0..3 {
        A::send(&client, maps().create(&map(&format!("m{n}")))).unwrap();
        proxy.cut();
    }
    assert_eq!(A::send(&client, maps().list(&ListOptions::default())).unwrap().items.len(), 3);
}

with_both_adapters! {
    a_watch_that_is_cut_is_resumed,
    a_watch_that_falls_silent_is_given_up_and_resumed,
    an_operation_on_a_silent_wire_times_out_and_the_next_works,
    an_idle_connection_that_was_cut_is_not_used_again,
}
