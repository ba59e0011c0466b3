//! The victims: who chooses the pods to delete when there are too many.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

use hashbrown::HashMap;

use super::decision::Why;
use super::predicates::is_active;
use super::rank::{deciding_level, deletion_order, ranks};
use crate::object::{Pod, ReplicaSet};
use crate::time::Timestamp;

/// What a choice of victims is made from.
#[derive(Debug)]
pub struct ScaleDown<'a> {
    /// The set that has too many pods.
    pub set: &'a ReplicaSet,
    /// Its active pods.
    pub pods: &'a [Arc<Pod>],
    /// The pods of all sets of the same controller, those of `pods` among them. Empty if the set has no controller.
    pub related: &'a [Arc<Pod>],
    /// How many pods are to go: fewer than there are.
    pub count: usize,
    /// The time.
    pub now: Timestamp,
}

/// Chooses which pods of a set are deleted. An embedder may bring a choice of its own.
pub trait ChooseVictims: fmt::Debug + Send + Sync {
    /// The places in `scale_down.pods` of the pods that are to go.
    ///
    /// What is not a place, comes twice or goes beyond the count is ignored; if there are too few, fewer pods are deleted in this sync.
    /// Must depend on its arguments alone if the controller is to be deterministic.
    fn choose(&self, scale_down: &ScaleDown<'_>) -> Vec<usize>;

    /// Why each of these pods goes, which are the choice, in their order. For logs alone; by default it is not known.
    fn explain(&self, scale_down: &ScaleDown<'_>, choice: &[Arc<Pod>]) -> Vec<Why> {
        let _ = scale_down;
        alloc::vec![Why::Chosen; choice.len()]
    }
}

/// The choice that Kubernetes makes: the first pods in the [order of deletion](deletion_order).
///
/// The deletion cost of a pod counts as the cache shows it. A pod whose cost has changed since is not deleted, as its version is another one;
/// the key is tried again.
///
/// Mirrors `pkg/controller/replicaset/replica_set.go`, `getPodsToDelete`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InDeletionOrder {
    /// Whether related pods are counted anew after each victim. Upstream counts them once, so that of five pods on two nodes, three and two, all three
    /// on the fuller node go; counted anew, two and one go. Default no.
    pub recount: bool,
}

impl ChooseVictims for InDeletionOrder {
    fn choose(&self, scale_down: &ScaleDown<'_>) -> Vec<usize> {
        let pods = || scale_down.pods.iter().map(|pod| &**pod);
        let related = || scale_down.related.iter().map(|pod| &**pod);
        if self.recount {
            return choose_recounting(scale_down);
        }
        let mut order = deletion_order(pods().zip(ranks(pods(), related())), scale_down.now);
        order.truncate(scale_down.count);
        order
    }

    fn explain(&self, scale_down: &ScaleDown<'_>, choice: &[Arc<Pod>]) -> Vec<Why> {
        let (pods, now) = (scale_down.pods, scale_down.now);
        let ranks = ranks(pods.iter().map(|pod| &**pod), scale_down.related.iter().map(|pod| &**pod));
        let ranked: Vec<(&Pod, usize)> = pods.iter().map(|pod| &**pod).zip(ranks).collect();
        let order = deletion_order(ranked.iter().copied(), now);
        // Counted anew, the pods stand in another order: the first that stays is another one, and so may be the reason.
        let Some(&first_to_stay) = order.get(choice.len()).filter(|_| !self.recount) else {
            return alloc::vec![Why::Chosen; choice.len()];
        };
        let why = |&place: &usize| Why::Ranked {
            level: deciding_level(ranked[place], ranked[first_to_stay], now),
            stays: Arc::clone(&pods[first_to_stay]),
        };
        order[..choice.len()].iter().map(why).collect()
    }
}

/// Takes victim after victim, each time from the node that holds the most related pods then, among pods that are alike in the levels before that.
///
/// Takes the time of a sort, and a step a victim and node that is in question with it.
fn choose_recounting(scale_down: &ScaleDown<'_>) -> Vec<usize> {
    let pods = scale_down.pods;
    let mut on_node: HashMap<&str, usize> = HashMap::new();
    for pod in scale_down.related.iter().filter(|pod| is_active(pod)) {
        *on_node.entry(pod.node()).or_default() += 1;
    }
    // Without ranks the order is fixed; the ranks come in between its levels.
    let order = deletion_order(pods.iter().map(|pod| (&**pod, 0)), scale_down.now);
    let mut victims = Vec::new();
    for alike in order.chunk_by(|&a, &b| before_rank(&pods[a]) == before_rank(&pods[b])) {
        let mut by_node: HashMap<&str, Vec<usize>> = HashMap::new();
        for (standing, &pod) in alike.iter().enumerate().rev() {
            by_node.entry(pods[pod].node()).or_default().push(standing);
        }
        // The first pod of each node, by the pods on the node and by its standing.
        let count = |on_node: &HashMap<&str, usize>, node: &str| on_node.get(node).copied().unwrap_or(0);
        let mut first: BTreeSet<(Reverse<usize>, usize)> = by_node
            .iter()
            .filter_map(|(node, standings)| Some((Reverse(count(&on_node, node)), *standings.last()?)))
            .collect();
        while victims.len() < scale_down.count
            && let Some((_, standing)) = first.pop_first()
        {
            let victim = alike[standing];
            victims.push(victim);
            let node = pods[victim].node();
            if let Some(left) = on_node.get_mut(node) {
                *left = left.saturating_sub(1);
            }
            let standings = by_node.get_mut(node).expect("the victim was found by its node");
            standings.pop();
            if let Some(&next) = standings.last() {
                first.insert((Reverse(count(&on_node, node)), next));
            }
        }
    }
    victims
}

/// The levels before the rank.
fn before_rank(pod: &Pod) -> impl PartialEq + use<> {
    (pod.node().is_empty(), super::rank::phase_level(pod.phase()), pod.is_ready(), pod.deletion_cost())
}

/// Makes sure that a choice is one: places that exist, each once, no more than wanted.
pub(super) fn checked(scale_down: &ScaleDown<'_>, choice: Vec<usize>) -> Vec<Arc<Pod>> {
    let mut taken = alloc::vec![false; scale_down.pods.len()];
    choice
        .into_iter()
        .filter(|&place| taken.get_mut(place).is_some_and(|taken| !core::mem::replace(taken, true)))
        .take(scale_down.count)
        .map(|place| Arc::clone(&scale_down.pods[place]))
        .collect()
}

#[cfg(test)]
mod tests;
