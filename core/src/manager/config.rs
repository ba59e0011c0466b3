//! What a manager is asked to do.

use alloc::string::String;
use alloc::vec::Vec;

use crate::limits::Limits;
use crate::object::ReplicaSetKind;

/// Which sets a manager looks after, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The kinds of sets: one controller each. Default ReplicaSets alone.
    pub kinds: Vec<ReplicaSetKind>,
    /// The namespace to look after; empty for all, the default.
    pub namespace: String,
    /// The bounds.
    pub limits: Limits,
    /// The seed of all jitter and of the names of events. Two processes should not have the same.
    pub seed: u64,
    /// Whether to ask for the objects as a stream (API concepts, "Streaming lists"), falling back to lists where the server
    /// cannot. Default yes, as Kubernetes 1.36.
    pub watch_list: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            kinds: alloc::vec![ReplicaSetKind::ReplicaSet],
            namespace: String::new(),
            limits: Limits::default(),
            seed: 0,
            watch_list: true,
        }
    }
}
