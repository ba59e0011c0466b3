//! Gives each namespace with a label `example.com/pods` a quota of so many pods: two kinds, one mapped to the other, and server-side apply.
//! `cargo run -p sanskube-blocking --example namespace_quotas -- http://127.0.0.1:8080`, and `kubectl label ns default example.com/pods=5`.
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota};
use sanskube::client::{Api, DeleteOptions};
use sanskube::controller::{Cache, Controller, Result, When};
use sanskube::error::Misuse;
use sanskube::key::Key;
use sanskube::object::Object as _;
use sanskube_blocking::{Client, Runner, Server};
use serde_json::json;

const LABEL: &str = "example.com/pods";
/// The name that this controller keeps for itself in each namespace: a quota of this name is its own, whoever made it.
const QUOTA: &str = "namespace-quotas";

/// Adds the controller to a runner.
pub fn add(runner: &Runner) -> std::result::Result<(), Misuse> {
    let namespaces = runner.watch::<Namespace>(Api::<Namespace>::all());
    let quotas = runner.watch::<ResourceQuota>(Api::<ResourceQuota>::all());
    // Whatever happens to a quota is the business of its namespace.
    let controller = Controller::new("namespace-quotas", namespaces.watch()).concurrency(4).watches(
        quotas.watch(),
        |quota, _, wake| {
            if quota.name() == QUOTA {
                wake(Key::new("", quota.namespace()));
            }
        },
    );
    runner.add(controller, move |key, namespaces, client| reconcile(&key, &namespaces, &quotas, &client))?;
    Ok(())
}

fn reconcile(key: &Key, namespaces: &Cache<Namespace>, quotas: &Cache<ResourceQuota>, client: &Client) -> Result {
    let namespace = namespaces.get(key).filter(|namespace| namespace.metadata.deletion_timestamp.is_none());
    let wanted = namespace.and_then(|namespace| namespace.metadata.labels.as_ref()?.get(LABEL).cloned());
    let quota = quotas.get(&Key::new(key.name(), QUOTA));
    let limit = quota.as_ref().and_then(|quota| Some(quota.spec.as_ref()?.hard.as_ref()?.get("pods")?.0.clone()));
    let api = Api::<ResourceQuota>::in_namespace(key.name()).with_field_manager("namespace-quotas");
    match (wanted, quota) {
        (Some(pods), _) if limit.as_ref() != Some(&pods) => {
            let quota = json!({"metadata": {"name": QUOTA}, "spec": {"hard": {"pods": pods}}});
            client.send(api.apply(&serde_json::from_value(quota)?, true))?;
        }
        (None, Some(quota)) => drop(client.send(api.delete(QUOTA, &DeleteOptions::of_uid(quota.uid())))?),
        _ => {}
    }
    Ok(When::Changed)
}

#[allow(dead_code, reason = "the tests use the rest")]
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: namespace_quotas URL")?;
    let runner = Runner::new(&Client::new(Server::new(url), 4))?;
    add(&runner)?;
    runner.run();
    Ok(())
}
