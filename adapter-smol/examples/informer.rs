//! An informer: prints what happens to config maps. `cargo run -p sanskube-smol --example informer -- http://127.0.0.1:8080`

use futures_lite::{StreamExt as _, future};
use k8s_openapi::api::core::v1::ConfigMap;
use sanskube::client::Api;
use sanskube_smol::{Client, Runner, Server};

/// Tells of each change, until the runner stops.
pub async fn inform(runner: Runner, mut tell: impl FnMut(String)) {
    let maps = runner.watch::<ConfigMap>(Api::<ConfigMap>::all());
    let changes = runner.changes(&maps).expect("they are watched");
    let telling = changes.for_each(|(key, change)| tell(format!("{change:?} {key}")));
    future::zip(runner.run(), telling).await;
}

#[allow(dead_code, reason = "the tests use the rest")]
fn main() {
    let url = std::env::args().nth(1).expect("usage: informer URL");
    let runner = Runner::new(&Client::new(Server::new(url), 1));
    future::block_on(inform(runner, |line| println!("{line}")));
}
