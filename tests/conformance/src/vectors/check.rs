//! What came of one case.

use std::collections::BTreeMap;

use serde_json::Value;

/// Where the rules and their reasons stand.
const DIFFERENCES: &str = include_str!("../../../../core/src/differences.md");

/// Collects where a case differs from what was wanted, and which named rules were applied.
#[derive(Debug, Default)]
pub struct Check {
    pub(crate) failures: Vec<String>,
    pub(crate) rules: BTreeMap<&'static str, usize>,
    /// How many operations were not compared, or not in all, by the reason why.
    pub(crate) skipped_ops: BTreeMap<&'static str, usize>,
}

impl Check {
    /// Says that the case failed.
    pub fn fail(&mut self, what: impl Into<String>) {
        self.failures.push(what.into());
    }

    /// Compares a field of an operation's result; `place` says which, such as `"op 3 pop: deltas"`.
    pub fn same(&mut self, place: &str, want: &Value, got: &Value) {
        if !same(want, got) {
            self.fail(format!("{place}: wanted {want}, got {got}"));
        }
    }

    /// Says that a rule by which this project knowingly differs decided an operation. One whose reason does not stand in the documentation of the
    /// core fails the case.
    pub fn apply_rule(&mut self, rule: &'static str) {
        if !DIFFERENCES.contains(&format!("(`{rule}`)")) {
            self.fail(format!("the list of differences has no {rule}"));
        }
        *self.rules.entry(rule).or_default() += 1;
    }

    /// Says that so many operations are not compared, or not in all, and why.
    pub fn skip_ops(&mut self, ops: usize, why: &'static str) {
        *self.skipped_ops.entry(why).or_default() += ops;
    }

    pub(crate) fn add_rules(&mut self, other: &Self) {
        for (rule, times) in &other.rules {
            *self.rules.entry(rule).or_default() += times;
        }
        for (why, ops) in &other.skipped_ops {
            self.skip_ops(*ops, why);
        }
    }
}

/// Whether two values are the same where absent, `null`, an empty list and an empty map are one.
pub fn same(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(key, value)| same(value, b.get(key).unwrap_or(&Value::Null)))
                && b.iter().all(|(key, value)| a.contains_key(key) || is_nothing(value))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => want == got || (is_nothing(want) && is_nothing(got)),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        _ => false,
    }
}
