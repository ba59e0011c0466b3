//! Bursts: the creations or deletions of one sync, several in flight at once.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

use super::slow_start::SlowStart;
use crate::object::{Object, Pod, Resource};
use crate::request::{JSON, Method, Request};

/// The creations of a sync: the same request in the batches of a slow start.
#[derive(Debug)]
pub(super) struct Creations {
    pub(super) slow_start: SlowStart,
    pub(super) request: Request,
    /// Why the first creation that failed did.
    pub(super) failure: Option<String>,
}

impl Creations {
    pub(super) fn new(count: usize, request: Request) -> Self {
        Self { slow_start: SlowStart::new(count, 1), request, failure: None }
    }

    pub(super) fn poll_request(&mut self) -> Option<Request> {
        self.slow_start.poll_call().then(|| self.request.clone())
    }
}

/// The deletions of a sync, all of which may be in flight together.
#[derive(Debug)]
pub(super) struct Deletions {
    victims: Vec<Arc<Pod>>,
    begun: usize,
    ended: usize,
    /// Why the first deletion that failed did.
    pub(super) failure: Option<String>,
    /// A pod was not as the cache shows it, so it was not deleted.
    pub(super) stale: bool,
}

impl Deletions {
    pub(super) fn new(victims: Vec<Arc<Pod>>) -> Self {
        Self { victims, begun: 0, ended: 0, failure: None, stale: false }
    }

    /// The next deletion, and which pod it is about.
    pub(super) fn poll_request(&mut self) -> Option<(Request, Arc<Pod>)> {
        let pod = self.victims.get(self.begun)?;
        self.begun += 1;
        Some((delete_request(pod), Arc::clone(pod)))
    }

    pub(super) fn handle_end(&mut self) {
        self.ended += 1;
    }

    pub(super) fn is_done(&self) -> bool {
        self.ended >= self.victims.len()
    }
}

/// A request that deletes a pod if it is just as the cache shows it.
///
/// Upstream sends no preconditions; a pod that was released, or made anew under the same name, since the cache saw it would be deleted
/// (kubernetes/kubernetes#138818).
fn delete_request(pod: &Pod) -> Request {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct DeleteOptions {
        kind: &'static str,
        api_version: &'static str,
        preconditions: Preconditions,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Preconditions {
        uid: String,
        resource_version: String,
    }

    let options = DeleteOptions {
        kind: "DeleteOptions",
        api_version: "v1",
        preconditions: Preconditions {
            uid: String::from(&pod.uid()),
            resource_version: alloc::format!("{}", pod.resource_version()),
        },
    };
    Request {
        method: Method::Delete,
        path: Resource::PODS.object_path(pod.namespace(), pod.name(), ""),
        content_type: JSON,
        body: serde_json::to_vec(&options).expect("a struct of texts has a JSON form"),
    }
}
