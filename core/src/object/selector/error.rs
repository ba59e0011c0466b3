//! What is wrong with a label selector.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::error::Malformed;

/// One thing that is wrong with a label selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The key is not a label key.
    InvalidKey(Box<str>),
    /// A `LabelSelector` has an operator other than `In`, `NotIn`, `Exists` and `DoesNotExist`.
    InvalidOperator(Box<str>),
    /// The value is not a label value.
    InvalidValue(Box<str>),
    /// The value that `>` or `<` compares with is not an integer of 64 bits.
    NotAnInteger(Box<str>),
    /// `=`, `==`, `!=`, `>` and `<` take exactly one value.
    OneValueRequired,
    /// The text is not a selector.
    Syntax(String),
    /// `Exists` and `DoesNotExist` take no values.
    ValuesForbidden,
    /// `in` and `notin` need values.
    ValuesRequired,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidKey(key) => write!(f, "{key:?} is not a valid label key"),
            Self::InvalidOperator(operator) => write!(f, "{operator:?} is not a valid label selector operator"),
            Self::InvalidValue(value) => write!(f, "{value:?} is not a valid label value"),
            Self::NotAnInteger(value) => write!(f, "{value:?} is not an integer"),
            Self::OneValueRequired => f.write_str("exactly one value is required"),
            Self::Syntax(detail) => f.write_str(detail),
            Self::ValuesForbidden => f.write_str("there must be no values"),
            Self::ValuesRequired => f.write_str("there must be values"),
        }
    }
}

/// Why something is not a label selector: at least one fault, all in the same requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError(Vec<Fault>);

impl SelectorError {
    pub(super) const fn new(faults: Vec<Fault>) -> Self {
        Self(faults)
    }

    /// Everything that is wrong, in the order key, number of values, values.
    pub fn faults(&self) -> &[Fault] {
        &self.0
    }
}

impl From<Fault> for SelectorError {
    fn from(fault: Fault) -> Self {
        Self(Vec::from([fault]))
    }
}

impl From<SelectorError> for Malformed {
    fn from(e: SelectorError) -> Self {
        Self::new("label selector", e)
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if i > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

impl core::error::Error for SelectorError {}
