//! Where there is an election, one controller at most leads, and no other begins a write.

use sanskube::election::Standing;
use sanskube::request::{Method, Request};

use super::Violation;
use crate::client::ClientId;
use crate::member::Member;
use crate::world::World;

/// Judges a call that a controller has begun: but for what it asks of the lease itself, only the leader writes.
pub(crate) fn check_begun(client: ClientId, request: &Request, world: &World<Member>) -> Result<(), Violation> {
    let standing = standing(client, world);
    if may_act(standing) || request.method == Method::Get || request.path.contains("/leases") {
        return Ok(());
    }
    let what = format_args!("{client:?}, which is {standing:?}, begins {request:?}");
    Err(Violation::new("only the leader writes", what))
}

/// Whether a controller may do its work: it leads, or there is no election.
pub(crate) fn acts(client: ClientId, world: &World<Member>) -> bool {
    may_act(standing(client, world))
}

fn standing(client: ClientId, world: &World<Member>) -> Option<Standing> {
    let manager = world.machine(client).and_then(Member::manager);
    manager.zip(world.clock(client)).and_then(|(manager, now)| manager.standing(now))
}

fn may_act(standing: Option<Standing>) -> bool {
    standing.is_none_or(|standing| matches!(standing, Standing::Leading { .. }))
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
