//! Bursts: a great many creates or deletes, of which only figures were recorded.

use std::collections::BTreeMap;
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
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    for write in writes() {
        *codes.entry(write.status.to_string()).or_default() += 1;
    }
    let mut wanted_codes = want.codes.clone();
    if scenario.is_unlimited() {
        let mut groups = groups_by_overlap(writes());
        let mut wanted: Vec<usize> = want.groups_by_overlap.iter().map(|group| group.count).collect();
        for (groups, codes) in [(&mut groups, &mut codes), (&mut wanted, &mut wanted_codes)] {
            without_retries(groups, codes);
        }
        if groups != wanted {
            check.fail(format!("{method} pods at once: wanted {wanted:?}, got {groups:?}"));
        }
    }
    if codes != wanted_codes {
        check.fail(format!("{method} pods by status: wanted {wanted_codes:?}, got {codes:?}"));
    }
}

/// Takes the single tries at the end away, if they were refused: how many there are depends on how many syncs found the cache behind.
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
