//! The examples do what they say.
#![allow(unreachable_pub, reason = "the examples are modules here")]

use std::io::Read as _;
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::thread::spawn;

use futures_lite::future::block_on;
use k8s_openapi::api::core::v1::ConfigMap;
use sanskube::client::{Api, DeleteOptions, Patch};
use sanskube_e2e::cluster::{Cluster, PODS};
use sanskube_e2e::process::wait_until;
use sanskube_smol::access::Wish;
use sanskube_smol::{Client, Runner, Server};
use serde_json::{Value, json};

#[path = "../../../core/examples/by_hand.rs"]
mod by_hand;
#[path = "../../../adapter-smol/examples/config_map_copier.rs"]
mod config_map_copier;
#[path = "../../../adapter-smol/examples/controller.rs"]
mod controller;
#[path = "../../../adapter-smol/examples/custom_resource.rs"]
mod custom_resource;
#[path = "../../../adapter-smol/examples/embedded_replicaset.rs"]
mod embedded_replicaset;
#[path = "../../../adapter-smol/examples/informer.rs"]
mod informer;

fn client(cluster: &Cluster) -> Client {
    Client::new(Server::new(cluster.server.url()), 2)
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": value}})).unwrap()
}

#[test]
fn the_informer_tells_of_each_change() {
    let cluster = Cluster::start();
    let client = client(&cluster);
    let maps = Api::<ConfigMap>::in_namespace("default");
    block_on(client.send(maps.create(&map("a", "1")))).unwrap();
    let runner = Runner::new(&client);
    let stopper = runner.stopper();
    let mut lines = Vec::new();
    block_on(informer::inform(runner, |line| {
        match lines.len() {
            0 => drop(block_on(client.send(maps.patch("a", &Patch::Merge(json!({"data": {"k": "2"}}))))).unwrap()),
            1 => drop(block_on(client.send(maps.delete("a", &DeleteOptions::default()))).unwrap()),
            _ => stopper.stop(),
        }
        lines.push(line);
    }));
    assert_eq!(lines, ["Add(initial) default/a", "Update default/a", "Delete(Deleted) default/a"]);
}

#[test]
fn the_copier_keeps_copies_and_nothing_but_its_own() {
    let cluster = Cluster::start();
    let client = client(&cluster);
    let (from, to) = (Api::<ConfigMap>::in_namespace("default"), Api::<ConfigMap>::in_namespace("kube-public"));
    let value = |name: &str| block_on(client.send(to.get(name))).ok()?.data?.remove("k");
    let show = |version| cluster.server.with_api(|api, _| api.faults_mut().set_replica("late", version));

    // The copier is shown how things were before the other namespace had a map of this name.
    for name in ["a", "theirs"] {
        block_on(client.send(from.create(&map(name, "1")))).unwrap();
    }
    cluster.server.with_api(|api, _| api.faults_mut().route("", "late"));
    show(Some(cluster.version()));
    block_on(client.send(to.create(&map("theirs", "own")))).unwrap();

    let runner = Runner::new(&client);
    config_map_copier::add(&runner, "default", "kube-public").unwrap();
    let (stopper, running) = (runner.stopper(), spawn(move || block_on(runner.run())));
    wait_until("it is copied", || (value("a")? == "1").then_some(()));
    show(None);
    block_on(client.send(from.patch("a", &Patch::Merge(json!({"data": {"k": "2"}}))))).unwrap();
    wait_until("the copy follows", || (value("a")? == "2").then_some(()));
    block_on(client.send(to.delete("a", &DeleteOptions::default()))).unwrap();
    wait_until("a deleted copy comes back", || (value("a")? == "2").then_some(()));
    block_on(client.send(from.delete("a", &DeleteOptions::default()))).unwrap();
    wait_until("the copy goes with its source", || value("a").is_none().then_some(()));
    assert_eq!(value("theirs").unwrap(), "own");
    stopper.stop();
    running.join().unwrap();
}

#[test]
fn the_custom_resource_has_its_pages_its_status_its_events_and_its_end() {
    let cluster = Cluster::start();
    let client = client(&cluster);
    block_on(custom_resource::define(&client)).unwrap();
    let runner = Runner::new(&client);
    custom_resource::add(&runner).unwrap();
    let (stopper, running) = (runner.stopper(), spawn(move || block_on(runner.run())));
    let sites = Api::<Raw>::new(custom_resource::SITES).within("default");
    let site = json!({"metadata": {"name": "shop"}, "spec": {"pages": 3}});
    block_on(client.send(sites.create(&Raw(site)))).unwrap();

    let get = || block_on(client.send(sites.get("shop"))).ok();
    let pages = || {
        let list = cluster.get("/api/v1/namespaces/default/configmaps");
        let names =
            list["items"].as_array().unwrap().iter().map(|page| page["metadata"]["name"].as_str().unwrap().to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    wait_until("the status says three pages", || (get()?.0["status"]["pages"] == 3).then_some(()));
    assert_eq!(pages(), ["shop-0", "shop-1", "shop-2"]);
    assert_eq!(get().unwrap().0["metadata"]["finalizers"], json!(["example.com/pages"]));
    wait_until("the event is written", || {
        let events = cluster.get("/api/v1/namespaces/default/events");
        let event = events["items"].as_array()?.iter().find(|event| event["reason"] == "Published")?.clone();
        (event["message"] == "3 pages" && event["involvedObject"]["name"] == "shop").then_some(())
    });

    let maps = Api::<ConfigMap>::in_namespace("default");
    block_on(client.send(maps.delete("shop-1", &DeleteOptions::default()))).unwrap();
    wait_until("a lost page comes back", || (pages().len() == 3).then_some(()));
    block_on(client.send(sites.patch("shop", &Patch::Merge(json!({"spec": {"pages": 1}}))))).unwrap();
    wait_until("the surplus goes", || (pages() == ["shop-0"]).then_some(()));
    block_on(client.send(sites.delete("shop", &DeleteOptions::default()))).unwrap();
    wait_until("the site ends", || get().is_none().then_some(()));
    assert!(pages().is_empty(), "its pages went before it");
    stopper.stop();
    running.join().unwrap();
}

#[test]
fn the_controller_runs_beside_other_work() {
    let cluster = Cluster::start();
    cluster.create_set("web", 3);
    let program = embedded_replicaset::Program::new(&cluster.server.url(), ([127, 0, 0, 1], 0).into()).unwrap();
    let (page, stopper) = program.handles().unwrap();
    let running = spawn(move || smol::block_on(program.run()));
    wait_until("the pods are there", || (cluster.available("web") == 3).then_some(()));
    wait_until("the page says so", || {
        let mut text = String::new();
        TcpStream::connect(page).ok()?.read_to_string(&mut text).ok()?;
        text.ends_with("3 pods\n").then_some(())
    });
    stopper.stop();
    running.join().unwrap().unwrap();
}

#[test]
fn the_minimal_controller_controls_until_it_is_stopped() {
    let cluster = Cluster::start();
    cluster.create_set("web", 3);
    let wish = Wish { server: Some(cluster.server.url()), ..Wish::default() };
    let (tell, told) = channel();
    let running = spawn(move || {
        let tell = move |stopper| tell.send(stopper).expect("the test waits for it");
        controller::control(&wish, tell).expect("the cluster is there");
    });
    wait_until("the pods are there", || (cluster.available("web") == 3).then_some(()));
    told.recv().unwrap().stop();
    running.join().unwrap();
}

#[test]
fn the_core_is_driven_by_hand() {
    let cluster = Cluster::start();
    let pod = |name: &str| json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "registry.example/c:1"}]}});
    let pods = Api::<Raw>::new(sanskube::object::Resource::PODS).within("default");
    for name in ["a", "b"] {
        block_on(client(&cluster).send(pods.create(&Raw(pod(name))))).unwrap();
    }
    let mut lines = Vec::new();
    by_hand::list(cluster.get(PODS).to_string().as_bytes(), |line| lines.push(line)).unwrap();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("default/a Some("), "{lines:?}");
    assert!(by_hand::list(b"not a list", |_| {}).is_err());
}

/// An object as it comes.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
struct Raw(Value);

impl sanskube::object::Object for Raw {
    fn namespace(&self) -> &str {
        self.0["metadata"]["namespace"].as_str().unwrap_or_default()
    }
    fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().unwrap_or_default()
    }
    fn uid(&self) -> sanskube::uid::Uid {
        self.0["metadata"]["uid"].as_str().unwrap_or_default().into()
    }
    fn resource_version(&self) -> sanskube::resource_version::ResourceVersion {
        self.0["metadata"]["resourceVersion"].as_str().unwrap_or_default().into()
    }
}
