//! The smol adapter leaves nothing behind, and many watches run on one thread.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use futures_lite::{StreamExt as _, future};
use k8s_openapi::api::core::v1::ConfigMap;
use sanskube::client::{Api, ListOptions};
use sanskube::controller::{Controller, When};
use sanskube::informer::Informer;
use sanskube::machine::Watcher;
use sanskube::object::{MetadataOnly, Resource};
use sanskube::reflector::Config;
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::process::wait_until;
use sanskube_smol::{Client, Driver, Runner, Server};
use serde_json::json;

fn maps() -> Api<ConfigMap> {
    Api::in_namespace("default")
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// How many sockets this process has.
fn sockets() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| entry.ok()?.path().read_link().ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

/// Polls a future until `enough`, then drops it.
async fn drop_when(running: impl Future, mut enough: impl FnMut() -> bool) {
    let waiting = async {
        while !enough() {
            future::yield_now().await;
        }
    };
    future::or(async { drop(running.await) }, waiting).await;
}

#[test]
fn what_is_dropped_leaves_no_socket_behind_and_a_thousand_watches_run_on_one_thread() {
    // One test alone in its process, since sockets are counted by process.
    let cluster = Cluster::start();
    let server = Server::new(cluster.server.url());
    let before = sockets();

    // A driver with a watch in flight.
    let informer = || Informer::<MetadataOnly>::new(Config::new(Resource::of::<ConfigMap>()));
    let mut watcher = Watcher::new(informer(), |_, _, _| {});
    let synced = AtomicUsize::new(0);
    let driver = Driver::new(server.clone(), 2);
    let running = driver.run(&mut watcher, |watcher, _| {
        // The list has come, so the watch has been asked for.
        synced.fetch_add(usize::from(watcher.informer().has_synced()), Ordering::SeqCst);
    });
    future::block_on(drop_when(running, || synced.load(Ordering::SeqCst) > 0 && sockets() > before));
    wait_until("the driver's sockets are closed", || (sockets() == before).then_some(()));

    // A runner with a reconciliation under way, which is dropped with it.
    let client = Client::new(server.clone(), 2);
    future::block_on(client.send(maps().create(&map("a")))).unwrap();
    let runner = Runner::new(&client);
    let cache = runner.watch::<ConfigMap>(maps());
    let (begun, begins) = channel();
    let dropped = Arc::new(());
    let held = dropped.clone();
    let reconcile = move |_, _, client: Client| {
        begun.send(()).unwrap();
        let held = held.clone();
        async move {
            let _held = held;
            let mut events = client.watch(maps().watch(&ListOptions::default()));
            while events.next().await.is_some() {}
            Ok(When::Changed)
        }
    };
    runner.add(Controller::new("test", cache.watch()), reconcile).unwrap();
    let mut changes = runner.changes(&cache).unwrap();
    future::block_on(drop_when(runner.run(), || begins.try_recv().is_ok()));
    assert_eq!(future::block_on(changes.next()).map(|(key, _)| key.to_string()), Some("default/a".to_owned()));
    assert!(future::block_on(changes.next()).is_none(), "the changes end");
    assert_eq!(Arc::strong_count(&dropped), 1, "the reconciliation was dropped, and with the runner its function");
    drop((client, changes));
    wait_until("the runner's sockets are closed", || (sockets() == before).then_some(()));

    // An operation that is not waited for.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let before = sockets();
    let client = Client::new(Server::new(format!("http://{}", silent.local_addr().unwrap())), 2);
    let mut accepted = None;
    silent.set_nonblocking(true).unwrap();
    future::block_on(drop_when(client.send(maps().get("a")), || {
        accepted = accepted.take().or_else(|| silent.accept().ok());
        accepted.is_some()
    }));
    drop(accepted);
    wait_until("the client's socket is closed", || (sockets() == before).then_some(()));

    // A thousand watches, all on this thread.
    const WATCHES: usize = 1_000;
    let runner = Runner::new(&Client::new(server, 2));
    let caches: Vec<_> = (0..WATCHES)
        .map(|_| runner.watch::<MetadataOnly>(Api::<MetadataOnly>::new(Resource::of::<ConfigMap>())))
        .collect();
    let stopper = runner.stopper();
    let looking = async {
        assert!(runner.wait_for_sync().await);
        future::block_on(runner.client().send(maps().create(&map("b")))).unwrap();
        while !caches.iter().all(|cache| cache.find("default/b").is_some()) {
            future::yield_now().await;
        }
        assert!(sockets() >= before + WATCHES);
        stopper.stop();
    };
    future::block_on(future::zip(runner.clone().run(), looking));
    drop(runner);
}
