//! What controllers knew when they asked for what.
//!
//! A sync decides by what the caches show when it begins. Whether a write was right can be judged only against that, so each call is noted with
//! the sync that it belongs to, and each sync with the versions of the caches.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use sanskube::limits::Limits;
use sanskube::machine::{Answer, Part};
use sanskube::request::{CallId, Method};
use sanskube::time::Instant;

use super::burst::{self, Burst};
use super::cache::version_of;
use super::calls;
use super::history::History;
use super::leader;
use super::objects::{Pod, Set};
use super::subject::{adopts, key_of};
use super::versions::Versions;
use super::{Changed, Changes, Violation};
use crate::client::ClientId;
use crate::member::Member;
use crate::world::{Exchange, World};

/// How long an expectation holds a set back at most.
const EXPECTATION: Duration = Duration::from_secs(300);

/// A sync, and how far the caches had come when it began.
#[derive(Debug, PartialEq, Eq)]
pub struct SyncView {
    /// The key of the set.
    pub key: String,
    /// Its uid, as the cache shows it; empty if it does not.
    pub uid: String,
    /// When it began, by the clock of its controller.
    pub began: Instant,
    /// The version of the cache of pods.
    pub pods: u64,
    /// The version of the cache of sets.
    pub sets: u64,
    /// When it began, as [`Sent::sent_at`].
    tick: u64,
    /// The version that the server had come to when it was last asked for the set by this sync, if it was.
    pub asked: Cell<Option<u64>>,
    /// The uids of the pods that it has adopted, or that had been given to its set already when it did.
    pub(crate) adopted: RefCell<BTreeSet<String>>,
    /// What it has asked for.
    pub(crate) burst: Burst,
}

/// A call.
#[derive(Debug, Default)]
pub struct Sent {
    /// The sync that it belongs to, if it does to one.
    pub sync: Option<Rc<SyncView>>,
    /// The status that the server answered with.
    pub status: u16,
    /// When it was sent, as a number that grows with each call and each answer.
    sent_at: u64,
    method: Option<Method>,
    /// The version at which it changed a pod; zero if it has changed none.
    changed: u64,
    /// When a whole answer that says that it was done reached the controller, if one has.
    acknowledged_at: Option<u64>,
}

/// How far the caches of a controller have come.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) pods: u64,
    pub(crate) sets: u64,
    syncs: BTreeMap<String, Rc<SyncView>>,
}

/// What all controllers knew.
#[derive(Debug, Default)]
pub struct Known {
    seen: BTreeMap<ClientId, Seen>,
    versions: Versions,
    sent: BTreeMap<(ClientId, CallId), Sent>,
    writes: u64,
    /// How many calls were sent and answers came.
    tick: u64,
    /// By the uid of a pod: whose call gave it to its set.
    pub(crate) given: BTreeMap<String, (ClientId, CallId)>,
    /// By the uid of a pod: whose call took it from its set, or ended it.
    pub(crate) taken: BTreeMap<String, (ClientId, CallId)>,
}

impl Known {
    /// A call, if it is known.
    pub fn sent(&self, client: ClientId, call: CallId) -> Option<&Sent> {
        self.sent.get(&(client, call))
    }

    /// Whether a controller must have known, when it sent a call of `sync`, that the call `by` has taken effect: it is its own, and was acknowledged
    /// before or belongs to the same sync.
    pub(crate) fn must_know(&self, by: Option<&(ClientId, CallId)>, exchange: &Exchange, sync: &Rc<SyncView>) -> bool {
        let Some(sent) = by.filter(|by| by.0 == exchange.client).and_then(|by| self.sent.get(by)) else { return false };
        // A call that arrives late was sent without knowledge of what came after it.
        let since = self.sent(exchange.client, exchange.call).map_or(u64::MAX, |call| call.sent_at);
        sent.acknowledged_at.is_some_and(|at| at < since)
            || sent.sync.as_ref().is_some_and(|other| Rc::ptr_eq(other, sync))
    }

    pub(crate) fn seen(&mut self, client: ClientId) -> &mut Seen {
        self.seen.entry(client).or_default()
    }

    /// How many writes of controllers have reached the server, but for those of the lease.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Notes what the server answers at a version.
    pub(crate) fn note_exchange(&mut self, exchange: &Exchange, version: u64) {
        self.versions.note_exchange(exchange);
        self.writes += u64::from(exchange.request.method != Method::Get && !exchange.request.path.contains("/leases"));
        let sent = self.sent.entry((exchange.client, exchange.call)).or_default();
        sent.status = exchange.status;
        let Some(sync) = sent.sync.as_ref().filter(|_| exchange.status == 200) else { return };
        match exchange.request.method {
            Method::Get => sync.asked.set(Some(version)),
            Method::Patch => {
                if let Some(uid) = adopts(&exchange.request) {
                    sync.adopted.borrow_mut().insert(uid);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn note_answer(&mut self, client: ClientId, answer: &Answer) {
        self.versions.note_answer(client, answer);
        if answer.part == Part::End
            && let Some(sent) = self.sent.get_mut(&(client, answer.call))
        {
            if let (Some(sync), Some(method)) = (&sent.sync, sent.method) {
                sync.burst.note_answer(method, sent.status);
            }
            self.tick += 1;
            sent.acknowledged_at = (200..300).contains(&sent.status).then_some(self.tick);
        }
    }

    /// The last version at which an earlier sync of the same set has made or deleted a pod, as it was told before this one began. For a creation the guard
    /// holds the set back without limit, for a deletion only an expectation does: one that is as old as that lasts does not count.
    pub(crate) fn written_before(&self, client: ClientId, sync: &SyncView) -> u64 {
        let of_client = self.sent.range((client, CallId(0))..=(client, CallId(u64::MAX)));
        let earlier = of_client.map(|(_, sent)| sent).filter(|sent| {
            let holds = match sent.method {
                Some(Method::Post) => Duration::MAX,
                Some(Method::Delete) => EXPECTATION,
                _ => return false,
            };
            sent.acknowledged_at.is_some_and(|at| at <= sync.tick)
                && sent.sync.as_ref().is_some_and(|other| {
                    other.key == sync.key && other.uid == sync.uid && sync.began.since(other.began) < holds
                })
        });
        earlier.map(|sent| sent.changed).max().unwrap_or(0)
    }

    pub(crate) fn note_changes(&mut self, changes: &Changes<'_>) {
        let by = changes.exchange.map(|exchange| (exchange.client, exchange.call));
        if let Some(sent) = by.and_then(|by| self.sent.get_mut(&by))
            && let Some(change) = changes.pods.last()
        {
            sent.changed = change.version;
        }
        for Changed { before, after, .. } in &changes.pods {
            let set = |pod: &Option<Rc<Pod>>| {
                pod.as_ref().filter(|pod| pod.is_live()).and_then(|pod| pod.metadata.set().map(str::to_owned))
            };
            let (had, has) = (set(before), set(after));
            if had == has {
                continue;
            }
            let mut note = |pod: &Option<Rc<Pod>>, gains: bool| {
                let Some(pod) = pod else { return };
                if gains {
                    // It was taken before that, if it was.
                    self.taken.remove(&pod.metadata.uid);
                }
                let book = if gains { &mut self.given } else { &mut self.taken };
                match by {
                    Some(by) => book.insert(pod.metadata.uid.clone(), by),
                    None => book.remove(&pod.metadata.uid),
                };
            };
            if had.is_some() {
                note(before, false);
            }
            if has.is_some() {
                note(after, true);
            }
        }
    }

    /// Notes the syncs that a controller has begun, and the calls.
    pub(crate) fn note_begun(
        &mut self,
        client: ClientId,
        world: &mut World<Member>,
        pods: &History<Pod>,
        sets: &History<Set>,
        limits: &Limits,
    ) -> Result<(), Violation> {
        let begun = world.take_begun();
        for (client, call) in &begun {
            if let Some((_, line)) = world.lines(*client).find(|(id, _)| id == call) {
                self.versions.note_begun(*client, *call, &line.request)?;
                calls::check_begun(*client, line, world.now().instant, limits)?;
                leader::check_begun(*client, &line.request, world)?;
            }
        }
        let Some(manager) = world.machine(client).and_then(Member::manager) else { return Ok(()) };
        let versions = manager.sets(sanskube::object::ReplicaSetKind::ReplicaSet).map(version_of);
        let versions = (version_of(manager.pods()), versions.unwrap_or(0));
        let (tick, seen) = (self.tick, self.seen.entry(client).or_default());
        let old = std::mem::take(&mut seen.syncs);
        for (_, key, began) in manager.syncs() {
            let sync = old.get(key.as_str()).filter(|sync| sync.began == began).cloned();
            let sync = sync.unwrap_or_else(|| {
                let set = sets.at(key.as_str(), versions.1);
                let uid = set.map_or_else(String::new, |set| set.metadata.uid.clone());
                Rc::new(SyncView {
                    key: key.as_str().into(),
                    uid,
                    tick,
                    began,
                    pods: versions.0,
                    sets: versions.1,
                    asked: Cell::default(),
                    adopted: RefCell::default(),
                    burst: Burst::default(),
                })
            });
            seen.syncs.insert(key.as_str().into(), sync);
        }
        for (client, call) in begun {
            let Some((_, line)) = world.lines(client).find(|(id, _)| *id == call) else { continue };
            let sync = key_of(&line.request, versions.0, pods).and_then(|key| {
                // A release names the set by its uid alone.
                let by_uid =
                    |sync: &&Rc<SyncView>| sets.at(&sync.key, sync.sets).is_some_and(|set| set.metadata.uid == key);
                seen.syncs.get(&key).or_else(|| seen.syncs.values().find(by_uid)).cloned()
            });
            self.tick += 1;
            if let Some(sync) = &sync {
                burst::check(client, &line.request, sync, limits)?;
            }
            let method = Some(line.request.method);
            self.sent.insert((client, call), Sent { sync, sent_at: self.tick, method, ..Sent::default() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sanskube::request::Request;

    use super::*;

    fn pod(owner: Option<&str>) -> Option<Rc<Pod>> {
        let owners = owner
            .map_or_else(String::new, |uid| format!(r#"{{"kind": "ReplicaSet", "uid": "{uid}", "controller": true}}"#));
        let metadata = format!(
            r#"{{"uid": "p", "resourceVersion": "7", "creationTimestamp": "2027-01-15T08:00:00Z", "ownerReferences": [{owners}]}}"#
        );
        Some(Rc::new(serde_json::from_str(&format!(r#"{{"metadata": {metadata}}}"#)).unwrap()))
    }

    #[test]
    fn a_pod_that_was_released_and_adopted_again_is_not_taken() {
        let mut known = Known::default();
        let exchange = |call| Exchange {
            at: Instant::ZERO,
            client: ClientId(0),
            call: CallId(call),
            request: Request::get("/".into()),
            status: 200,
            body: Vec::new(),
        };
        let mut change = |call, before, after| {
            let pods = vec![Changed { key: "default/p".into(), version: 7, before, after }];
            known.note_changes(&Changes { pods, sets: Vec::new(), exchange: Some(&exchange(call)) });
            (known.given.get("p").map(|by| by.1), known.taken.get("p").map(|by| by.1))
        };
        assert_eq!(change(1, pod(Some("s")), pod(None)), (None, Some(CallId(1))));
        assert_eq!(change(2, pod(None), pod(Some("s"))), (Some(CallId(2)), None));
    }
}
