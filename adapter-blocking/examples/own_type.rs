//! Watches a custom resource with a type of one's own: `cargo run --example own_type -- http://127.0.0.1:8001`
use sanskube::informer::{Change, Informer};
use sanskube::machine::Watcher;
use sanskube::object::{Meta, Object, Resource};
use sanskube::{reflector::Config, resource_version::ResourceVersion, uid::Uid};
use sanskube_blocking::{Driver, Server};

#[derive(serde::Deserialize)]
struct CronTab {
    metadata: Meta,
    spec: Spec,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    cron_spec: String,
}

#[rustfmt::skip]
impl Object for CronTab {
    fn namespace(&self) -> &str { self.metadata.namespace() }
    fn name(&self) -> &str { self.metadata.name() }
    fn uid(&self) -> Uid { self.metadata.uid.clone() }
    fn resource_version(&self) -> ResourceVersion { self.metadata.resource_version.clone() }
}

fn main() -> std::io::Result<()> {
    let url = std::env::args().nth(1).expect("the URL of an API server");
    let (group, version) = ("stable.example.com".into(), "v1".into());
    let crontabs = Resource { group, version, plural: "crontabs".into(), kind: "CronTab".into() };
    let mut watcher =
        Watcher::new(Informer::<CronTab>::new(Config::new(crontabs)), |store, key, change| match change {
            Change::Add { object: t, .. } | Change::Update { new: t, .. } => println!("{key}: {}", t.spec.cron_spec),
            Change::Delete(_) => println!("{key} is gone, {} left", store.len()),
        });
    Driver::new(Server::new(url), 1)?.run(&mut watcher, |_, _| {});
    Ok(())
}
