//! The comparison of a play with its recording.
//!
//! What is compared: the successful creates, deletes and patches between two waits for quiet, as sets, each body whole; the last status of
//! each set before each wait for quiet, again the whole body; refused writes by their number; the events; and what is left at the end.
//! Where the recording says that something was a race, its effect is compared alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::bag::{bag, differences, same_bags};
use super::burst::burst;
use super::normal::{self, Identities};
use super::player::Played;
use super::pods::Histories;
use super::scenario::{Scenario, Stable};
use super::write::Write;
use crate::vectors::Check;

/// Compares what was played with what was recorded.
pub(super) fn compare(scenario: &Scenario, played: &Played, check: &mut Check) {
    for failure in &played.failures {
        check.fail(failure.clone());
    }
    let recorded = normal::recorded(scenario);
    let there = View {
        writes: scenario.writes(),
        events: scenario.events(),
        quiet: scenario.quiet(),
        identities: &recorded,
        histories: &played.pods.recorded,
        has_few_connections: false,
    };
    let (events, writes) = played.writes.iter().cloned().partition(Write::is_event);
    let here = View {
        writes: without_preconditions(writes, &played.identities, check),
        events,
        quiet: played.quiet.clone(),
        identities: &played.identities,
        histories: &played.pods.played,
        has_few_connections: played.has_few_connections,
    };
    if let Some(bursts) = &scenario.bursts {
        burst("POST", &bursts.create, &here, scenario, check);
        burst("DELETE", &bursts.delete, &here, scenario, check);
    }
    match scenario.stability.writes {
        Stable::Varies => statuses("at the end", &there, &here, |_| true, check),
        Stable::Same | Stable::SameEffect => {
            for segment in 0..=there.quiet.len() {
                let place = format!("up to wait for quiet {segment}");
                effects(&place, segment, &there, &here, scenario, check);
                refusals(&place, segment, &there, &here, scenario, check);
                statuses(&place, &there, &here, |s| s == segment, check);
            }
        }
    }
    if scenario.stability.events == Stable::Same {
        if let Some(count) = scenario.event_writes_count {
            check.same("events written", &count.into(), &here.events.len().into());
        } else {
            compare_events(&there, &here, check);
        }
    }
    ends(scenario, played, &there, &here, check);
}

/// What one side wrote, and how to read it.
pub(super) struct View<'a> {
    pub(super) writes: Vec<Write>,
    events: Vec<Write>,
    quiet: Vec<Duration>,
    identities: &'a Identities,
    histories: &'a Histories,
    /// Whether each request took a connection of its own, and there were fewer than requests in a batch.
    pub(super) has_few_connections: bool,
}

impl View<'_> {
    pub(super) fn normal(&self, write: &Write) -> Value {
        self.identities.write(write, self.histories)
    }

    /// After how many waits for quiet it was written.
    fn segment(&self, write: &Write) -> usize {
        self.quiet.iter().filter(|over| **over <= write.at).count()
    }

    fn in_segment(&self, segment: usize) -> impl Iterator<Item = &Write> {
        self.writes.iter().filter(move |write| self.segment(write) == segment)
    }
}

/// Rule: our deletions say which pod they mean; those of Kubernetes do not.
fn without_preconditions(mut writes: Vec<Write>, identities: &Identities, check: &mut Check) -> Vec<Write> {
    for write in writes.iter_mut().filter(|write| write.method == "DELETE") {
        let Some(fields) = write.body.as_object_mut() else { continue };
        let Some(preconditions) = fields.remove("preconditions") else { continue };
        let meant = preconditions["uid"].as_str().map(|uid| identities.text(uid));
        let named = super::write::pod_of(&write.path).map(|pod| format!("<uid of {}>", identities.text(pod)));
        if meant.is_some() && meant == named {
            check.apply_rule("delete-preconditions");
        } else {
            check.fail(format!("{}: the preconditions mean another object: {preconditions}", write.path));
        }
    }
    writes
}

/// The creates, deletes and patches that succeeded.
fn effects(place: &str, segment: usize, there: &View<'_>, here: &View<'_>, scenario: &Scenario, check: &mut Check) {
    // Of a create without an answer nobody knows what it did: there may be a pod too many for a time. What counts is the end.
    let unanswered =
        |view: &View<'_>| view.in_segment(segment).filter(|w| w.status == 0 && w.is_create_of_pod()).count();
    let lost = unanswered(there).max(unanswered(here));
    let is_counted = |write: &Write| scenario.bursts.is_some() && write.is_of_pod();
    let of = |view: &View<'_>| {
        let effects = view.in_segment(segment).filter(|write| write.succeeded() && !write.is_status());
        let effects = effects.filter(|write| !is_counted(write) && (lost == 0 || !write.is_of_pod()));
        bag(effects.map(|write| view.normal(write)))
    };
    same_bags(place, &of(there), &of(here), check);
    let deletes = here.in_segment(segment).filter(|write| write.succeeded() && write.method == "DELETE").count();
    if lost > 0 && deletes > lost {
        check.fail(format!("{place}: {deletes} pods were deleted, but only {lost} creates were without an answer"));
    }
}

/// What was refused: as often, but for a try that falls on either side of the end.
fn refusals(place: &str, segment: usize, there: &View<'_>, here: &View<'_>, scenario: &Scenario, check: &mut Check) {
    let of = |view: &View<'_>| {
        let mut counts: BTreeMap<(String, u16), usize> = BTreeMap::new();
        let refused = view.in_segment(segment).filter(|write| write.status >= 400 && !write.is_status());
        for write in refused.filter(|write| rule_of(write).is_none()) {
            *counts.entry((write.sort(), write.status)).or_default() += 1;
        }
        counts
    };
    for rule in here.in_segment(segment).filter_map(rule_of) {
        check.apply_rule(rule);
    }
    let (want, got) = (of(there), of(here));
    let same = scenario.stability.writes == Stable::Same;
    let slack = if same { 1 } else { 2 };
    for what in want.keys().chain(got.keys()).collect::<BTreeSet<_>>() {
        let count = |counts: &BTreeMap<_, usize>| counts.get(what).copied().unwrap_or(0);
        let (want, got) = (count(&want), count(&got));
        let slack = if scenario.bursts.is_some() && what.0 == "POST pods" { usize::MAX } else { slack };
        if want.abs_diff(got) > slack || same && (want == 0) != (got == 0) && slack != usize::MAX {
            check.fail(format!("{place}: {} refused with {}: wanted {want}, got {got}", what.0, what.1));
        }
    }
}

/// The rule that decides about a refused write, if there is one.
///
/// In an ending namespace our slow start ends with the batch that was told so, and nothing stays expected; upstream goes on, and waits.
/// A deletion whose preconditions do not hold leaves the pod alone for now; upstream sends none.
fn rule_of(write: &Write) -> Option<&'static str> {
    let causes = write.response["details"]["causes"].as_array().map_or(&[][..], Vec::as_slice);
    if causes.iter().any(|cause| cause["reason"] == "NamespaceTerminating") {
        Some("namespace-ending")
    } else if write.method == "DELETE" && write.status == 409 {
        Some("stale-pod-is-no-failure")
    } else {
        None
    }
}

/// The last status of each set, the whole body.
fn statuses(place: &str, there: &View<'_>, here: &View<'_>, which: impl Fn(usize) -> bool, check: &mut Check) {
    let of = |view: &View<'_>| {
        let statuses = view.writes.iter().filter(|write| write.is_status() && write.succeeded());
        let statuses = statuses.filter(|write| which(view.segment(write)));
        let mut last: BTreeMap<String, Value> = BTreeMap::new();
        for write in statuses {
            let mut normal = view.normal(write);
            // A second try after a conflict sends what the server said, a first try what the cache has.
            if let Some(meta) = normal["body"]["metadata"].as_object_mut() {
                meta.remove("managedFields");
            }
            last.insert(write.path.clone(), normal);
        }
        last
    };
    let (want, got) = (of(there), of(here));
    for path in want.keys().chain(got.keys()).collect::<BTreeSet<_>>() {
        match (want.get(path), got.get(path)) {
            (Some(want), Some(got)) => differences(&format!("{place}: last status {path}"), want, got, check),
            (Some(want), None) => check.fail(format!("{place}: no status {path}: wanted {}", want["body"]["status"])),
            (None, Some(got)) => check.fail(format!("{place}: a status {path}: {}", got["body"]["status"])),
            (None, None) => {}
        }
    }
}

/// The events, each whole, and the changes of their counts. For each refused try that was made more or less often there may be one more or
/// less.
fn compare_events(there: &View<'_>, here: &View<'_>, check: &mut Check) {
    let of =
        |view: &View<'_>| bag(view.events.iter().filter(|event| event.succeeded()).map(|event| view.normal(event)));
    let refused = |view: &View<'_>| view.writes.iter().filter(|w| w.is_create_of_pod() && w.status >= 400).count();
    let (mut want, mut got) = (of(there), of(here));
    for (more, less, bag) in [(there, here, &mut want), (here, there, &mut got)] {
        let other = of(less);
        let mut spare = refused(more).saturating_sub(refused(less));
        bag.retain(|key, (value, count)| {
            let extra = count.saturating_sub(other.get(key).map_or(0, |(_, count)| *count));
            let failure = value["body"]["message"].as_str().is_some_and(|text| text.contains("Error creating: "));
            let forgiven = if failure { extra.min(spare) } else { 0 };
            spare -= forgiven;
            *count -= forgiven;
            *count > 0
        });
    }
    same_bags("events", &want, &got, check);
}

/// What is left at the end.
fn ends(scenario: &Scenario, played: &Played, there: &View<'_>, here: &View<'_>, check: &mut Check) {
    let items = |end: Option<&Value>| end.and_then(Value::as_array).cloned().unwrap_or_default();
    let wanted = |name: &str| items(scenario.end.get(name));
    let left = |name: &str| items(played.end.get(name));
    for sets in ["replicasets", "replicationcontrollers"] {
        let of = |items: Vec<Value>, view: &View<'_>| bag(items.iter().map(|set| view.identities.set(set)));
        same_bags(&format!("{sets} at the end"), &of(wanted(sets), there), &of(left(sets), here), check);
    }
    if let Some(count) = scenario.end.get("pods_count") {
        check.same("pods at the end", count, &left("pods").len().into());
    } else {
        let of =
            |items: Vec<Value>, view: &View<'_>| bag(items.iter().map(|pod| view.identities.pod(pod, view.histories)));
        same_bags("pods at the end", &of(wanted("pods"), there), &of(left("pods"), here), check);
    }
    if let Some(count) = scenario.end.get("events_total_count") {
        let total: u64 = left("events").iter().filter_map(|event| event["count"].as_u64()).sum();
        check.same("events at the end", &scenario.end["events_count"], &left("events").len().into());
        check.same("what they count", count, &total.into());
    }
}
