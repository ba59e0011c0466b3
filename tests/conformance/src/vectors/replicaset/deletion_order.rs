//! Which pods go first.

use std::collections::{BTreeMap, BTreeSet};

use sanskube::object::Object;
use sanskube::replicaset::rank::{deletion_order, ranks};
use sanskube::replicaset::victims::{ChooseVictims, InDeletionOrder, ScaleDown};
use serde_json::{Value, json};

use super::super::Check;
use super::{number, pods, set, time};

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let (input, want) = (&case["input"], &case["want"]);
    let now = time(&input["now"]);
    let (all, related) = (pods(&input["pods"]), pods(&input["relatedPods"]));
    let given = || all.iter().map(|pod| &**pod);
    let ranks = ranks(given(), related.iter().map(|pod| &**pod));
    let named: BTreeMap<&str, usize> = given().map(Object::name).zip(ranks.iter().copied()).collect();
    check.same("ranks", &want["ranks"], &json!(named));

    let order = deletion_order(given().zip(ranks), now);
    let place: BTreeMap<&str, usize> = order.iter().enumerate().map(|(i, &pod)| (all[pod].name(), i)).collect();
    if place.len() != all.len() {
        check.fail("the order does not name each pod once");
        return;
    }
    let mut backwards: Vec<usize> = order.clone();
    let reversed = deletion_order(all.iter().rev().map(|pod| &**pod).zip(ranks_of(&all, &named)), now);
    let last = all.len().saturating_sub(1);
    if distinct(&all) && reversed.iter().map(|&pod| last - pod).ne(backwards.drain(..)) {
        check.fail("the order depends on that of the input");
    }

    // Whoever stands in an earlier group goes first. Where upstream's comparison is no ordering, its pairs stand here.
    let groups: Vec<Vec<&str>> = want["groups"].as_array().into_iter().flatten().map(names).collect();
    if want["lessPairs"].is_null() {
        let (mut grouped, mut every) = (groups.concat(), given().map(Object::name).collect::<Vec<_>>());
        grouped.sort_unstable();
        every.sort_unstable();
        if !want["groups"].is_array() || grouped != every || groups.iter().any(Vec::is_empty) {
            check.fail(format!("the groups {} are not the pods {every:?}", want["groups"]));
            return;
        }
        if !is_choice(&want["delete"], &groups) {
            check.fail(format!("delete: {} is no choice", want["delete"]));
        }
    } else if !want["groups"].is_null() || !want["delete"].is_null() {
        check.fail("groups, or a choice, beside pairs");
        return;
    }
    for (earlier, later) in groups.iter().zip(groups.iter().skip(1)) {
        let (last, first) = (earlier.iter().map(|name| place[name]).max(), later.iter().map(|name| place[name]).min());
        if last >= first {
            check.fail(format!("{earlier:?} has to go before {later:?}, got {place:?}"));
        }
    }
    if let Some(pairs) = want["lessPairs"].as_array() {
        check.apply_rule("total-order");
        check_unambiguous(pairs, &place, check);
    }

    // The choice. With as many to go as there are, there is none.
    let diff = number(&input["diff"]);
    let set = set(&json!({}));
    let choice = if diff < all.len() {
        let scale_down = ScaleDown { set: &set, pods: &all, related: &related, count: diff, now };
        InDeletionOrder::default().choose(&scale_down)
    } else {
        (0..all.len()).collect()
    };
    let chosen: BTreeSet<&str> = choice.iter().map(|&pod| all[pod].name()).collect();
    let delete = &want["delete"];
    if !delete.is_null() {
        let must = names(&delete["must"]);
        let of = names(&delete["anyOf"]["of"]);
        let some = chosen.iter().filter(|name| of.contains(name)).count();
        let fits = must.iter().all(|name| chosen.contains(name)) && some == number(&delete["anyOf"]["count"]);
        if !fits || chosen.len() != must.len() + some {
            check.fail(format!("delete: wanted {delete}, got {chosen:?}"));
        }
    }
}

/// Whether this is what upstream may choose: the certain ones, and of a group that is tied some but not all.
fn is_choice(delete: &Value, groups: &[Vec<&str>]) -> bool {
    fn sorted(mut names: Vec<&str>) -> Vec<&str> {
        names.sort_unstable();
        names
    }
    let (must, any_of) = (sorted(names(&delete["must"])), &delete["anyOf"]);
    let tied = sorted(names(&any_of["of"]));
    let cut = |at: usize| must == sorted(groups[..at].concat());
    if any_of.is_null() {
        return delete["must"].is_array() && (0..=groups.len()).any(cut);
    }
    let at = groups.iter().position(|group| sorted(group.clone()) == tied);
    at.is_some_and(cut) && (1..tied.len()).contains(&number(&any_of["count"]))
}

/// Ranks in the reverse order of the pods.
fn ranks_of(all: &[std::sync::Arc<sanskube::object::Pod>], named: &BTreeMap<&str, usize>) -> Vec<usize> {
    all.iter().rev().map(|pod| named[pod.name()]).collect()
}

fn distinct(all: &[std::sync::Arc<sanskube::object::Pod>]) -> bool {
    all.iter().map(|pod| pod.key()).collect::<BTreeSet<_>>().len() == all.len()
}

/// Wherever upstream's comparison says that `a` goes before `b`, and no chain of comparisons leads back from `b` to `a`, so it has to be.
fn check_unambiguous(pairs: &[Value], place: &BTreeMap<&str, usize>, check: &mut Check) {
    let less: Vec<(&str, &str)> =
        pairs.iter().filter_map(|pair| Some((pair[0].as_str()?, pair[1].as_str()?))).collect();
    let mut after: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &start in place.keys() {
        let mut reached = BTreeSet::new();
        let mut to_visit = vec![start];
        while let Some(pod) = to_visit.pop() {
            for &(_, next) in less.iter().filter(|pair| pair.0 == pod) {
                if reached.insert(next) {
                    to_visit.push(next);
                }
            }
        }
        after.insert(start, reached);
    }
    for (a, b) in less {
        if !after[b].contains(a) && place[a] > place[b] {
            check.fail(format!("{a} has to go before {b}, got {place:?}"));
        }
    }
}

fn names(json: &Value) -> Vec<&str> {
    json.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
