use sanskube::rand::SplitMix64;

use super::super::random;
use super::*;

/// A case of random operations, with what comes of them in client-go's ways.
fn random_case(seed: u64) -> Value {
    let mut random = SplitMix64::new(seed);
    let objects = random::objects();
    let names: Vec<String> = objects.keys().cloned().collect();
    let config = json!({
        "queue": (["delta_fifo", "real_fifo", "atomic_fifo"][usize::try_from(seed % 3).expect("it is below three")]),
        "watch_list": seed.is_multiple_of(2),
        "resync_ms": if seed.is_multiple_of(5) { 30_000 } else { 0 },
        "handlers": [{"name": "h1"}, {"name": "h2", "resync_ms": 60_000}],
    });
    let mut case = json!({"config": config, "objects": objects, "ops": [{"op": "start"}]});
    let mut script = Script::at(&case, 0, CLIENT_GO);
    for at in 0..60 {
        if at > 0 {
            let op = random::next_op(script.call.as_ref(), script.open, &names, &mut random);
            case["ops"].as_array_mut().expect("a list").push(op);
        }
        let (_, name, op, _) = op(&case, at).expect("it was pushed");
        assert!(script.apply(name, op), "{op}");
        let mut want = script.take(false);
        want["unordered"] = json!(true);
        if case["config"]["queue"] != "atomic_fifo" {
            // What resyncs do to it is recorded of that queue alone.
            want.as_object_mut().expect("a map").remove("store_rv");
        }
        case["ops"][at]["want"] = want;
    }
    case
}

#[test]
fn the_rules_say_what_is_wanted_of_sequences_that_were_never_recorded() {
    let mut rules = Check::default();
    for seed in 0..150 {
        let mut check = Check::default();
        replay(&random_case(seed), &mut check);
        assert!(check.failures.is_empty(), "seed {seed}: {:#?}", check.failures);
        rules.add_rules(&check);
    }
    assert_eq!(rules.rules.len(), 5, "every rule of recovery was applied: {:?}", rules.rules);
}
