//! Small worlds hold in every order in which things can happen.

use sanskube_world::explore::{Bounds, Explored, explore};

fn whole(sets: &[u8], faults: u8, syncs: usize) -> Explored {
    let bounds = Bounds { sets: sets.into(), users: 0, faults, syncs, depth: u32::MAX };
    let explored = explore(&bounds, |_| ()).unwrap_or_else(|failure| panic!("{failure:#?}"));
    assert_eq!(explored.left, 0);
    explored
}

#[test]
fn a_set_comes_up_in_every_order() {
    let explored = whole(&[3], 0, 1);
    // Ends differ in no more than what the watches have said by then. Every one is as it should be, or the exploration fails.
    assert!((1..=2).contains(&explored.ends), "{explored:?}");
    // There is more than one way there.
    assert!(explored.states > 50 && explored.steps > explored.states as u64, "{explored:?}");
}

#[test]
fn a_set_comes_up_whatever_goes_wrong_once() {
    assert!(whole(&[1], 1, 1).ends > 1);
}

#[test]
fn two_sets_come_up_at_once_in_every_order() {
    let (one, two) = (whole(&[1, 1], 0, 1), whole(&[1, 1], 0, 2));
    assert!(two.states > one.states && two.ends > 1, "{one:?} {two:?}");
}

#[test]
fn two_sets_come_up_in_every_order_as_far_as_that_is_looked_at() {
    let bounds = Bounds { sets: vec![1, 2], users: 1, faults: 1, syncs: 2, depth: 4 };
    let explored = explore(&bounds, |_| ()).unwrap_or_else(|failure| panic!("{failure:#?}"));
    assert!(explored.left > 0 && explored.states > 500, "{explored:?}");
}
