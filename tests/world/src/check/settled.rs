//! Whether the cluster is as everybody wants it.

use std::rc::Rc;

use sanskube::manager::Manager;
use sanskube::object::{Object, ReplicaSetKind};

use super::cache::version_of;
use super::objects::{Set, SetStatus};
use super::{Check, Pod, leader};
use crate::client::ClientId;
use crate::member::{Member, Observer};
use crate::world::World;

/// Why the cluster is not as everybody wants it; none if it is, and nobody has anything left to do.
pub fn why_unsettled(check: &Check, world: &World<Member>) -> Option<String> {
    if world.kubelet.as_ref().is_some_and(|kubelet| kubelet.poll_deadline().is_some()) {
        return Some("the kubelet has something to do".to_owned());
    }
    let silent = |id: &ClientId| world.lines(*id).find(|(_, line)| line.silent);
    if let Some((id, (_, line))) = world.clients.keys().find_map(|id| Some((id, silent(id)?))) {
        return Some(format!("{id:?} still listens to a connection that is silent, {:?}", line.request));
    }
    // One that does not lead needs no lists; where nobody elects a leader, all need them.
    let managers = world.clients.iter().filter_map(|(id, client)| Some((id, client.machine.manager()?)));
    let mut managers = managers.filter(|(id, _)| leader::acts(**id, world)).peekable();
    if managers.peek().is_none() {
        return Some("no manager leads".to_owned());
    }
    if let Some((id, _)) = managers.find(|(_, manager)| !manager.has_synced()) {
        return Some(format!("{id:?} has not got the first lists"));
    }
    // Without a kubelet no pod becomes ready.
    let ready = world.kubelet.is_some();
    let unmet = check.sets.all().find_map(|(key, set)| why_unmet(check, key, set, ready));
    let stray = || check.pods.all().find_map(|(key, pod)| why_stray(check, key, pod));
    let busy = || {
        world.clients.iter().find_map(|(id, client)| {
            let leads = client.machine.manager().filter(|manager| manager.has_synced());
            leads.and_then(|manager| why_busy(*id, manager, check, world))
        })
    };
    let blind = || world.clients.iter().find_map(|(id, client)| why_blind(*id, client.machine.observer()?, check));
    unmet.or_else(stray).or_else(busy).or_else(blind)
}

/// An observer whose cache is behind, or whose handlers were not told everything.
fn why_blind(client: ClientId, observer: &Observer, check: &Check) -> Option<String> {
    if version_of(observer.informer().store()) < check.pods.newest() {
        return Some(format!("the cache of {client:?} is behind"));
    }
    let (_, backlog) = observer.slow();
    (backlog > 0).then(|| format!("{backlog} changes wait for a handler of {client:?}"))
}

/// Why somebody has still something to look at, if only later; none if nobody has.
pub fn why_restless(world: &World<Member>) -> Option<String> {
    let leads = |member: &Member| member.manager().is_some_and(Manager::has_synced);
    world.clients.iter().filter(|(_, client)| leads(&client.machine)).find_map(|(id, client)| {
        let queue = client.machine.manager()?.queue(ReplicaSetKind::ReplicaSet)?;
        let open = queue.len() + queue.waiting();
        (open > 0).then(|| format!("{id:?} has {open} keys in its queue, or that are to go into it"))
    })
}

fn why_unmet(check: &Check, key: &str, set: &Set, ready: bool) -> Option<String> {
    if set.metadata.is_deleting() {
        return Some(format!("{key} is still being deleted"));
    }
    let uid = set.metadata.uid.as_str();
    let live: Vec<&Rc<Pod>> = check.pods.all().map(|(_, pod)| pod).filter(|pod| pod.is_live_of(uid)).collect();
    let wanted = set.spec.replicas;
    if live.len() != wanted {
        return Some(format!("{key} wants {wanted} pods and has {}", live.len()));
    }
    let status = SetStatus {
        replicas: wanted,
        // All pods of these worlds have the labels of the template as long as they are selected.
        fully_labeled_replicas: wanted,
        ready_replicas: if ready { wanted } else { 0 },
        available_replicas: if ready { wanted } else { 0 },
        terminating_replicas: 0,
        observed_generation: set.metadata.generation,
        // Nothing is left of what has failed.
        conditions: Vec::new(),
    };
    (set.status != status).then(|| format!("{key} has {wanted} pods, and its status says {:?}", set.status))
}

/// A pod that a set should have adopted, or that has a set that is no more.
fn why_stray(check: &Check, key: &str, pod: &Pod) -> Option<String> {
    let namespace = key.split('/').next()?;
    let beside = |(other, _): &(&str, &Rc<Set>)| other.split('/').next() == Some(namespace);
    match pod.metadata.set() {
        Some(uid) => {
            let exists = check.sets.all().any(|(_, set)| set.metadata.uid == uid);
            (!exists).then(|| format!("{key} has a set that is no more"))
        }
        None if pod.is_live() && pod.metadata.is_orphan() => {
            let (set, _) = check.sets.all().filter(beside).find(|(_, set)| set.selects(pod))?;
            Some(format!("{key} is an orphan that {set} selects"))
        }
        None => None,
    }
}

fn why_busy(client: ClientId, manager: &Manager, check: &Check, world: &World<Member>) -> Option<String> {
    if let Some((_, key, _)) = manager.syncs().next() {
        return Some(format!("{client:?} is syncing {key}"));
    }
    let is_lease = |path: &str| path.contains("/leases");
    if let Some((_, line)) = world.lines(client).find(|(_, line)| !line.watch && !is_lease(&line.request.path)) {
        return Some(format!("{client:?} waits for {:?}", line.request));
    }
    let (kind, now) = (ReplicaSetKind::ReplicaSet, world.clock(client)?);
    let (controller, sets) = (manager.controller(kind)?, manager.sets(kind)?);
    if version_of(manager.pods()) < check.pods.newest() || version_of(sets) < check.sets.newest() {
        return Some(format!("the caches of {client:?} are behind"));
    }
    let version = manager.pods().resource_version();
    let waits = |set: &&std::sync::Arc<sanskube::object::ReplicaSet>| {
        !controller.expectations().are_satisfied(&set.uid(), version, now.instant)
    };
    sets.iter().find(waits).map(|set| format!("{client:?} still expects something of {set:?}"))
}
