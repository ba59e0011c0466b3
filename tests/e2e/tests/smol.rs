//! What only the smol adapter has to show: it runs in any executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use async_executor::{Executor, LocalExecutor};
use futures_lite::future;
use k8s_openapi::api::core::v1::ConfigMap;
use sanskube::client::Api;
use sanskube::controller::{Controller, When};
use sanskube_e2e::cluster::Cluster;
use sanskube_smol::{Client, Runner, Server};
use serde_json::json;

fn maps() -> Api<ConfigMap> {
    Api::in_namespace("default")
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// Creates a config map, lets a controller see it, and stops.
async fn a_controller_runs(url: String) {
    let client = Client::new(Server::new(url), 2);
    client.send(maps().create(&map("a"))).await.unwrap();
    let runner = Runner::new(&client);
    let cache = runner.watch::<ConfigMap>(maps());
    let stopper = runner.stopper();
    let seen = Arc::new(AtomicUsize::new(0));
    let sees = seen.clone();
    let reconcile = move |_, _, _| {
        sees.fetch_add(1, Ordering::SeqCst);
        let stopper = stopper.clone();
        async move {
            stopper.stop();
            Ok(When::Changed)
        }
    };
    runner.add(Controller::new("test", cache.watch()), reconcile).unwrap();
    runner.run().await;
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[test]
fn a_controller_runs_in_any_executor() {
    let on_two_threads = |future: future::Boxed<()>| {
        let executor = Arc::new(Executor::new());
        let (done, ended) = channel();
        let task = executor.spawn(async move {
            future.await;
            done.send(()).unwrap();
        });
        let (stop, stopped) = async_channel::bounded::<()>(1);
        let threads = [(); 2].map(|()| {
            let (executor, stopped) = (executor.clone(), stopped.clone());
            std::thread::spawn(move || future::block_on(executor.run(async { stopped.recv().await.unwrap_err() })))
        });
        ended.recv().unwrap();
        drop(stop);
        for thread in threads {
            thread.join().unwrap();
        }
        drop(task);
    };
    type Run<'a> = &'a dyn Fn(future::Boxed<()>);
    let executors: [(&str, Run<'_>); 4] = [
        ("futures_lite", &|future| future::block_on(future)),
        ("smol", &|future| smol::block_on(future)),
        ("a local executor", &|future| future::block_on(LocalExecutor::new().run(future))),
        ("an executor on two threads", &on_two_threads),
    ];
    for (name, run) in executors {
        println!("in {name}");
        let cluster = Cluster::start();
        run(Box::pin(a_controller_runs(cluster.server.url())));
    }
}
