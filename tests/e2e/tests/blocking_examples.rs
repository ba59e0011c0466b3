//! The examples of the blocking adapter do what they say.
#![allow(unreachable_pub, reason = "the examples are modules here")]

use std::fs::{read_to_string, remove_file};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use sanskube_apiserver::Request;
use sanskube_blocking::{Client, Runner, Server};
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::process::wait_until;
use serde_json::{Value, json};

#[path = "../../../adapter-blocking/examples/config_map_exporter.rs"]
mod config_map_exporter;
#[path = "../../../adapter-blocking/examples/namespace_quotas.rs"]
mod namespace_quotas;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn runner(cluster: &Cluster) -> Runner {
    Runner::new(&Client::new(Server::new(cluster.server.url()), 2)).unwrap()
}

fn start(runner: &Runner) -> JoinHandle<()> {
    let runner = runner.clone();
    spawn(move || runner.run())
}

fn patch(cluster: &Cluster, path: &str, patch: &Value) {
    cluster.ask(&Request::new("PATCH", path).with_body("application/merge-patch+json", patch.to_string()));
}

#[test]
fn namespaces_get_the_quotas_they_ask_for() {
    let cluster = Cluster::start();
    let runner = runner(&cluster);
    namespace_quotas::add(&runner).unwrap();
    let running = start(&runner);
    let label = |pods: Value| {
        let labels = json!({"metadata": {"labels": {"example.com/pods": pods}}});
        patch(&cluster, "/api/v1/namespaces/default", &labels);
    };
    // The one quota there is, of the one namespace that asks for it.
    let limit = || {
        let list = cluster.get("/api/v1/resourcequotas");
        let [quota] = &list["items"].as_array()?[..] else { return None };
        assert_eq!(quota["metadata"]["namespace"], "default");
        quota["spec"]["hard"]["pods"].as_str().map(str::to_owned)
    };
    label("5".into());
    wait_until("a quota", || (limit()? == "5").then_some(()));
    label("7".into());
    wait_until("another limit", || (limit()? == "7").then_some(()));
    patch(&cluster, &format!("{QUOTAS}/namespace-quotas"), &json!({"spec": {"hard": {"pods": "100"}}}));
    wait_until("the limit that is asked for again", || (limit()? == "7").then_some(()));
    cluster.ask(&Request::new("DELETE", &format!("{QUOTAS}/namespace-quotas")));
    wait_until("a new quota", || (limit()? == "7").then_some(()));
    label(Value::Null);
    wait_until("no quota", || limit().is_none().then_some(()));
    runner.stopper().stop();
    running.join().unwrap();
}

#[test]
fn config_maps_are_exported_and_do_not_go_before_their_files() {
    let (cluster, folder) = (Cluster::start(), tempfile::tempdir().unwrap());
    let file = folder.path().join("prices");
    let text = || read_to_string(&file).ok();
    let runner = runner(&cluster);
    config_map_exporter::add(&runner, "default", folder.path().into(), Duration::from_millis(20)).unwrap();
    let running = start(&runner);
    cluster.create(MAPS, &json!({"metadata": {"name": "prices", "finalizers": ["a.b/c"]}, "data": {"apple": "2"}}));
    wait_until("a file", || text()?.contains(r#""apple": "2""#).then_some(()));
    let prices = || cluster.get(&format!("{MAPS}/prices"));
    assert_eq!(prices()["metadata"]["finalizers"], json!(["a.b/c", "example.com/exported"]));
    // Nothing happens in the cluster when a file is lost.
    remove_file(&file).unwrap();
    wait_until("the file again", || text().map(drop));
    patch(&cluster, &format!("{MAPS}/prices"), &json!({"data": {"apple": "3"}}));
    wait_until("the new price", || text()?.contains(r#""apple": "3""#).then_some(()));
    // While nobody runs, the config map has to wait.
    runner.stopper().stop();
    running.join().unwrap();
    cluster.ask(&Request::new("DELETE", &format!("{MAPS}/prices")));
    assert!(prices()["metadata"]["deletionTimestamp"].is_string() && text().is_some());
    let runner = self::runner(&cluster);
    config_map_exporter::add(&runner, "default", folder.path().into(), Duration::from_millis(20)).unwrap();
    let running = start(&runner);
    wait_until("only the finalizer of others", || {
        (prices()["metadata"]["finalizers"] == json!(["a.b/c"])).then_some(())
    });
    assert!(text().is_none(), "the file goes first");
    patch(&cluster, &format!("{MAPS}/prices"), &json!({"metadata": {"finalizers": null}}));
    wait_until("the end of the config map", || cluster.get(MAPS)["items"].as_array()?.is_empty().then_some(()));
    runner.stopper().stop();
    running.join().unwrap();
}
