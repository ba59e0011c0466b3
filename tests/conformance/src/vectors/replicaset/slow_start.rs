//! Batches that double.

use sanskube::replicaset::slow_start::SlowStart;
use serde_json::{Value, json};

use super::super::Check;
use super::number;

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let input = &case["input"];
    let fail_from = input["failFromCall"].as_u64().filter(|&from| from > 0).unwrap_or(u64::MAX);
    let failing = |call: u64| {
        call >= fail_from || input["failCalls"].as_array().is_some_and(|calls| calls.contains(&json!(call)))
    };
    // A size below zero makes no call, as 0 does.
    let mut slow_start = SlowStart::new(number(&input["count"]), number(&input["initialBatchSize"]));
    let (mut batches, mut calls, mut error) = (Vec::new(), 0, false);
    loop {
        let batch = std::iter::from_fn(|| slow_start.poll_call().then_some(())).count();
        if batch == 0 {
            break;
        }
        batches.push(batch);
        for _ in 0..batch {
            calls += 1;
            error |= failing(calls);
            slow_start.handle_outcome(!failing(calls));
        }
    }
    let want = &case["want"];
    check.same("batches", &want["batches"], &json!(batches));
    check.same("calls", &want["calls"], &json!(calls));
    check.same("successes", &want["successes"], &json!(slow_start.successes()));
    check.same("error", &want["error"], &json!(error));
    let skipped = number(&input["count"]) as u64 - calls;
    check.same("skipped", &json!(skipped), &json!(slow_start.skipped()));
    if !slow_start.is_done() {
        check.fail("not done, though no call is to be made");
    }
}
