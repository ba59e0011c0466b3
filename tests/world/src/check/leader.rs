//! Where there is an election, one controller at most leads, and no other begins a write.

use sanskube::election::Standing;
use sanskube::request::{Method, Request};

use super::Violation;
use crate::client::ClientId;
use crate::member::Member;
use crate::world::World;

/// Judges a call that a controller has begun: but for what it asks of the lease itself, only the leader writes.
pub(crate) fn check_begun(client: ClientId, request: &Request, world: &World<Member>) -> Result<(), Violation> {
    let manager = world.machine(client).and_then(Member::manager);
    let standing = manager.zip(world.clock(client)).and_then(|(manager, now)| manager.standing(now));
    let may_write = standing.is_none_or(|standing| matches!(standing, Standing::Leading { .. }));
    if may_write || request.method == Method::Get || request.path.contains("/leases") {
        return Ok(());
    }
    let what = format_args!("{client:?}, which is {standing:?}, begins {request:?}");
    Err(Violation::new("only the leader writes", what))
}

/// Counts those that lead by their own clocks and are awake. One that sleeps may believe what it likes: it does nothing.
pub(crate) fn check(world: &World<Member>) -> Result<(), Violation> {
    if world.clients.len() < 2 {
        return Ok(());
    }
    let leads = |client: &crate::client::Client<Member>| {
        let standing = client.machine.manager()?.standing(client.clock.show(world.now()));
        matches!(standing, Some(Standing::Leading { .. })).then_some(())
    };
    let awake = world.clients.iter().filter(|(_, client)| client.suspended_until <= world.now().instant);
    let leaders: Vec<_> = awake.filter_map(|(id, client)| leads(client).map(|()| *id)).collect();
    if leaders.len() > 1 {
        return Err(Violation::new("one controller leads", format_args!("{leaders:?} do")));
    }
    Ok(())
}
