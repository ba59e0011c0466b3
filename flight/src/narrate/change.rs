//! Changes of the caches, in words.

use sanskube::informer::Change;
use sanskube::key::Key;
use sanskube::object::{Object as _, Pod, ReplicaSet};

/// A pod as a row shows it.
pub(super) fn pod_row(pod: &Pod) -> String {
    let mut text = format!("{:?}", pod.phase());
    if pod.is_ready() {
        text.push_str(", ready");
    }
    if !pod.node().is_empty() {
        text.push_str(", on ");
        text.push_str(pod.node());
    }
    match pod.controller() {
        Some(owner) => {
            text.push_str(", of ");
            text.push_str(&owner.name);
        }
        None => text.push_str(", of nobody"),
    }
    if pod.deletion().is_some() {
        text.push_str(", being deleted");
    }
    text
}

/// A set as a row shows it.
pub(super) fn set_row(set: &ReplicaSet) -> String {
    let status = set.status();
    let mut text = format!(
        "wants {}, has {}, {} ready, {} available",
        set.replicas(),
        status.replicas,
        status.ready_replicas,
        status.available_replicas
    );
    if set.meta().deletion.is_some() {
        text.push_str(", being deleted");
    }
    text
}

/// What a pod and those who own it or owned it are called.
pub(super) fn pod_keys(change: &Change<Pod>) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut add = |key: Key| {
        if !keys.contains(&key) {
            keys.push(key);
        }
    };
    if let Some(pod) = change.object() {
        add(pod.key().clone());
    }
    let old = if let Change::Update { old, .. } = change { Some(old) } else { None };
    for pod in change.object().into_iter().chain(old) {
        if let Some(owner) = pod.controller() {
            add(Key::new(pod.namespace(), &owner.name));
        }
    }
    keys
}

/// A change of a pod in words.
pub(super) fn pod_change(change: &Change<Pod>) -> Option<String> {
    let pod = change.object()?;
    Some(match change {
        Change::Add { initial: true, .. } => format!("pod {} is there: {}", pod.key(), pod_row(pod)),
        Change::Add { .. } => format!("pod {} is new: {}", pod.key(), pod_row(pod)),
        Change::Delete(deletion) if deletion.is_final_state_unknown() => {
            format!("pod {} is gone, how is not known", pod.key())
        }
        Change::Delete(_) => format!("pod {} is gone", pod.key()),
        Change::Update { old, new } => format!("pod {}: {}", pod.key(), pod_differences(old, new)),
    })
}

/// A change of a set in words.
pub(super) fn set_change(change: &Change<ReplicaSet>) -> Option<String> {
    let set = change.object()?;
    let key = &set.meta().key;
    Some(match change {
        Change::Add { initial: true, .. } => format!("set {key} is there: {}", set_row(set)),
        Change::Add { .. } => format!("set {key} is new: {}", set_row(set)),
        Change::Delete(_) => format!("set {key} is gone"),
        Change::Update { old, new } => format!("set {key}: {}", set_differences(old, new)),
    })
}

fn pod_differences(old: &Pod, new: &Pod) -> String {
    let mut told = Vec::new();
    if old.uid() != new.uid() {
        told.push("another one of this name".into());
    }
    if old.phase() != new.phase() {
        told.push(format!("{:?} → {:?}", old.phase(), new.phase()));
    }
    if old.is_ready() != new.is_ready() {
        told.push(if new.is_ready() { "ready" } else { "not ready any more" }.into());
    }
    if old.node() != new.node() {
        told.push(format!("on {}", new.node()));
    }
    if old.deletion().is_none() && new.deletion().is_some() {
        told.push("being deleted".into());
    }
    let owner = |pod: &Pod| pod.controller().map_or_else(|| "nobody".to_owned(), |owner| owner.name.to_string());
    if owner(old) != owner(new) {
        told.push(format!("owner {} → {}", owner(old), owner(new)));
    }
    if old.labels() != new.labels() {
        told.push("other labels".into());
    }
    if old.restarts() != new.restarts() {
        told.push(format!("restarts {} → {}", old.restarts().regular, new.restarts().regular));
    }
    if old.deletion_cost() != new.deletion_cost() {
        told.push(format!("deletion cost {} → {}", old.deletion_cost(), new.deletion_cost()));
    }
    or_nothing(told)
}

fn set_differences(old: &ReplicaSet, new: &ReplicaSet) -> String {
    let mut told = Vec::new();
    if old.meta().uid != new.meta().uid {
        told.push("another one of this name".into());
    }
    if old.replicas() != new.replicas() {
        told.push(format!("wants {} → {}", old.replicas(), new.replicas()));
    }
    if old.meta().deletion.is_none() && new.meta().deletion.is_some() {
        told.push("being deleted".into());
    }
    let status = new.status().differences(old.status()).to_string();
    if !status.is_empty() {
        told.push(status);
    }
    or_nothing(told)
}

fn or_nothing(told: Vec<String>) -> String {
    if told.is_empty() { "changed in nothing that counts here".into() } else { told.join(", ") }
}
