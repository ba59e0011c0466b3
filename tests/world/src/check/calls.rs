//! Every call ends by its deadline; a watch on which something still comes, the grace for silence after the last of it.

use sanskube::limits::Limits;

use super::Violation;
use crate::client::Line;
use crate::member::Member;
use crate::world::World;

/// Looks for calls in flight whose deadline is past. A controller that sleeps is excused until it wakes.
pub(crate) fn check(world: &World<Member>, limits: &Limits) -> Result<(), Violation> {
    let now = world.now().instant;
    for (id, client) in &world.clients {
        if client.suspended_until >= now || client.stopped {
            continue;
        }
        let due = |line: &Line| {
            if line.watch { line.deadline.max(line.last + limits.watch_grace) } else { line.deadline }
        };
        if let Some((call, line)) = client.lines.iter().find(|(_, line)| due(line) < now) {
            let what = format_args!("{id:?} still waits for {call:?}, {:?}, due at {:?}", line.request, due(line));
            return Err(Violation::new("every call ends by its deadline", what));
        }
    }
    Ok(())
}
