//! Seeds of every profile hold, and run twice they go the same way.

use sanskube_world::sim::{Plan, Profile, run};

#[test]
fn a_seed_goes_the_same_way_twice() {
    for (profile, name) in Profile::ALL {
        for seed in 0..12 {
            let plan = Plan::draw(seed, profile);
            let (one, other) = (run(&plan, true), run(&plan, true));
            let differs = one.trace.lines.iter().zip(&other.trace.lines).find(|(a, b)| a != b);
            assert_eq!(differs, None, "seed {seed} of profile {name}");
            assert_eq!((one.digest, one.steps), (other.digest, other.steps), "seed {seed} of profile {name}");
            assert_eq!(run(&plan, false).digest, one.digest, "a trace changes nothing");
        }
    }
}
