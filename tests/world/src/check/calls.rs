//! Every call ends by its deadline.

use super::Violation;
use crate::member::Member;
use crate::world::World;

/// Looks for calls in flight whose deadline is past. A controller that sleeps is excused until it wakes.
pub(crate) fn check(world: &World<Member>) -> Result<(), Violation> {
    let now = world.now().instant;
    for (id, client) in &world.clients {
        if client.suspended_until >= now || client.stopped {
            continue;
        }
        if let Some((call, line)) = client.lines.iter().find(|(_, line)| line.deadline < now && !line.watch) {
            let what = format_args!("{id:?} still waits for {call:?}, {:?}, due at {:?}", line.request, line.deadline);
            return Err(Violation::new("every call ends by its deadline", what));
        }
    }
    Ok(())
}
