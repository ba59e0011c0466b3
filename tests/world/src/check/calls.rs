//! Every call ends by its deadline, which is no later than the limits say; a watch on which something still comes, the grace for silence after the
//! last of it. A stop ends, too.

use std::time::Duration;

use sanskube::limits::Limits;
use sanskube::request::Method;
use sanskube::time::Instant;

use super::Violation;
use crate::client::{ClientId, Line};
use crate::member::Member;
use crate::world::World;

/// How long a stop may take. A manager gives up what is in flight after 0.7 s, and the lease after 0.15 s more.
const TO_STOP: Duration = Duration::from_secs(1);

/// Looks at a call that has just begun.
pub(crate) fn check_begun(client: ClientId, line: &Line, now: Instant, limits: &Limits) -> Result<(), Violation> {
    let (path, query) = line.request.path.split_once('?').unwrap_or((&line.request.path, ""));
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("timeoutSeconds=")?.parse().ok());
    // What is listed here is listed in all namespaces.
    let is_list = line.request.method == Method::Get && !path.contains("/namespaces/");
    let allowed = match asked.filter(|_| line.watch).map(Duration::from_secs) {
        Some(asked) => asked + limits.watch_grace,
        None if is_list => limits.list_timeout,
        None => limits.call_timeout,
    };
    if line.deadline <= now + allowed {
        return Ok(());
    }
    let what = format_args!("{client:?} waits for {path} until {:?}, and it is {now:?}", line.deadline);
    Err(Violation::new("a call waits no longer than is allowed", what))
}

/// Looks for calls in flight whose deadline is past, and for stops that do not end. A controller that sleeps is excused until it wakes.
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
        let asked = client.asked_to_stop.map(|at| at.max(client.suspended_until));
        if let Some(at) = asked.filter(|at| *at + TO_STOP < now) {
            let what = format_args!("{id:?} was asked to stop at {at:?} and still runs");
            return Err(Violation::new("a stop ends", what));
        }
    }
    Ok(())
}
