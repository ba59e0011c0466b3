use sanskube::rand::SplitMix64;

use super::*;

/// A case of random operations, with what comes of them when retries are as in client-go.
fn random_case(seed: u64) -> Value {
    let mut random = SplitMix64::new(seed);
    let mut below = |n: u64| random.next_u64() % n;
    let mut case =
        json!({"config": {"limiter": {"kind": "exponential", "base_ns": 1000, "max_ns": 100_000}}, "ops": []});
    let mut player = Player::at(&case, 0, Retries::ClientGo);
    for at in 0..60 {
        let item = format!("k{}", below(3));
        // Times differ, so that the order of what is due is told.
        let odd = 2 * at + 1;
        let op = match below(9) {
            0..3 => json!({"op": "add_rate_limited", "item": item}),
            3 => json!({"op": "add_after", "item": item, "delay_ns": below(20) * 1000 + odd}),
            4 => json!({"op": "forget", "item": item}),
            5 => json!({"op": "num_requeues", "item": item}),
            6 => json!({"op": "get"}),
            7 => json!({"op": "done", "item": item}),
            _ => json!({"op": "advance", "ns": below(10) * 1000 + odd}),
        };
        if op["op"] == "done" && player.queue.contains(&item) {
            continue;
        }
        let got = player.apply(op["op"].as_str().expect("a name"), &op, &Value::Null).1;
        let mut op = op;
        op["want"] = got;
        case["ops"].as_array_mut().expect("a list").push(op);
    }
    case
}

#[test]
fn the_rule_says_what_is_wanted_of_sequences_that_were_never_recorded() {
    let mut rules = Check::default();
    for seed in 0..500 {
        let mut check = Check::default();
        replay(&random_case(seed), &mut check);
        assert!(check.failures.is_empty(), "seed {seed}: {:#?}", check.failures);
        rules.add_rules(&check);
    }
    assert!(rules.rules[OWN_TIMER] > 500 && rules.skipped_ops.is_empty(), "{:?}", rules.rules);
}
