//! Whom a request is about.

use sanskube::request::{Method, Request};
use serde::Deserialize;

use super::history::History;
use super::objects::Pod;

/// The key of the set that a request is made for, or its uid.
pub(super) fn key_of(request: &Request, version: u64, pods: &History<Pod>) -> Option<String> {
    let mut parts = request.path.split('?').next()?.split("/namespaces/").nth(1)?.split('/');
    let (namespace, resource, name) = (parts.next()?, parts.next()?, parts.next());
    match (resource, request.method, name) {
        ("replicasets", _, Some(name)) => Some(format!("{namespace}/{name}")),
        ("pods", Method::Post | Method::Patch, _) => {
            let owner = serde_json::from_slice::<Owned>(&request.body).ok()?.metadata.owner_references.pop()?;
            Some(if owner.name.is_empty() { owner.uid } else { format!("{namespace}/{}", owner.name) })
        }
        ("pods", Method::Delete, Some(name)) => {
            let key = format!("{namespace}/{name}");
            // The cache shows a pod that the same sync has just adopted as an orphan.
            let shown = pods.at(&key, version).and_then(|pod| pod.metadata.set());
            shown.or_else(|| pods.now(&key)?.metadata.set()).map(str::to_owned)
        }
        _ => None,
    }
}

/// The uid of the pod that a patch adopts, if it does.
pub(crate) fn adopts(request: &Request) -> Option<String> {
    let metadata = serde_json::from_slice::<Owned>(&request.body).ok()?.metadata;
    // A release names its set by the uid alone.
    metadata.owner_references.iter().any(|owner| !owner.name.is_empty()).then_some(metadata.uid)
}

#[derive(Deserialize)]
struct Owned {
    metadata: OwnedMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnedMetadata {
    #[serde(default)]
    uid: String,
    owner_references: Vec<OwnerName>,
}

#[derive(Deserialize)]
struct OwnerName {
    #[serde(default)]
    name: String,
    uid: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adoption_names_its_set_and_a_release_does_not() {
        let patch = |owner: &str| Request {
            method: Method::Patch,
            body: format!(r#"{{"metadata": {{"uid": "p", "ownerReferences": [{owner}]}}}}"#).into_bytes(),
            ..Request::get("/api/v1/namespaces/default/pods/p".into())
        };
        assert_eq!(adopts(&patch(r#"{"uid": "s", "name": "web", "controller": true}"#)), Some("p".to_owned()));
        assert_eq!(adopts(&patch(r#"{"$patch": "delete", "uid": "s"}"#)), None);
    }
}
