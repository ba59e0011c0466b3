//! Makes a plan that fails as small as it gets.

use std::time::Duration;

use super::plan::{Plan, Setup};
use super::run::run;

/// How many runs are spent at most.
const RUNS: u32 = 2000;
/// How many steps these may take together: less than a minute's worth, also of runs that do not end by themselves.
const STEPS: u64 = 5_000_000;

/// The smallest plan found, within bounds, that breaks the same rule: fewer deeds, a plainer world, deeds that come sooner.
pub fn shrink(plan: &Plan, rule: &str) -> Plan {
    let (mut runs, mut steps) = (0, 0);
    let mut fails = |plan: &Plan| {
        if runs >= RUNS || steps >= STEPS {
            return false;
        }
        let outcome = run(plan, false);
        runs += 1;
        steps += outcome.steps;
        outcome.violation.is_some_and(|violation| violation.rule == rule)
    };
    let mut best = plan.clone();
    loop {
        let before = best.clone();
        let mut chunk = best.actions.len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            while at < best.actions.len() {
                let mut less = best.clone();
                less.actions.drain(at..(at + chunk).min(less.actions.len()));
                if fails(&less) {
                    best = less;
                } else {
                    at += chunk;
                }
            }
            if chunk == 1 {
                break;
            }
            chunk /= 2;
        }
        for plainer in PLAINER {
            let less = Plan { setup: plainer(best.setup), ..best.clone() };
            if less != best && fails(&less) {
                best = less;
            }
        }
        for place in 0..best.actions.len() {
            let earliest = place.checked_sub(1).map_or(Duration::ZERO, |before| best.actions[before].0);
            for at in [earliest, earliest + (best.actions[place].0 - earliest) / 2] {
                let mut less = best.clone();
                less.actions[place].0 = at;
                if less != best && fails(&less) {
                    best = less;
                    break;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

/// Each makes a world plainer in one thing.
const PLAINER: [fn(Setup) -> Setup; 8] = [
    |setup| Setup { observer: false, ..setup },
    |setup| Setup { tight: false, ..setup },
    |setup| Setup { overlap: false, ..setup },
    |setup| Setup { managers: setup.managers.min(1), election: false, ..setup },
    |setup| Setup { managers: setup.managers.min(2), ..setup },
    |setup| Setup { watch_list: false, ..setup },
    |setup| Setup { history: 1000, ..setup },
    |setup| Setup { slowly: false, ..setup },
];
