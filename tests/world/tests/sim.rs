//! Seeds of every profile hold, and run twice they go the same way.

use std::time::Duration;

use sanskube_world::sim::{Action, Coverage, Fault, Plan, Profile, run, shrink};

/// Runs seeds, each of which must hold.
fn hold(profile: Profile, seeds: u64) -> Coverage {
    let mut coverage = Coverage::default();
    for seed in 0..seeds {
        let outcome = run(&Plan::draw(seed, profile), false);
        if let Some(violation) = outcome.violation {
            panic!("{violation}\nsee: cargo run --release -p sanskube-world -- --replay {seed} --profile {profile}");
        }
        coverage.add(&outcome.coverage);
    }
    coverage
}

#[test]
fn all_faults_together_hold_and_every_kind_strikes_and_every_state_is_met() {
    let coverage = hold(Profile::All, 700);
    assert_eq!(coverage.kinds().count(), 29, "{coverage}");
    assert_eq!(coverage.states().count(), 10, "{coverage}");
}

#[test]
fn users_alone_hold() {
    assert_eq!(hold(Profile::Calm, 300).kinds().count(), 0);
}

#[test]
fn crashes_hold() {
    hold(Profile::Crash, 400);
}

#[test]
fn elections_hold() {
    hold(Profile::Leader, 150);
}

#[test]
fn a_bad_network_holds() {
    hold(Profile::Network, 400);
}

#[test]
fn a_server_that_refuses_and_forgets_holds() {
    hold(Profile::Server, 400);
}

#[test]
fn stale_replicas_hold() {
    hold(Profile::Stale, 400);
}

#[test]
fn a_seed_goes_the_same_way_twice() {
    for (profile, name) in Profile::ALL {
        for seed in 1000..1012 {
            let plan = Plan::draw(seed, profile);
            let (one, other) = (run(&plan, true), run(&plan, true));
            let differs = one.trace.lines.iter().zip(&other.trace.lines).find(|(a, b)| a != b);
            assert_eq!(differs, None, "seed {seed} of profile {name}");
            assert_eq!((one.digest, one.steps), (other.digest, other.steps), "seed {seed} of profile {name}");
            assert_eq!(run(&plan, false).digest, one.digest, "a trace changes nothing");
        }
    }
}

/// What these seeds found; as long as plans are drawn as they are, they come to it again.
#[test]
fn seeds_that_found_something_hold() {
    let found = [
        (1031, Profile::Crash, "an owner that waits for a dependent which no longer keeps it"),
        (23988, Profile::All, "a pod that fails twice while it ends"),
        (49009, Profile::All, "an orphan that two controllers adopt for the same set"),
        (
            49547,
            Profile::All,
            "a watch that has fallen silent, and an answer on it that waited for a controller to wake",
        ),
        (928_625, Profile::All, "an orphan that is adopted and disowned again, all before a list shows it"),
    ];
    for (seed, profile, what) in found {
        assert_eq!(run(&Plan::draw(seed, profile), false).violation, None, "seed {seed}: {what}");
    }
}

#[test]
fn managers_without_an_election_contradict_each_other_no_faster_than_their_clients_allow() {
    // Both look after the same pods, and one of them has a watch that has fallen silent.
    let mut plan = Plan::draw(1367, Profile::All);
    assert!(plan.setup.lacks_election() && plan.setup.overlap);
    plan.setup.delay = Duration::from_millis(1);
    let silence = Action::Fault(Fault::Silence { who: 1, line: 5 });
    assert!(plan.actions.iter().any(|(_, action)| *action == silence), "{plan:?}");
    let outcome = run(&plan, false);
    assert_eq!(outcome.violation, None);
    // They do contradict each other.
    assert!((2_000..50_000).contains(&outcome.steps), "{} steps", outcome.steps);
}

#[test]
fn what_fails_is_made_small() {
    let mut plan = Plan::draw(5, Profile::All);
    assert!(plan.actions.len() > 5);
    // Nobody looks after the sets.
    plan.setup.managers = 0;
    let violation = run(&plan, false).violation.unwrap();
    assert_eq!(violation.rule, "the cluster becomes as it should be");
    let small = shrink(&plan, violation.rule);
    assert_eq!((small.actions.len(), small.setup.observer, small.setup.tight), (0, false, false));
    assert_eq!(run(&small, false).violation.unwrap().rule, violation.rule);
}
