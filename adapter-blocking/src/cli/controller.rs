//! The controllers, ready to be driven.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use sanskube::manager::{Config, Manager};
use sanskube::object::ReplicaSetKind;

/// How many short calls are made at a time.
pub(super) const WORKERS: usize = 16;

/// Controllers of these kinds, in one namespace or in all.
pub(super) fn manager(kinds: Vec<ReplicaSetKind>, namespace: Option<String>) -> Manager {
    // What the standard library draws for its hash maps is random enough to tell two processes apart.
    let seed = RandomState::new().build_hasher().finish();
    Manager::new(&Config { kinds, namespace: namespace.unwrap_or_default(), seed, ..Config::default() })
}
