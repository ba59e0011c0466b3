//! The bag: values without an order, and how two of them differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::vectors::Check;

/// How many values are printed that one of two bags does not have.
const PRINTED: usize = 4;

/// Values and how often each is there.
pub(super) type Bag = BTreeMap<String, (Value, usize)>;

pub(super) fn bag(values: impl Iterator<Item = Value>) -> Bag {
    let mut bag = Bag::new();
    for value in values {
        bag.entry(value.to_string()).or_insert((value, 0)).1 += 1;
    }
    bag
}

/// Says what is in one bag and not in the other. Where both have something left over, the first of each are compared in detail.
pub(super) fn same_bags(place: &str, want: &Bag, got: &Bag, check: &mut Check) {
    let more = |bag: &Bag, than: &Bag| -> Vec<(Value, usize)> {
        let rest = |(key, (value, count)): (&String, &(Value, usize))| {
            let rest = count.saturating_sub(than.get(key).map_or(0, |(_, count)| *count));
            (rest > 0).then(|| (value.clone(), rest))
        };
        bag.iter().filter_map(rest).collect()
    };
    let (missing, extra) = (more(want, got), more(got, want));
    if let ([(want, _), ..], [(got, _), ..]) = (&missing[..], &extra[..]) {
        let total = |rest: &[(Value, usize)]| rest.iter().map(|(_, count)| count).sum::<usize>();
        check.fail(format!("{place}: {} are missing and {} too many, such as:", total(&missing), total(&extra)));
        differences("  of the first of them", want, got, check);
    } else {
        for (what, rest) in [("missing", &missing), ("too many", &extra)] {
            for (value, count) in rest.iter().take(PRINTED) {
                check.fail(format!("{place}: {what}, {count} times: {value}"));
            }
        }
    }
}

/// Says where two values differ, field by field.
pub(super) fn differences(place: &str, want: &Value, got: &Value, check: &mut Check) {
    match (want, got) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                let (want, got) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                differences(&format!("{place} .{key}"), want, got, check);
            }
            let null = |only: &serde_json::Map<String, Value>, other: &serde_json::Map<String, Value>| {
                only.iter()
                    .find(|(key, value)| value.is_null() && !other.contains_key(*key))
                    .map(|(key, _)| key.clone())
            };
            if let Some(key) = null(a, b).or_else(|| null(b, a)) {
                check.fail(format!("{place} .{key}: null on one side, absent on the other"));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (want, got)) in a.iter().zip(b).enumerate() {
                differences(&format!("{place} [{index}]"), want, got, check);
            }
        }
        _ if want == got => {}
        _ => check.fail(format!("{place}: wanted {want}, got {got}")),
    }
}
