//! What a controller awaits ends.
//!
//! A cache of pods that has come as far as the server has shown all that was written, even what came and went unseen. A set that no sync works on awaits
//! nothing then: else it would be held back for minutes without a reason.

use sanskube::manager::Manager;
use sanskube::object::{Object, ReplicaSetKind};

use super::Violation;
use super::cache::version_of;
use crate::client::ClientId;
use crate::member::Member;
use crate::world::World;

/// Looks for sets that await something though there is nothing left to be seen. `newest` is the version of the last change of a pod.
pub(crate) fn check(client: ClientId, manager: &Manager, newest: u64, world: &World<Member>) -> Result<(), Violation> {
    let kind = ReplicaSetKind::ReplicaSet;
    let (Some(controller), Some(sets), Some(now)) = (manager.controller(kind), manager.sets(kind), world.clock(client))
    else {
        return Ok(());
    };
    if version_of(manager.pods()) < newest {
        return Ok(());
    }
    let version = manager.pods().resource_version();
    let awaits = |set: &&std::sync::Arc<sanskube::object::ReplicaSet>| {
        !controller.expectations().are_satisfied(&set.uid(), version, now.instant)
            && manager.syncs().all(|(_, key, _)| *key != set.key())
    };
    match sets.iter().find(awaits) {
        Some(set) => {
            let awaited = controller.expectations().get(&set.uid());
            let what =
                format_args!("{client:?} has seen all up to {version}, and for {set:?} still awaits {awaited:?}");
            Err(Violation::new("expectations end when the cache shows it all", what))
        }
        None => Ok(()),
    }
}
