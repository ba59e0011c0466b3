//! A minimal controller of ReplicaSets with kube-rs: it watches sets and pods, creates and deletes pods, and writes how many there are.
//!
//! It is there to be compared in size with the minimal controllers of sanskube, and does less than they do: no adoption, no
//! expectations, no ranking of what is deleted, no conditions, no events, no ReplicationControllers.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Client, Error, Resource, ResourceExt};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::try_default().await?;
    Controller::new(Api::<ReplicaSet>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Pod>::all(client.clone()), watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(|result| async move {
            if let Err(error) = result {
                eprintln!("{error}");
            }
        })
        .await;
    Ok(())
}

async fn reconcile(set: Arc<ReplicaSet>, client: Arc<Client>) -> Result<Action, Error> {
    let (namespace, name) = (set.namespace().unwrap_or_default(), set.name_any());
    let Some(spec) = set.spec.as_ref().filter(|_| set.metadata.deletion_timestamp.is_none()) else {
        return Ok(Action::await_change());
    };
    let pods = Api::<Pod>::namespaced(client.as_ref().clone(), &namespace);
    let owned: Vec<Pod> = pods
        .list(&ListParams::default())
        .await?
        .items
        .into_iter()
        .filter(|pod| pod.owner_references().iter().any(|owner| Some(&owner.uid) == set.metadata.uid.as_ref()))
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .collect();
    let desired = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or_default();
    let template = spec.template.clone().unwrap_or_default();
    for _ in owned.len()..desired {
        let labels = template.metadata.as_ref().and_then(|metadata| metadata.labels.clone());
        let metadata = ObjectMeta {
            generate_name: Some(format!("{name}-")),
            labels,
            owner_references: set.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        };
        let pod = Pod { metadata, spec: template.spec.clone(), ..Pod::default() };
        pods.create(&PostParams::default(), &pod).await?;
    }
    for pod in owned.iter().skip(desired) {
        pods.delete(&pod.name_any(), &DeleteParams::default()).await?;
    }
    let status = format!(r#"{{"status":{{"replicas":{desired}}}}}"#);
    let status = k8s_openapi::serde_json::from_str::<k8s_openapi::serde_json::Value>(&status).map_err(Error::SerdeError)?;
    Api::<ReplicaSet>::namespaced(client.as_ref().clone(), &namespace)
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(Action::await_change())
}
