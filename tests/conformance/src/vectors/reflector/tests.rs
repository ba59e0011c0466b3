use sanskube::rand::SplitMix64;

use super::super::random;
use super::*;

/// A case of random operations, with what comes of them when recovery is as in client-go.
fn random_case(seed: u64) -> Value {
    let mut random = SplitMix64::new(seed);
    let objects = random::objects();
    let names: Vec<String> = objects.keys().cloned().collect();
    let config = json!({
        "watch_list": seed.is_multiple_of(3),
        "page_size": if (seed / 3).is_multiple_of(3) { 3 } else { 0 },
        "resync_ms": if seed.is_multiple_of(4) { 30_000 } else { 0 },
        "max_internal_error_retry_ms": if seed.is_multiple_of(5) { 10_000 } else { 0 },
        "bookmark_store": seed.is_multiple_of(2),
    });
    let mut case = json!({"config": config, "objects": objects, "ops": [{"op": "start"}]});
    let mut script = Script::at(&case, 0, Recovery::ClientGo);
    for at in 0..60 {
        if at > 0 {
            let op = random::next_op(script.call.as_ref(), script.open, &names, &mut random);
            case["ops"].as_array_mut().expect("a list").push(op);
        }
        let (_, name, op, _) = op(&case, at).expect("it was pushed");
        assert!(script.apply(name, op), "{op}");
        let want = script.take(false);
        case["ops"][at]["want"] = want;
    }
    case
}

#[test]
fn the_rules_say_what_is_wanted_of_sequences_that_were_never_recorded() {
    let mut rules = Check::default();
    for seed in 0..200 {
        let case = random_case(seed);
        let mut check = Check::default();
        replay(&case, &mut check);
        assert!(check.failures.is_empty(), "seed {seed}: {:#?}", check.failures);
        rules.add_rules(&check);
    }
    assert_eq!(rules.rules.len(), 5, "every rule of recovery was applied: {:?}", rules.rules);
}
