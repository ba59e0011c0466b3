//! The controllers, ready to be driven.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use sanskube::election::Standing;
#[cfg(feature = "demo")]
use sanskube::manager::Config;
use sanskube::manager::Manager;
use sanskube::metrics::Text;
use sanskube::time::Now;

use super::process;
use crate::status::Status;

/// How many short calls are made at a time.
pub(super) const WORKERS: usize = 16;

/// A number that no other process has, as good as certainly. What the standard library draws for its hash maps is random enough for that.
pub(super) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The controllers at a moment, for those who look in.
pub(super) struct Looked<'a> {
    pub(super) manager: &'a Manager,
    pub(super) now: Now,
}

impl Status for Looked<'_> {
    /// Ready is who knows everything and leads, or stands by.
    fn ready(&self) -> Result<(), String> {
        match self.manager.standing(self.now) {
            Some(Standing::Waiting) => Ok(()),
            Some(Standing::Lost) => Err("the lease is lost".into()),
            Some(Standing::Leading { .. }) | None if self.manager.has_synced() => Ok(()),
            Some(Standing::Leading { .. }) | None => Err("the first lists are not complete".into()),
        }
    }

    fn metrics(&self) -> String {
        let mut families = self.manager.metrics(self.now);
        families.extend(process::metrics());
        Text(&families).to_string()
    }
}

/// What the demo's controllers are asked to do: everything, and as fast as they can.
#[cfg(feature = "demo")]
pub(super) fn unlimited(kinds: Vec<sanskube::object::ReplicaSetKind>) -> Manager {
    Manager::new(&Config { kinds, seed: seed(), ..Config::default() })
}
