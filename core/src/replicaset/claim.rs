//! The claim: which pods a set owns, after it has adopted those it selects and released those it does not.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

use super::answer::{CallFailure, body_of, written_meta};
use super::decision::Decision;
use super::predicates::is_active;
use super::template::{OwnerWire, controller_reference};
use crate::object::selector::Selector;
use crate::object::{Decode, LastAnswer, Object, OwnerReference, Pod, ReplicaSet, Resource};
use crate::request::{Method, Outcome, Request, STRATEGIC_MERGE_PATCH};
use crate::resource_version::ResourceVersion;

/// A set's claim to a number of pods, one request after the other.
///
/// Whether the set still exists and is not being deleted is asked once, before the first adoption; a set whose deletion the cache does not show yet
/// would take back the pods that the garbage collector is letting go. Both patches name the uid of the pod.
///
/// Mirrors `pkg/controller/controller_ref_manager.go`, `PodControllerRefManager`.
#[derive(Debug)]
pub struct Claim {
    set: Arc<ReplicaSet>,
    owner: OwnerReference,
    selector: Selector,
    bond: Bonds,
    pods: alloc::vec::IntoIter<Arc<Pod>>,
    recheck: Option<Result<(), String>>,
    step: Option<Step>,
    in_flight: bool,
    claimed: Vec<Arc<Pod>>,
    failures: Vec<String>,
}

/// What is to be done, or in flight.
#[derive(Debug)]
enum Step {
    Adopt(Arc<Pod>),
    Recheck(Arc<Pod>),
    Release(Arc<Pod>),
}

/// What a pod is to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// An orphan that the set selects and may adopt.
    Adoptable,
    /// The set's own.
    Claimed,
    /// Nothing to do with the set, or nothing that the set may do.
    None,
    /// The set's own, but not selected any more.
    Stray,
}

/// Tells what pods are to one set.
#[derive(Debug, Default)]
pub(super) struct Bonds {
    matching: LastAnswer,
}

impl Bonds {
    /// What a pod is to the set, which selects by `selector`.
    ///
    /// Mirrors `ClaimObject`.
    pub(super) fn of(&mut self, set: &ReplicaSet, selector: &Selector, pod: &Pod) -> Bond {
        let may_change = set.meta().deletion.is_none();
        let matches = self.matching.get(pod.labels(), |labels| selector.matches(labels));
        match pod.controller() {
            Some(owner) if owner.uid != set.meta().uid => Bond::None,
            Some(_) if matches => Bond::Claimed,
            Some(_) if may_change => Bond::Stray,
            None if matches && may_change && pod.deletion().is_none() && pod.namespace() == set.namespace() => {
                Bond::Adoptable
            }
            Some(_) | None => Bond::None,
        }
    }
}

impl Claim {
    /// The claim of `set`, which selects by `selector`, to some of these pods.
    pub fn new(set: Arc<ReplicaSet>, selector: Selector, pods: Vec<Arc<Pod>>) -> Self {
        let owner = controller_reference(&set);
        let mut claim = Self {
            set,
            owner,
            selector,
            bond: Bonds::default(),
            claimed: Vec::with_capacity(pods.len()),
            pods: pods.into_iter(),
            recheck: None,
            step: None,
            in_flight: false,
            failures: Vec::new(),
        };
        claim.advance();
        claim
    }

    /// The next request, if one is to be made now.
    pub fn poll_request(&mut self) -> Option<Request> {
        if self.in_flight {
            return None;
        }
        let request = match self.step.as_ref()? {
            Step::Recheck(_) => {
                Request::get(self.set.kind().resource().object_path(self.set.namespace(), self.set.name(), ""))
            }
            Step::Adopt(pod) => {
                patch(pod, &AdoptWire { owner_references: [(&self.owner).into()], uid: String::from(&pod.uid()) })
            }
            Step::Release(pod) => {
                let owner = DeleteOwnerWire { patch: "delete", uid: String::from(&self.owner.uid) };
                patch(pod, &ReleaseWire { uid: String::from(&pod.uid()), owner_references: [owner] })
            }
        };
        self.in_flight = true;
        Some(request)
    }

    /// What the request that is in flight is to bring about; none if it only asks.
    pub fn decision(&self) -> Option<Decision> {
        match self.step.as_ref().filter(|_| self.in_flight)? {
            Step::Adopt(pod) => Some(Decision::Adopt(Arc::clone(pod))),
            Step::Recheck(_) => None,
            Step::Release(pod) => Some(Decision::Release(Arc::clone(pod))),
        }
    }

    /// Takes the outcome of the request that was made. Returns a pod that was adopted and the version that it has now.
    pub fn handle_outcome(&mut self, outcome: Outcome) -> Option<(Arc<Pod>, ResourceVersion)> {
        self.in_flight = false;
        let answer = body_of(outcome);
        let mut adopted = None;
        match (self.step.take()?, answer) {
            (Step::Recheck(pod), answer) => {
                self.recheck = Some(self.may_adopt(answer));
                self.adopt(pod);
            }
            (Step::Adopt(pod), Ok(body)) => {
                let version = written_meta(&body).map_or(ResourceVersion::NONE, |meta| meta.resource_version);
                adopted = Some((Arc::clone(&pod), version));
                // The answer may know of an end, or of other labels, that the cache does not show yet.
                let lost = |now: &Pod| is_active(&pod) && !is_active(now) || !self.selector.matches(now.labels());
                let now = Pod::decode(&body, &Resource::PODS).ok().filter(|now| now.uid() == pod.uid());
                if now.is_some_and(|now| lost(&now)) {
                    log::debug!("{:?}: adopted {pod:?}, which does not count any more", self.set);
                } else {
                    self.claimed.push(pod);
                }
            }
            (Step::Release(pod), Ok(_)) => log::debug!("{:?}: released {pod:?}", self.set),
            // The pod is gone.
            (_, Err(e)) if e.is_not_found() => {}
            // The pod is another one of the same name, or has no owners any more.
            (Step::Release(_), Err(e)) if e.is_invalid() => {}
            (_, Err(e)) => self.failures.push(alloc::format!("{e}")),
        }
        if self.step.is_none() {
            self.advance();
        }
        adopted
    }

    /// Whether all pods have been looked at.
    pub fn is_done(&self) -> bool {
        self.step.is_none()
    }

    /// Takes out the pods that are the set's, in the order they were given, and why others could not be claimed or released.
    pub fn take(&mut self) -> (Vec<Arc<Pod>>, Vec<String>) {
        (core::mem::take(&mut self.claimed), core::mem::take(&mut self.failures))
    }

    /// Looks at pods until one needs a request.
    fn advance(&mut self) {
        while self.step.is_none()
            && let Some(pod) = self.pods.next()
        {
            match self.bond.of(&self.set, &self.selector, &pod) {
                Bond::Adoptable => self.adopt(pod),
                Bond::Claimed => self.claimed.push(pod),
                Bond::None => {}
                Bond::Stray => self.step = Some(Step::Release(pod)),
            }
        }
    }

    fn adopt(&mut self, pod: Arc<Pod>) {
        match &self.recheck {
            None => self.step = Some(Step::Recheck(pod)),
            Some(Ok(())) => self.step = Some(Step::Adopt(pod)),
            Some(Err(why)) => {
                let failure = alloc::format!("can't adopt Pod {} ({}): {why}", pod.key(), pod.uid());
                self.failures.push(failure);
            }
        }
    }

    /// Whether the set as it is on the server may adopt.
    ///
    /// Mirrors `pkg/controller/controller_ref_manager.go`, `RecheckDeletionTimestamp`.
    fn may_adopt(&self, answer: Result<Vec<u8>, CallFailure>) -> Result<(), String> {
        let key = &self.set.meta().key;
        let fresh = answer
            .and_then(|body| ReplicaSet::decode(&body, self.set.kind().resource()).map_err(CallFailure::Unreadable))
            .map_err(|e| alloc::format!("can't recheck DeletionTimestamp: {e}"))?;
        if fresh.meta().uid != self.owner.uid {
            return Err(alloc::format!(
                "can't recheck DeletionTimestamp: original {} {key} is gone: got uid {}, wanted {}",
                self.owner.kind,
                fresh.meta().uid,
                self.owner.uid
            ));
        }
        match fresh.meta().deletion {
            Some(at) => Err(alloc::format!("{key} has just been deleted at {at}")),
            None => Ok(()),
        }
    }
}

#[derive(Serialize)]
struct PatchWire<'a, T> {
    metadata: &'a T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdoptWire<'a> {
    owner_references: [OwnerWire<'a>; 1],
    uid: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReleaseWire {
    uid: String,
    owner_references: [DeleteOwnerWire; 1],
}

#[derive(Serialize)]
struct DeleteOwnerWire {
    #[serde(rename = "$patch")]
    patch: &'static str,
    uid: String,
}

fn patch(pod: &Pod, metadata: &impl Serialize) -> Request {
    Request {
        method: Method::Patch,
        path: Resource::PODS.object_path(pod.namespace(), pod.name(), ""),
        content_type: STRATEGIC_MERGE_PATCH,
        body: serde_json::to_vec(&PatchWire { metadata }).expect("a struct of texts has a JSON form"),
    }
}

#[cfg(test)]
mod tests;
