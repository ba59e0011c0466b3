//! Bursts: a great many creates or deletes, of which only figures were recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::bag::differences;
use super::compare::View;
use super::normal;
use super::pods::Histories;
use super::scenario::{Burst, Scenario};
use super::write::Write;
use crate::vectors::Check;

/// A great many creates or deletes: how many came to what, and the steps of the slow start.
pub(super) fn burst(method: &str, want: &Burst, here: &View<'_>, scenario: &Scenario, check: &mut Check) {
    let writes = || here.writes.iter().filter(|w| w.method == method && w.path.contains("/pods"));
    if let Some(example) = scenario.example_create.as_ref().filter(|_| method == "POST") {
        let recorded = normal::recorded(scenario);
        let want = recorded.write(&example.write(), &Histories::default());
        if let Some(got) = writes().map(|write| here.normal(write)).find(|got| *got != want) {
            differences("a create", &want, &got, check);
        }
    }
    let mut wanted_codes = want.codes.clone();
    let mut compared = usize::MAX;
    if scenario.client_limits().is_some() {
        pace(method, &want.per_second, writes(), check);
    } else {
        let mut wanted: Vec<usize> = want.groups_by_overlap.iter().map(|group| group.count).collect();
        without_retries(&mut wanted, &mut wanted_codes);
        compared = wanted.iter().sum();
        let groups = groups_by_overlap(writes().take(compared));
        if here.has_few_connections && refines(&groups, &wanted) {
            if groups != wanted {
                check.apply_rule(FEW_CONNECTIONS);
            }
        } else if groups != wanted {
            check.fail(format!("{method} pods at once: wanted {wanted:?}, got {groups:?}"));
        }
        if let Some(write) = writes().skip(compared).find(|write| !(400..500).contains(&write.status)) {
            check.fail(format!("{method} pods: one more after all batches, with status {}", write.status));
        }
    }
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    for write in writes().take(compared) {
        *codes.entry(write.status.to_string()).or_default() += 1;
    }
    if codes != wanted_codes {
        check.fail(format!("{method} pods by status: wanted {wanted_codes:?}, got {codes:?}"));
    }
}

/// Rule: where each request needs a connection of its own, and there are few, a batch of a slow start is not sent at once. It still begins only
/// when all of the batch before has been answered.
const FEW_CONNECTIONS: &str = "few-connections";

/// Whether a new group begins wherever one of `coarse` does, and perhaps in between.
fn refines(fine: &[usize], coarse: &[usize]) -> bool {
    let ends = |groups: &[usize]| -> BTreeSet<usize> {
        let mut sum = 0;
        groups
            .iter()
            .map(|group| {
                sum += group;
                sum
            })
            .collect()
    };
    ends(coarse).is_subset(&ends(fine))
}

/// How many requests may be sent a little sooner or later: those of a quarter of a second.
const AT_THE_EDGE: usize = 5;

/// Where the client's limits set the pace: as many requests up to the end of each second as were recorded.
fn pace<'a>(
    method: &str,
    wanted: &BTreeMap<String, usize>,
    writes: impl Iterator<Item = &'a Write>,
    check: &mut Check,
) {
    let seconds = wanted.keys().filter_map(|second| second.parse().ok()).max().map_or(0, |last: usize| last + 1);
    let wanted: Vec<usize> = (0..seconds).map(|second| *wanted.get(&second.to_string()).unwrap_or(&0)).collect();
    let mut got = vec![0; seconds];
    for write in writes {
        let second = usize::try_from(write.at.as_secs()).unwrap_or(usize::MAX);
        match got.get_mut(second) {
            Some(count) => *count += 1,
            None => {
                return check.fail(format!("{method} pods: one was sent in second {second}, the recording is shorter"));
            }
        }
    }
    let mut sums = (0, 0);
    let apart = wanted.iter().zip(&got).position(|(wanted, got)| {
        sums = (sums.0 + wanted, sums.1 + got);
        sums.0.abs_diff(sums.1) > AT_THE_EDGE
    });
    if let Some(second) = apart {
        check.fail(format!("{method} pods a second apart from second {second}: wanted {wanted:?}, got {got:?}"));
    }
}

/// Takes the single tries at the end away, if they were refused: how many there are depends on how many syncs found the cache behind, and on
/// how long it is looked.
fn without_retries(groups: &mut Vec<usize>, codes: &mut BTreeMap<String, usize>) {
    let Some(refused) = codes.iter_mut().find(|(code, _)| code.starts_with('4')).map(|(_, count)| count) else {
        return;
    };
    while *refused > 0 && groups.pop_if(|group| *group == 1).is_some() {
        *refused -= 1;
    }
}

/// How many requests were under way together: a group begins when all earlier requests have been answered.
fn groups_by_overlap<'a>(writes: impl Iterator<Item = &'a Write>) -> Vec<usize> {
    let mut groups: Vec<usize> = Vec::new();
    let mut open_until = Duration::ZERO;
    for write in writes {
        match groups.last_mut().filter(|_| write.at < open_until) {
            Some(group) => *group += 1,
            None => groups.push(1),
        }
        open_until = open_until.max(write.ended.unwrap_or(Duration::MAX));
    }
    groups
}
