//! A controller of a custom resource, with owned objects, a finalizer, a status and events: a site gets the pages it asks for.
//! `cargo run -p sanskube-smol --example custom_resource -- http://127.0.0.1:8080`, and then `kubectl create` a site.

use futures_lite::future;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use sanskube::client::{Api, DeleteOptions, Finalizer, Finalizing, Patch};
use sanskube::controller::{Cache, Controller, Result, When};
use sanskube::object::{Controlled as _, Object, Resource};
use sanskube::recorder::{Event, EventType, ObjectReference};
use sanskube::{key::Key, resource_version::ResourceVersion, uid::Uid};
use sanskube_smol::{Client, Runner, Server};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// Where sites live.
pub const SITES: Resource = Resource {
    group: Cow::Borrowed("example.com"),
    version: Cow::Borrowed("v1"),
    plural: Cow::Borrowed("sites"),
    kind: Cow::Borrowed("Site"),
};
const FINALIZER: Finalizer = Finalizer("example.com/pages");
type Done<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A site: only the fields that this controller looks at. It writes patches, so it keeps what it does not know.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Site {
    metadata: ObjectMeta,
    spec: Count,
    #[serde(default)]
    status: Count,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
struct Count {
    pages: usize,
}

#[rustfmt::skip]
impl Object for Site {
    fn namespace(&self) -> &str { self.metadata.namespace.as_deref().unwrap_or_default() }
    fn name(&self) -> &str { self.metadata.name.as_deref().unwrap_or_default() }
    fn uid(&self) -> Uid { self.metadata.uid.as_deref().unwrap_or_default().into() }
    fn resource_version(&self) -> ResourceVersion { self.metadata.resource_version.as_deref().unwrap_or_default().into() }
}

/// Tells the server what a site is.
pub async fn define(client: &Client) -> Done<CustomResourceDefinition> {
    let count = json!({"type": "object", "properties": {"pages": {"type": "integer"}}, "required": ["pages"]});
    let schema = json!({"type": "object", "properties": {"spec": count, "status": count}, "required": ["spec"]});
    let definition = json!({"metadata": {"name": "sites.example.com"}, "spec": {"group": SITES.group, "scope": "Namespaced",
        "names": {"plural": SITES.plural, "kind": SITES.kind}, "versions": [{"name": SITES.version, "served": true,
            "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]}});
    let definitions = Api::<CustomResourceDefinition>::all().with_field_manager("sites");
    Ok(client.send(definitions.apply(&serde_json::from_value(definition)?, true)).await?)
}

/// Adds the controller to a runner.
pub fn add(runner: &Runner) -> Done {
    let (sites, pages) = (runner.watch::<Site>(Api::<Site>::new(SITES)), runner.watch(Api::<ConfigMap>::all()));
    let controller = Controller::new("sites", sites.watch()).concurrency(4).owns(pages.watch());
    let tell = runner.clone();
    runner.add(controller, move |key, sites, client| reconcile(key, sites, pages.clone(), client, tell.clone()))?;
    Ok(())
}

async fn reconcile(key: Key, sites: Cache<Site>, pages: Cache<ConfigMap>, client: Client, tell: Runner) -> Result {
    let Some(site) = sites.get(&key) else { return Ok(When::Changed) };
    let of_sites = Api::<Site>::new(SITES).within(key.namespace());
    let of_pages = Api::<ConfigMap>::in_namespace(key.namespace()).with_field_manager("sites");
    let (wanted, let_go) = match FINALIZER.of(&site.metadata) {
        Finalizing::Add(patch) => {
            client.send(of_sites.patch(key.name(), &patch)).await?;
            return Ok(When::Changed);
        }
        Finalizing::CleanUp(patch) => (0, Some(patch)),
        Finalizing::Ended => return Ok(When::Changed),
        Finalizing::Live => (site.spec.pages, None),
    };
    let ours = |page: &ConfigMap| page.controller().is_some_and(|owner| owner.uid == Object::uid(&*site));
    let names: Vec<String> = (0..wanted).map(|n| format!("{}-{n}", key.name())).collect();
    let there: Vec<_> = pages.list().into_iter().filter(|page| ours(page)).collect();
    for page in there.iter().filter(|page| !names.iter().any(|name| name == page.name())) {
        let gone = client.send(of_pages.delete(page.name(), &DeleteOptions::of_uid(Object::uid(&**page)))).await;
        gone.map(drop).or_else(|error| if error.is_not_found() { Ok(()) } else { Err(error) })?;
    }
    for name in names.iter().filter(|name| !there.iter().any(|page| page.name() == *name)) {
        let owner = json!([{"apiVersion": SITES.api_version(), "kind": SITES.kind, "name": key.name(), "uid": site.metadata.uid,
            "controller": true}]);
        let page = json!({"metadata": {"name": name, "ownerReferences": owner}, "data": {"text": "Welcome"}});
        client.send(of_pages.create(&serde_json::from_value(page)?)).await?;
    }
    if let Some(patch) = let_go {
        client.send(of_sites.patch(key.name(), &patch)).await?;
    } else if site.status.pages != wanted {
        client.send(of_sites.patch_status(key.name(), &Patch::Merge(json!({"status": {"pages": wanted}})))).await?;
        let (object, event_type) = (ObjectReference::of(&*site, &SITES), EventType::Normal);
        let (reason, message) = ("Published".into(), format!("{wanted} pages"));
        tell.record(Event { component: "sites".into(), object, event_type, reason, message });
    }
    Ok(When::Changed)
}

#[allow(dead_code, reason = "the tests use the rest")]
fn main() -> Done {
    let url = std::env::args().nth(1).ok_or("usage: custom_resource URL")?;
    let runner = Runner::new(&Client::new(Server::new(url), 4));
    add(&runner)?;
    future::block_on(define(runner.client()))?;
    future::block_on(runner.run());
    Ok(())
}
