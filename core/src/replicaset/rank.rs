//! The order of deletion: which pods go first when there are too many.
//!
//! Upstream compares pods two by two (`pkg/controller/controller_utils.go`, `ActivePodsWithRanks.Less`), level by level: without a node
//! first, then by phase, readiness, deletion cost, number of related pods on the node, time of becoming ready, restarts, age. Times are
//! compared by the power of two of their age. Where these are the same but the times are not, the uid decides *at once*; where
//! the times are the same, restarts and age come next. That is no ordering: of three pods each can come before the next, in a circle.
//!
//! Here the order is total. Where upstream's comparison says that one of two pods goes first and no chain of other pods says the opposite,
//! so it is here, as long as the uids differ, as they do in a cluster. In a circle the pod goes first that comes before the most others; the uid
//! decides what is left, and the key if there are namesakes of a uid.

use alloc::vec::Vec;
use core::cmp::Reverse;

use hashbrown::HashMap;

use super::predicates::is_active;
use crate::key::Key;
use crate::object::{Object, Phase, Pod, Restarts};
use crate::time::Timestamp;
use crate::uid::Uid;

/// For each pod, how many active related pods are bound to its node.
///
/// Mirrors `pkg/controller/replicaset/replica_set.go`, `getPodsRankedByRelatedPodsOnSameNode`.
pub fn ranks<'a>(pods: impl IntoIterator<Item = &'a Pod>, related: impl IntoIterator<Item = &'a Pod>) -> Vec<usize> {
    let mut on_node: HashMap<&str, usize> = HashMap::new();
    for pod in related.into_iter().filter(|pod| is_active(pod)) {
        *on_node.entry(pod.node()).or_default() += 1;
    }
    pods.into_iter().map(|pod| on_node.get(pod.node()).copied().unwrap_or(0)).collect()
}

/// The places of the pods in the order of deletion: the first number tells which pod goes first. Each pod is given with its rank.
///
/// Never panics, whatever the pods; the same pods in any order are put in the same order, as long as their keys differ. Takes the time
/// of a sort.
pub fn deletion_order<'a>(pods: impl IntoIterator<Item = (&'a Pod, usize)>, now: Timestamp) -> Vec<usize> {
    let mut pods: Vec<Standing> = pods
        .into_iter()
        .enumerate()
        .map(|(place, (pod, rank))| Standing {
            place,
            state: State::new(pod, rank, now),
            detail: Detail::new(pod, now),
            wins: 0,
        })
        .collect();
    pods.sort_by(|a, b| a.state.cmp(&b.state).then_with(|| a.detail.cmp(&b.detail)));
    for alike in pods.chunk_by_mut(|a, b| a.state == b.state) {
        order_alike(alike);
    }
    pods.into_iter().map(|pod| pod.place).collect()
}

/// By what the first of two pods goes before the second, as upstream compares two pods; each is given with its rank.
///
/// Where pods stand in a circle the second may go first all the same.
pub fn deciding_level(first: (&Pod, usize), second: (&Pod, usize), now: Timestamp) -> Level {
    let (state, other) = (State::new(first.0, first.1, now), State::new(second.0, second.1, now));
    let (detail, other_detail) = (Detail::new(first.0, now), Detail::new(second.0, now));
    if state.assigned != other.assigned {
        Level::Node
    } else if state.phase != other.phase {
        Level::Phase
    } else if state.ready != other.ready {
        Level::Ready
    } else if state.cost != other.cost {
        Level::Cost
    } else if state.rank != other.rank {
        Level::Related { goes: first.1, stays: second.1 }
    } else if state.ready_for != other.ready_for {
        Level::ReadyTime
    } else if detail.ready_since != other_detail.ready_since {
        Level::Uid
    } else if detail.restarts != other_detail.restarts {
        Level::Restarts
    } else if detail.age != other_detail.age {
        Level::Age
    } else {
        Level::Uid
    }
}

/// A level of the order of deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Pods without a node go first.
    Node,
    /// Then those that are not running.
    Phase,
    /// Then those that are not ready.
    Ready,
    /// Then those with the lower deletion cost.
    Cost,
    /// Then those on nodes with more related pods.
    Related {
        /// How many there are on the node of the pod that goes.
        goes: usize,
        /// How many there are on the node of the other one.
        stays: usize,
    },
    /// Then those that have been ready for a shorter time.
    ReadyTime,
    /// Then those that were restarted more often.
    Restarts,
    /// Then the younger ones.
    Age,
    /// What is left.
    Uid,
}

struct Standing {
    /// Where the pod stands in the input.
    place: usize,
    state: State,
    detail: Detail,
    /// How many pods of the same state it goes before, where that is needed.
    wins: usize,
}

/// The levels before any time is the same for two pods. Less goes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct State {
    assigned: bool,
    phase: u8,
    ready: bool,
    cost: i32,
    rank: Reverse<usize>,
    /// How long ready; pods that are not are all alike.
    ready_for: Option<Age>,
}

/// The levels after that. Less goes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Detail {
    restarts: Reverse<Restarts>,
    age: Age,
    uid: Uid,
    key: Key,
    /// Not compared before the uid and the key have decided.
    ready_since: Option<Timestamp>,
}

/// An age by its power of two; no time goes before any.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Age {
    NoTime,
    PowerOfTwo(i32),
}

impl State {
    fn new(pod: &Pod, rank: usize, now: Timestamp) -> Self {
        Self {
            assigned: !pod.node().is_empty(),
            phase: phase_level(pod.phase()),
            ready: pod.is_ready(),
            cost: pod.deletion_cost(),
            rank: Reverse(rank),
            ready_for: pod.is_ready().then(|| Age::new(pod.ready_changed(), now)),
        }
    }
}

/// How far a pod has come by its phase; what is neither unknown nor running counts as pending.
pub(super) fn phase_level(phase: Phase) -> u8 {
    match phase {
        Phase::Failed | Phase::Other | Phase::Pending | Phase::Succeeded => 0,
        Phase::Unknown => 1,
        Phase::Running => 2,
    }
}

impl Detail {
    fn new(pod: &Pod, now: Timestamp) -> Self {
        Self {
            restarts: Reverse(pod.restarts()),
            age: Age::new(pod.creation(), now),
            uid: pod.uid(),
            key: pod.key().clone(),
            ready_since: pod.ready_changed().filter(|_| pod.is_ready()),
        }
    }
}

impl Age {
    fn new(since: Option<Timestamp>, now: Timestamp) -> Self {
        since.map_or(Self::NoTime, |since| Self::PowerOfTwo(power_of_two(now.nanos_since(since))))
    }
}

/// The largest power of two in an age in nanoseconds; -1 for an age of nothing or less.
///
/// Mirrors `pkg/controller/controller_utils.go`, `logarithmicRankDiff`, which takes `math.Log2` of the age as a float64 and rounds down. For long
/// ages just below a power of two the logarithm itself is rounded up to a whole number.
fn power_of_two(nanos: i64) -> i32 {
    if nanos <= 0 {
        return -1;
    }
    let age = nanos as f64;
    // The number is at least 1, so the exponent is that of a normal number, without its bias.
    let power = (age.to_bits() >> 52) as i32 - 1023;
    let next = power + 1;
    // What is missing to the next power, as a part of that power: both are exact.
    let next_power = f64::from_bits(((next + 1023) as u64) << 52);
    let missing = (next_power - age) / next_power;
    // Near it the logarithm falls short by that part times log2(e); the numbers below `next` are 2^-47 apart above 32, else closer.
    let half_a_step = f64::from_bits((1023 - if next > 32 { 48 } else { 49 }) << 52);
    if missing * core::f64::consts::LOG2_E <= half_a_step { next } else { power }
}

/// Orders pods that are alike in all levels before the times; they come ordered by the levels after those.
///
/// Of pods that became ready at the same time those levels decide, of others the uid. Each of two pods goes before the other by one of these rules;
/// a pod's wins are the pods that it goes before. If there is no circle, the wins of all pods differ and give just that order. If there
/// is one, pods outside it still have more or fewer wins than all of those inside, as the rules say.
fn order_alike(pods: &mut [Standing]) {
    if pods.windows(2).all(|pair| pair[0].detail.ready_since == pair[1].detail.ready_since) {
        return;
    }
    let mut by_uid: Vec<usize> = (0..pods.len()).collect();
    by_uid.sort_by(|&a, &b| pods[a].detail.by_uid().cmp(&pods[b].detail.by_uid()));
    // Wins by uid over all pods, less those over pods of the same time, where it does not decide.
    let mut same_time: HashMap<Option<Timestamp>, usize> = HashMap::new();
    for (after, &pod) in by_uid.iter().rev().enumerate() {
        let same = same_time.entry(pods[pod].detail.ready_since).or_default();
        pods[pod].wins = after - *same;
        *same += 1;
    }
    same_time.clear();
    for pod in pods.iter_mut().rev() {
        let same = same_time.entry(pod.detail.ready_since).or_default();
        pod.wins += *same;
        *same += 1;
    }
    pods.sort_by(|a, b| b.wins.cmp(&a.wins).then_with(|| a.detail.by_uid().cmp(&b.detail.by_uid())));
}

impl Detail {
    fn by_uid(&self) -> (&Uid, &Key) {
        (&self.uid, &self.key)
    }
}

#[cfg(test)]
mod tests;
