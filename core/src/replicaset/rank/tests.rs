use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use core::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::replicaset::testing::{merge, now, pod, ready};
use crate::testing::Random;

const OLD: &str = "2026-03-14T08:00:00Z";
const YOUNG: &str = "2026-03-14T09:26:00Z";

fn names(pods: &[(Pod, usize)]) -> Vec<&str> {
    let order = deletion_order(pods.iter().map(|(pod, rank)| (pod, *rank)), now().wall);
    order.into_iter().map(|place| pods[place].0.name()).collect()
}

/// A pod that would stay by every level: bound, running, ready for long, dear, alone, without restarts, old.
fn keeper(name: &str, more: Value) -> Pod {
    let mut all = ready(OLD);
    merge(
        &mut all,
        json!({"metadata": {"creationTimestamp": OLD, "annotations": {"controller.kubernetes.io/pod-deletion-cost": "9"}}}),
    );
    merge(&mut all, more);
    pod(name, all)
}

#[test]
fn each_level_decides_before_all_that_come_after_it() {
    // What makes a pod go by each level, from the first to the last, and what its rank is.
    let restarted = json!({"status": {"containerStatuses": [{"name": "c", "restartCount": 3}]}});
    let levels: [(Value, usize, Level); 8] = [
        (json!({"spec": {"nodeName": ""}}), 0, Level::Node),
        (json!({"status": {"phase": "Pending"}}), 0, Level::Phase),
        (json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}), 0, Level::Ready),
        (json!({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}}), 0, Level::Cost),
        (json!({}), 5, Level::Related { goes: 5, stays: 0 }),
        (ready(YOUNG), 0, Level::ReadyTime),
        (restarted, 0, Level::Restarts),
        (json!({"metadata": {"creationTimestamp": YOUNG}}), 0, Level::Age),
    ];
    for (level, (goes, rank, said)) in levels.iter().enumerate() {
        // The other one would go by every later level. Restarts and age are not looked at where the ready times differ.
        let mut stays = json!({});
        let mut other_rank = 0;
        for (later, later_rank, _) in &levels[level + 1..] {
            merge(&mut stays, later.clone());
            other_rank += later_rank;
        }
        let (a, b) = (keeper("a-goes", goes.clone()), keeper("b-stays", stays));
        // Uids the other way round, so that they do not decide.
        let b = Pod::clone(&b);
        let pods = [(b, other_rank), (a, *rank)];
        assert_eq!(names(&pods), ["a-goes", "b-stays"], "level {level}");
        let [(b, other_rank), (a, rank)] = &pods;
        assert_eq!(deciding_level((a, *rank), (b, *other_rank), now().wall), *said, "level {level}");
    }
}

#[test]
fn pending_goes_before_unknown_and_unknown_before_running() {
    let phase = |name: &str, phase: &str| (keeper(name, json!({"status": {"phase": phase}})), 0);
    let pods = [phase("r", "Running"), phase("u", "Unknown"), phase("p", "Pending")];
    assert_eq!(names(&pods), ["p", "u", "r"]);
}

#[test]
fn ranks_count_active_related_pods_on_the_node() {
    let on = |name: &str, node: &str, phase: &str| {
        pod(name, json!({"spec": {"nodeName": node}, "status": {"phase": phase}}))
    };
    let related =
        [on("a", "n1", "Running"), on("b", "n1", "Pending"), on("c", "n1", "Failed"), on("d", "n2", "Running")];
    let pods = [on("x", "n1", "Running"), on("y", "n2", "Running"), on("z", "n3", "Running")];
    assert_eq!(ranks(&pods, &related), [2, 1, 0]);
}

#[test]
fn powers_of_two_are_those_of_a_float64_logarithm() {
    for (age, power) in [
        (i64::MIN, -1),
        (0, -1),
        (1, 0),
        (2, 1),
        (3, 1),
        (1 << 36, 36),
        ((1 << 36) - 1, 35),
        ((1 << 48) - 1, 47),
        ((1 << 49) - 1, 49),
        ((1 << 50) - 1, 50),
        ((1 << 50) - 3, 49),
        (i64::MAX, 63),
    ] {
        assert_eq!(power_of_two(age), power, "{age}");
    }
    // The same as the logarithm of std, which is at hand in tests, for all ages near powers of two.
    for power in 1..63 {
        for near in -40_000..40 {
            let age = (1_i64 << power) + near;
            if age > 0 && (near > -40 || power > 55) {
                assert_eq!(power_of_two(age), std_power(age), "2^{power}{near:+}");
            }
        }
    }
}

/// `math.Log2` of Go: the logarithm of the fraction, and the exponent.
fn std_power(age: i64) -> i32 {
    extern crate std;
    let age = age as f64;
    let exponent = (age.to_bits() >> 52) as i32 - 1022;
    let fraction = f64::from_bits((age.to_bits() & ((1 << 52) - 1)) | (1022 << 52));
    if fraction == 0.5 {
        return exponent - 1;
    }
    (fraction.ln() * (1.0 / core::f64::consts::LN_2) + f64::from(exponent)).floor() as i32
}

/// Whether upstream's comparison says that `a` goes before `b`, restated level by level.
fn less(a: &(Pod, usize), b: &(Pod, usize)) -> bool {
    let now = now().wall;
    let ((a, a_rank), (b, b_rank)) = (a, b);
    if a.node() != b.node() && (a.node().is_empty() || b.node().is_empty()) {
        return a.node().is_empty();
    }
    if phase_level(a.phase()) != phase_level(b.phase()) {
        return phase_level(a.phase()) < phase_level(b.phase());
    }
    if a.is_ready() != b.is_ready() {
        return !a.is_ready();
    }
    if a.deletion_cost() != b.deletion_cost() {
        return a.deletion_cost() < b.deletion_cost();
    }
    if a_rank != b_rank {
        return a_rank > b_rank;
    }
    let by_time = |x: Option<Timestamp>, y: Option<Timestamp>| match (x, y) {
        (Some(x), Some(y)) => {
            let difference = power_of_two(now.nanos_since(x)) - power_of_two(now.nanos_since(y));
            if difference == 0 { a.uid() < b.uid() } else { difference < 0 }
        }
        (x, _) => x.is_none(),
    };
    if a.is_ready() && b.is_ready() && a.ready_changed() != b.ready_changed() {
        return by_time(a.ready_changed(), b.ready_changed());
    }
    if a.restarts() != b.restarts() {
        return a.restarts() > b.restarts();
    }
    if a.creation() != b.creation() {
        return by_time(a.creation(), b.creation());
    }
    false
}

/// A pod of few possible values, so that ties and circles are common.
fn random_pod(random: &mut Random, number: u64) -> (Pod, usize) {
    let seconds = |random: &mut Random| (now().wall + Duration::from_secs(random.below(4))).to_string();
    let mut more =
        json!({"metadata": {"uid": format!("u{}-{number}", random.below(40)), "creationTimestamp": seconds(random)}});
    if random.below(8) > 0 {
        let since = now().wall.as_seconds() - 20 + i64::try_from(random.below(2)).unwrap();
        merge(&mut more, ready(&Timestamp::from_seconds(since).to_string()));
    }
    if random.below(10) == 0 {
        merge(&mut more, json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}));
    }
    if random.below(20) == 0 {
        merge(&mut more, json!({"spec": {"nodeName": *random.pick(&["", "n2"])}}));
    }
    if random.below(20) == 0 {
        merge(&mut more, json!({"status": {"phase": *random.pick(&["Pending", "Unknown", "Odd"])}}));
    }
    let statuses = json!([{"name": "c", "restartCount": random.below(3)}]);
    merge(&mut more, json!({"status": {"containerStatuses": statuses}}));
    (pod(&format!("p{number}"), more), usize::from(random.below(8) == 0))
}

#[test]
fn the_order_is_total_and_agrees_with_upstream_wherever_no_chain_contradicts() {
    let mut random = Random::new(7);
    let mut circles = 0;
    for _ in 0..600 {
        let count = 2 + random.below(12);
        let mut pods: Vec<(Pod, usize)> = (0..count).map(|number| random_pod(&mut random, number)).collect();
        let order: Vec<alloc::string::String> = names(&pods).into_iter().map(Into::into).collect();
        let place = |name: &str| order.iter().position(|other| other == name).unwrap();

        // Which pods can be reached from which by chains of upstream's comparison.
        let n = pods.len();
        let mut reach = vec![vec![false; n]; n];
        for i in 0..n {
            for j in 0..n {
                reach[i][j] = i != j && less(&pods[i], &pods[j]);
            }
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    reach[i][j] |= reach[i][k] && reach[k][j];
                }
            }
        }
        for i in 0..n {
            for j in 0..n {
                if reach[i][j] && !reach[j][i] {
                    assert!(place(pods[i].0.name()) < place(pods[j].0.name()), "{order:?}");
                }
            }
            circles += usize::from(reach[i][i]);
        }

        // The same pods in any order are put in the same order.
        for i in (1..n).rev() {
            pods.swap(i, random.below(i as u64 + 1) as usize);
        }
        assert_eq!(names(&pods), order);
    }
    assert!(circles > 100, "only {circles} pods in circles: the test shows too little");
}

#[test]
fn five_thousand_pods_in_one_circle_are_ordered_quickly_and_each_once() {
    let mut random = Random::new(3);
    let pods: Vec<(Pod, usize)> = (0..5000)
        .map(|number| {
            let since = now().wall.as_seconds() - 20 + i64::try_from(random.below(8)).unwrap();
            let mut more = ready(&Timestamp::from_seconds(since).to_string());
            merge(&mut more, json!({"metadata": {"uid": format!("u{:016x}", random.next())}}));
            merge(&mut more, json!({"status": {"containerStatuses": [{"restartCount": random.below(5)}]}}));
            (pod(&format!("p{number}"), more), 0)
        })
        .collect();
    let mut order = names(&pods);
    order.sort_unstable();
    order.dedup();
    assert_eq!(order.len(), 5000);
}
