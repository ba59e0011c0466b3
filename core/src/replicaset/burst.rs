//! Bursts: the creations or deletions of one sync, several in flight at once.

use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

use super::ReplicaSetController;
use super::answer::{body_of, written_meta};
use super::guard::Cache;
use super::slow_start::SlowStart;
use crate::object::{Object, Pod, ReplicaSet, Resource};
use crate::recorder::{Event, EventType, ObjectReference};
use crate::request::{JSON, Method, Outcome, Request};
use crate::resource_version::ResourceVersion;

/// The creations of a sync: the same request in the batches of a slow start.
#[derive(Debug)]
pub(super) struct Creations {
    slow_start: SlowStart,
    request: Request,
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

    pub(super) fn is_done(&self) -> bool {
        self.slow_start.is_done()
    }

    /// Creations that will not be made after a failure.
    pub(super) fn skipped(&self) -> usize {
        self.slow_start.skipped()
    }

    /// Takes the outcome of a creation. A namespace that is ending ends the slow start as a failure does, but is none.
    pub(super) fn handle_outcome(
        &mut self,
        controller: &mut ReplicaSetController,
        set: &ReplicaSet,
        outcome: Outcome,
        events: &mut VecDeque<Event>,
    ) {
        let uid = &set.meta().uid;
        let answer = body_of(outcome);
        self.slow_start.handle_outcome(answer.is_ok());
        let e = match answer {
            Ok(body) => {
                let meta = written_meta(&body);
                let name = meta.as_ref().map_or("(name unknown)", |meta| meta.name());
                log::debug!("{set:?}: created pod {name}");
                events.push_back(event(
                    set,
                    EventType::Normal,
                    "SuccessfulCreate",
                    format_args!("Created pod: {name}"),
                ));
                let version = meta.map_or(ResourceVersion::NONE, |meta| meta.resource_version);
                controller.expectations.wrote_at(uid, &version);
                return controller.wrote_pod(set, version);
            }
            Err(e) => e,
        };
        controller.expectations.creation_observed(uid);
        if e.is_namespace_terminating() {
            log::debug!("{set:?}: not creating pods, its namespace is being deleted");
            return;
        }
        log::info!("{set:?}: could not create a pod, expecting one less: {e}");
        events.push_back(event(set, EventType::Warning, "FailedCreate", format_args!("Error creating: {e}")));
        self.failure.get_or_insert_with(|| e.to_string());
    }
}

/// A pod to be deleted, and the version that it has as far as is known.
#[derive(Clone, Debug)]
pub(super) struct Victim {
    pub(super) pod: Arc<Pod>,
    pub(super) version: ResourceVersion,
}

/// The deletions of a sync, all of which may be in flight together.
#[derive(Debug)]
pub(super) struct Deletions {
    victims: Vec<Victim>,
    begun: usize,
    ended: usize,
    /// Why the first deletion that failed did.
    pub(super) failure: Option<String>,
    /// A pod was not as the cache shows it, so it was not deleted.
    pub(super) stale: bool,
}

impl Deletions {
    pub(super) fn new(victims: Vec<Victim>) -> Self {
        Self { victims, begun: 0, ended: 0, failure: None, stale: false }
    }

    /// The next deletion, and which pod it is about.
    pub(super) fn poll_request(&mut self) -> Option<(Request, Arc<Pod>)> {
        let victim = self.victims.get(self.begun)?;
        self.begun += 1;
        Some((victim.delete_request(), Arc::clone(&victim.pod)))
    }

    pub(super) fn is_done(&self) -> bool {
        self.ended >= self.victims.len()
    }

    /// Takes the outcome of the deletion of `pod`. One that is gone already is no failure, and neither is one that has changed since the cache
    /// saw it.
    pub(super) fn handle_outcome(
        &mut self,
        controller: &mut ReplicaSetController,
        set: &ReplicaSet,
        pod: &Pod,
        outcome: Outcome,
        events: &mut VecDeque<Event>,
    ) {
        self.ended += 1;
        let uid = &set.meta().uid;
        let e = match body_of(outcome) {
            Ok(body) => {
                let version = written_meta(&body).map_or(ResourceVersion::NONE, |meta| meta.resource_version);
                controller.expectations.wrote_at(uid, &version);
                let message = format_args!("Deleted pod: {}", pod.name());
                events.push_back(event(set, EventType::Normal, "SuccessfulDelete", message));
                return;
            }
            Err(e) => e,
        };
        controller.expectations.deletion_observed(uid, pod.key());
        if e.is_not_found() {
            log::debug!("{set:?}: {pod:?} is gone already");
        } else if e.is_conflict() {
            log::info!("{set:?}: {pod:?} has changed, not deleting it: {e}");
            self.stale = true;
        } else {
            log::info!("{set:?}: could not delete {pod:?}, expecting one less: {e}");
            events.push_back(event(set, EventType::Warning, "FailedDelete", format_args!("Error deleting: {e}")));
            self.failure.get_or_insert_with(|| alloc::format!("unable to delete pods: {e}"));
        }
    }
}

impl Victim {
    /// A request that deletes the pod if it is just as it is known.
    ///
    /// Upstream sends no preconditions; a pod that was released, or made anew under the same name, since the cache saw it would be deleted
    /// (kubernetes/kubernetes#138818).
    fn delete_request(&self) -> Request {
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
            #[serde(skip_serializing_if = "String::is_empty")]
            resource_version: String,
        }

        let preconditions =
            Preconditions { uid: String::from(&self.pod.uid()), resource_version: self.version.to_string() };
        let options = DeleteOptions { kind: "DeleteOptions", api_version: "v1", preconditions };
        Request {
            method: Method::Delete,
            path: Resource::PODS.object_path(self.pod.namespace(), self.pod.name(), ""),
            content_type: JSON,
            body: serde_json::to_vec(&options).expect("a struct of texts has a JSON form"),
        }
    }
}

impl ReplicaSetController {
    /// Notes that a pod of a set now has this version, if the answer told.
    pub(super) fn wrote_pod(&mut self, set: &ReplicaSet, version: ResourceVersion) {
        if !version.is_none() {
            self.guard.wrote_at(&set.meta().key, &set.meta().uid, Cache::Pods, version);
        }
    }
}

fn event(set: &ReplicaSet, event_type: EventType, reason: &'static str, message: core::fmt::Arguments<'_>) -> Event {
    let resource = set.kind().resource();
    Event {
        component: Cow::Borrowed(set.kind().component()),
        object: ObjectReference {
            kind: resource.kind.clone(),
            namespace: set.namespace().into(),
            name: set.name().into(),
            uid: set.uid(),
            api_version: resource.api_version().into_owned(),
            resource_version: set.resource_version().to_string(),
        },
        event_type,
        reason: Cow::Borrowed(reason),
        message: message.to_string(),
    }
}
