//! What a manager is asked to do.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::ClientLimits;
use crate::election;
use crate::limits::Limits;
use crate::object::ReplicaSetKind;
use crate::request::Encoding;

/// Which sets a manager looks after, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The kinds of sets: one controller each. Default ReplicaSets alone.
    pub kinds: Vec<ReplicaSetKind>,
    /// The namespace to look after; empty for all, the default.
    pub namespace: String,
    /// How many requests are made a second. Default no limit: servers protect themselves (API priority and fairness).
    /// [`ClientLimits::default`] is what kube-controller-manager has.
    pub client_limits: Option<ClientLimits>,
    /// What pods are asked for in, the many and large objects; a server that cannot write it answers in JSON. Default JSON. Sets are always
    /// asked for in JSON: what is written of them, and of their templates, is what was read, with all fields that this build does not know.
    pub encoding: Encoding,
    /// Whether to say what would be written instead of writing it. Default no.
    pub dry_run: bool,
    /// The election that is stood in; nothing is done before it is won. Default none: this is the only manager there is.
    pub election: Option<election::Config>,
    /// Only sets with such labels, in the API's syntax; empty for all, the default. Pods are looked at whatever their labels.
    pub label_selector: String,
    /// The bounds.
    pub limits: Limits,
    /// How often every object in the caches is looked at again; zero for never, the default.
    pub resync_period: Duration,
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
            client_limits: None,
            encoding: Encoding::default(),
            dry_run: false,
            election: None,
            label_selector: String::new(),
            limits: Limits::default(),
            resync_period: Duration::ZERO,
            seed: 0,
            watch_list: true,
        }
    }
}
