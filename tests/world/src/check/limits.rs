//! Memory and work stay within their bounds.

use sanskube::limits::Limits;
use sanskube::manager::Manager;
use sanskube::object::ReplicaSetKind;

use super::Violation;
use crate::client::ClientId;
use crate::member::Member;
use crate::world::World;

/// Calls beside the short ones: a list of each collection, and one of the election.
const OTHERS: usize = 3;

/// Counts what a manager holds.
pub(crate) fn check(
    client: ClientId,
    manager: &Manager,
    world: &World<Member>,
    limits: &Limits,
) -> Result<(), Violation> {
    let calls = world.lines(client).filter(|(_, line)| !line.watch).count();
    let syncs = manager.syncs().count();
    let kind = ReplicaSetKind::ReplicaSet;
    let sets = manager.sets(kind).map_or(0, |sets| sets.len());
    let mut counts = vec![
        ("calls in flight", calls, limits.calls_in_flight + OTHERS),
        ("syncs under way", syncs, limits.concurrent_syncs),
        ("events that wait", manager.recorder().waiting(), limits.events_waiting),
        ("events that are remembered", manager.recorder().remembered(), limits.events_remembered),
    ];
    if let Some(controller) = manager.controller(kind) {
        // A record belongs to a set that is known, or that a sync under way still works on.
        counts.push(("expectations", controller.expectations().len(), sets + syncs));
        counts.push(("records of rejections", controller.rejections().len(), sets + syncs));
        counts.push(("records of writes", controller.guard().len(), sets + syncs));
    }
    if let Some(queue) = manager.queue(kind) {
        // A key that failed waits, and its failures are forgotten once it succeeds: a counter and a wait for each.
        let open = queue.waiting() + queue.len() + queue.processing();
        counts.push(("records of failures", queue.tracked(), 2 * open));
    }
    match counts.into_iter().find(|(_, count, bound)| count > bound) {
        Some((what, count, bound)) => {
            let what = format_args!("{client:?} has {count} {what}, where {bound} are allowed");
            Err(Violation::new("memory stays within its bounds", what))
        }
        None => Ok(()),
    }
}
