//! Where there is an election, one controller at most leads.

use sanskube::election::Standing;

use super::Violation;
use crate::member::Member;
use crate::world::World;

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
