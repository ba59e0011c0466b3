//! A decision: what a sync has made up its mind to do, and why.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use super::rank::Level;
use crate::object::{Pod, ReplicaSet, ReplicaSetStatus};

/// What a sync does about its set, or why it does not. A set that is as it should be gives none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// A pod without an owner is selected by the set, and becomes its own.
    Adopt(Arc<Pod>),
    /// No pod is created or deleted before the cache has shown what an earlier sync did.
    AwaitPods {
        /// Creations that it has not shown.
        creations: i64,
        /// Deletions that it has not shown.
        deletions: i64,
    },
    /// There are too few pods.
    Create {
        /// How many are wanted.
        want: usize,
        /// How many active pods there are.
        have: usize,
        /// How many are created in this sync.
        count: usize,
    },
    /// There are too many pods. A [`DeletePod`](Self::DeletePod) follows for each that goes.
    Delete {
        /// How many are wanted.
        want: usize,
        /// How many active pods there are.
        have: usize,
        /// How many are deleted in this sync.
        count: usize,
    },
    /// A pod goes.
    DeletePod(Arc<Pod>, Why),
    /// There are too few pods, but new ones fail at once, so that nothing is created for a while.
    Pause(Duration),
    /// An own pod is not selected any more, and becomes nobody's.
    Release(Arc<Pod>),
    /// A creation has failed, so the rest is not tried.
    SkipCreations(usize),
    /// The status has changed.
    WriteStatus {
        /// As the cache shows it.
        old: ReplicaSetStatus,
        /// As it is to be.
        new: ReplicaSetStatus,
    },
}

/// Why a pod is among those that go.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// All of them go.
    AllGo,
    /// A [choice](super::victims::ChooseVictims) that does not say why.
    Chosen,
    /// It comes before the first one that stays in the [order of deletion](super::rank).
    Ranked {
        /// By what.
        level: Level,
        /// The first one that stays.
        stays: Arc<Pod>,
    },
}

/// The decisions of a sync that nobody has asked for yet.
#[derive(Debug, Default)]
pub(super) struct Decisions(VecDeque<Decision>);

impl Decisions {
    /// Notes a decision about a set, and says it in the log.
    pub(super) fn note(&mut self, set: &ReplicaSet, decision: Decision) {
        log::log!(decision.log_level(), "{set:?}: {decision}");
        self.0.push_back(decision);
    }

    pub(super) fn poll(&mut self) -> Option<Decision> {
        self.0.pop_front()
    }
}

impl Decision {
    /// How loudly it is said.
    fn log_level(&self) -> log::Level {
        match self {
            Self::AwaitPods { .. } | Self::WriteStatus { .. } => log::Level::Debug,
            _ => log::Level::Info,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adopt(pod) => write!(f, "adopting pod {}, which it selects and nobody owns", pod.key()),
            Self::AwaitPods { creations, deletions } => {
                write!(f, "waiting for the cache to show {creations} creations and {deletions} deletions")
            }
            Self::Create { want, have, count } => {
                write!(f, "too few replicas, need {want}, have {have}, creating {count}")
            }
            Self::Delete { want, have, count } => {
                write!(f, "too many replicas, need {want}, have {have}, deleting {count}")
            }
            Self::DeletePod(pod, why) => {
                write!(f, "deleting pod {}: {}", pod.key(), why.of(pod))
            }
            Self::Pause(pause) => write!(f, "its new pods fail at once, creating no more for {pause:?}"),
            Self::Release(pod) => write!(f, "releasing pod {}, whose labels no longer match", pod.key()),
            Self::SkipCreations(count) => write!(f, "slow start failed, not creating {count} more pods"),
            Self::WriteStatus { old, new } => {
                write!(f, "updating status: {}", new.differences(old))
            }
        }
    }
}

impl Why {
    /// It in words, about the pod that goes.
    pub fn of<'a>(&'a self, pod: &'a Pod) -> impl fmt::Display + 'a {
        WhyPod { why: self, pod }
    }
}

struct WhyPod<'a> {
    why: &'a Why,
    pod: &'a Pod,
}

impl fmt::Display for WhyPod<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pod = self.pod;
        let (level, stays) = match self.why {
            Why::AllGo => return f.write_str("all of them go"),
            Why::Chosen => return f.write_str("it was chosen"),
            Why::Ranked { level, stays } => (level, stays),
        };
        let other = stays.key().name();
        match level {
            Level::Node => write!(f, "it is on no node, {other} is"),
            Level::Phase => write!(f, "it is {:?}, {other} is {:?}", pod.phase(), stays.phase()),
            Level::Ready => write!(f, "it is not ready, {other} is"),
            Level::Cost => {
                write!(f, "its deletion cost is {}, that of {other} is {}", pod.deletion_cost(), stays.deletion_cost())
            }
            Level::Related { goes, stays } => {
                write!(f, "its node has {goes} such pods, that of {other} has {stays}")
            }
            Level::ReadyTime => write!(f, "it has been ready for a shorter time than {other}"),
            Level::Restarts => write!(
                f,
                "it was restarted {} times, {other} was {} times",
                pod.restarts().regular,
                stays.restarts().regular
            ),
            Level::Age => write!(f, "it is younger than {other}"),
            Level::Uid => write!(f, "it is like {other} in all that counts, and its uid comes first"),
        }
    }
}
