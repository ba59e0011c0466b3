//! One requirement of a label selector.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::error::{Fault, SelectorError};
use crate::object::validation::{is_label_value, is_qualified_name};

/// How the value of a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `!key`: the label is absent.
    DoesNotExist,
    /// `key==value`: the same as `Equals`, written with two signs.
    DoubleEquals,
    /// `key=value`: the label is there and has the value.
    Equals,
    /// `key`: the label is there.
    Exists,
    /// `key>value`: the label is there and is a larger integer.
    GreaterThan,
    /// `key in (…)`: the label is there and has one of the values.
    In,
    /// `key<value`: the label is there and is a smaller integer.
    LessThan,
    /// `key!=value`: the label is absent or has another value.
    NotEquals,
    /// `key notin (…)`: the label is absent or has none of the values.
    NotIn,
}

impl Operator {
    /// The operator as apimachinery's `selection.Operator` spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DoesNotExist => "!",
            Self::DoubleEquals => "==",
            Self::Equals => "=",
            Self::Exists => "exists",
            Self::GreaterThan => "gt",
            Self::In => "in",
            Self::LessThan => "lt",
            Self::NotEquals => "!=",
            Self::NotIn => "notin",
        }
    }
}

/// A key, an operator and the values that go with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: Box<str>,
    operator: Operator,
    /// Sorted. Repetitions are kept, for Go prints them.
    values: Box<[Box<str>]>,
}

impl Requirement {
    /// A requirement, checked.
    ///
    /// Mirrors apimachinery `pkg/labels/selector.go`, `NewRequirement`.
    ///
    /// # Errors
    /// Everything that is wrong with it: the form of the key and of each value, and the number of values.
    pub fn new<V: AsRef<str>>(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, SelectorError> {
        let requirement = Self::unchecked(key, operator, values);
        let faults = requirement.faults();
        if faults.is_empty() { Ok(requirement) } else { Err(SelectorError::new(faults)) }
    }

    pub(super) fn unchecked<V: AsRef<str>>(key: &str, operator: Operator, values: impl IntoIterator<Item = V>) -> Self {
        let mut values: Vec<Box<str>> = values.into_iter().map(|value| value.as_ref().into()).collect();
        values.sort();
        Self { key: key.into(), operator, values: values.into() }
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !is_qualified_name(&self.key) {
            faults.push(Fault::InvalidKey(self.key.clone()));
        }
        match self.operator {
            Operator::In | Operator::NotIn if self.values.is_empty() => faults.push(Fault::ValuesRequired),
            Operator::Exists | Operator::DoesNotExist if !self.values.is_empty() => {
                faults.push(Fault::ValuesForbidden);
            }
            Operator::Equals
            | Operator::DoubleEquals
            | Operator::NotEquals
            | Operator::GreaterThan
            | Operator::LessThan
                if self.values.len() != 1 =>
            {
                faults.push(Fault::OneValueRequired);
            }
            _ => {}
        }
        for value in &self.values {
            if matches!(self.operator, Operator::GreaterThan | Operator::LessThan) && integer(value).is_none() {
                faults.push(Fault::NotAnInteger(value.clone()));
            }
            if !is_label_value(value) {
                faults.push(Fault::InvalidValue(value.clone()));
            }
        }
        faults
    }

    /// The key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The operator.
    pub const fn operator(&self) -> Operator {
        self.operator
    }

    /// The values, sorted, each as often as it was given.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    /// Whether a label meets the requirement; `None` is an absent label.
    ///
    /// Mirrors apimachinery `pkg/labels/selector.go`, `Requirement.Matches`.
    pub fn matches(&self, value: Option<&str>) -> bool {
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(|value| self.has(value)),
            Operator::NotIn | Operator::NotEquals => value.is_none_or(|value| !self.has(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.integers(value).is_some_and(|(value, bound)| value > bound),
            Operator::LessThan => self.integers(value).is_some_and(|(value, bound)| value < bound),
        }
    }

    fn has(&self, value: &str) -> bool {
        self.values.binary_search_by(|v| (**v).cmp(value)).is_ok()
    }

    fn integers(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((integer(value?)?, integer(self.values.first()?)?))
    }

    /// The only value with which the requirement is met.
    pub(super) fn exact_value(&self) -> Option<&str> {
        match (self.operator, &*self.values) {
            (Operator::In | Operator::Equals | Operator::DoubleEquals, [value]) => Some(value),
            _ => None,
        }
    }
}

/// Reads an integer as Go's `ParseInt` does with base 10: a sign and digits, nothing else.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>| {
            for (i, value) in self.values.iter().enumerate() {
                write!(f, "{}{value}", if i > 0 { "," } else { "" })?;
            }
            Ok(())
        };
        match self.operator {
            Operator::Exists => f.write_str(&self.key),
            Operator::DoesNotExist => write!(f, "!{}", self.key),
            Operator::In | Operator::NotIn => {
                write!(f, "{} {} (", self.key, self.operator.as_str())?;
                list(f)?;
                f.write_str(")")
            }
            Operator::GreaterThan | Operator::LessThan => {
                write!(f, "{}{}", self.key, if self.operator == Operator::GreaterThan { '>' } else { '<' })?;
                list(f)
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => {
                write!(f, "{}{}", self.key, self.operator.as_str())?;
                list(f)
            }
        }
    }
}
