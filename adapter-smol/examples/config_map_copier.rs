//! A controller that keeps copies of the config maps of one namespace in another.
//! `cargo run -p sanskube-smol --example config_map_copier -- http://127.0.0.1:8080 FROM TO`

use futures_lite::future;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use sanskube::client::{Api, DeleteOptions};
use sanskube::controller::{Cache, Controller, Result, When};
use sanskube::error::Misuse;
use sanskube::key::Key;
use sanskube::object::Object as _;
use sanskube_smol::{Client, Runner, Server};

const COPIED: &str = "example.com/copied";
type Maps = Cache<ConfigMap>;

/// Adds the controller to a runner.
pub fn add(runner: &Runner, from: &str, to: &str) -> std::result::Result<(), Misuse> {
    let sources = runner.watch::<ConfigMap>(Api::<ConfigMap>::in_namespace(from));
    let copies = runner.watch::<ConfigMap>(Api::<ConfigMap>::in_namespace(to));
    let (from, to) = (from.to_owned(), Api::in_namespace(to).with_field_manager("copier"));
    // Whatever happens to a copy is the business of its source.
    let controller = Controller::new("copier", sources.watch()).concurrency(4).watches(copies.watch(), {
        move |copy, _, wake| wake(Key::new(&from, copy.metadata.name.as_deref().unwrap_or_default()))
    });
    runner.add(controller, move |key, sources, client| copy(key, sources, copies.clone(), to.clone(), client))?;
    Ok(())
}

async fn copy(key: Key, from: Maps, copies: Maps, to: Api<ConfigMap>, client: Client) -> Result {
    let is_ours = |map: &ConfigMap| map.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(COPIED));
    // The cache is the past. Each write names what it was decided on, and the server refuses it if that is no more; then there is a next try.
    match (from.get(&key), copies.get(&Key::new(to.namespace(), key.name()))) {
        (Some(source), None) => {
            let labels = Some([(COPIED.to_owned(), "true".to_owned())].into());
            let metadata = ObjectMeta { name: Some(key.name().to_owned()), labels, ..ObjectMeta::default() };
            let copy = ConfigMap { metadata, data: source.data.clone(), ..ConfigMap::default() };
            client.send(to.create(&copy)).await?;
        }
        (Some(source), Some(copy)) if is_ours(&copy) && copy.data != source.data => {
            client.send(to.replace(&ConfigMap { data: source.data.clone(), ..ConfigMap::clone(&copy) })).await?;
        }
        (None, Some(copy)) if is_ours(&copy) => {
            let seen =
                DeleteOptions { resource_version: Some(copy.resource_version()), ..DeleteOptions::of_uid(copy.uid()) };
            client.send(to.delete(key.name(), &seen)).await?;
        }
        _ => {}
    }
    Ok(When::Changed)
}

#[allow(dead_code, reason = "the tests use the rest")]
fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().expect("usage: config_map_copier URL FROM TO");
    let runner = Runner::new(&Client::new(Server::new(next()), 4));
    add(&runner, &next(), &next()).expect("both collections are watched");
    future::block_on(runner.run());
}
