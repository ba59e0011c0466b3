//! Small worlds hold in every order in which things can happen.

use sanskube_world::explore::{Bounds, Explored, explore};

fn whole(sets: &[u8], users: u8, faults: u8) -> Explored {
    let bounds = Bounds { sets: sets.into(), users, faults, depth: u32::MAX };
    let explored = explore(&bounds, |_| ()).unwrap_or_else(|failure| panic!("{failure:#?}"));
    assert_eq!(explored.left, 0);
    explored
}

#[test]
fn a_set_comes_up_in_every_order() {
    let explored = whole(&[3], 0, 0);
    // Ends differ in no more than what the watches have said by then. Every one is as it should be, or the exploration fails.
    assert!((1..=2).contains(&explored.ends), "{explored:?}");
    // There is more than one way there.
    assert!(explored.states > 50 && explored.steps > explored.states as u64, "{explored:?}");
}

#[test]
fn a_set_comes_up_whatever_goes_wrong_once() {
    assert!(whole(&[1], 0, 1).ends > 1);
}

#[test]
fn two_sets_come_up_in_every_order_as_far_as_that_is_looked_at() {
    let bounds = Bounds { sets: vec![1, 2], users: 1, faults: 1, depth: 4 };
    let explored = explore(&bounds, |_| ()).unwrap_or_else(|failure| panic!("{failure:#?}"));
    assert!(explored.left > 0 && explored.states > 500, "{explored:?}");
}
