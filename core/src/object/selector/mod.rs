//! Label selectors: which objects are meant, said by their labels.
//!
//! A [`Selector`] is made from the text of a query (`app=web,tier in (a,b)`), from a [`LabelSelector`] as it stands in
//! a spec, or from a set of labels, and then asked about the labels of objects.
//!
//! Mirrors apimachinery `pkg/labels/selector.go`.

mod error;
mod label_selector;
mod parser;
mod requirement;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

pub use error::{Fault, SelectorError};
pub use label_selector::{LabelSelector, LabelSelectorRequirement};
pub use requirement::{Operator, Requirement};

use super::labels::Labels;

/// A label selector: requirements that labels must all meet.
///
/// Cloning is cheap (the requirements are shared). The default selects everything, as an empty `LabelSelector` does;
/// [`nothing`](Self::nothing) is what an absent one means.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Selector(
    /// Sorted by key; `None` selects nothing.
    Option<Arc<[Requirement]>>,
);

impl Selector {
    /// The selector that matches every object.
    pub fn everything() -> Self {
        Self(Some(Arc::default()))
    }

    /// The selector that matches no object: what an absent `LabelSelector` means.
    pub const fn nothing() -> Self {
        Self(None)
    }

    /// All of these requirements. Those on one key stay in the given order.
    pub fn new(requirements: impl IntoIterator<Item = Requirement>) -> Self {
        let mut requirements: Vec<Requirement> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        Self(Some(requirements.into()))
    }

    /// Reads the text form, as in the query parameter `labelSelector`. Empty text selects everything.
    ///
    /// Mirrors apimachinery `pkg/labels/selector.go`, `Parse`.
    ///
    /// # Errors
    /// Where the syntax is broken, what stands there; else everything that is wrong with the first wrong requirement.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parser::parse(text).map(Self::new)
    }

    /// Exactly these labels (and any others beside them), without a check of their form. No labels select everything.
    ///
    /// Mirrors `SelectorFromSet`; [`validated_from_labels`](Self::validated_from_labels) also checks.
    pub fn from_labels(labels: &Labels) -> Self {
        Self::new(labels.iter().map(|(key, value)| Requirement::unchecked(key, Operator::Equals, [value])))
    }

    /// Exactly these labels (and any others beside them). No labels select everything.
    ///
    /// Mirrors `ValidatedSelectorFromSet`.
    ///
    /// # Errors
    /// What is wrong with the first label, by key, that no object can have.
    pub fn validated_from_labels(labels: &Labels) -> Result<Self, SelectorError> {
        let requirements: Result<Vec<_>, _> =
            labels.iter().map(|(key, value)| Requirement::new(key, Operator::Equals, [value])).collect();
        Ok(Self::new(requirements?))
    }

    /// Whether labels meet all requirements. Does not allocate; takes a binary search a requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.matches_by(|key| labels.get(key))
    }

    /// As [`matches`](Self::matches), for labels kept in any form: `value` gives the value of a label.
    pub fn matches_by<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.as_ref().is_some_and(|requirements| requirements.iter().all(|r| r.matches(value(r.key()))))
    }

    /// The requirements, by rising key; none where everything or nothing is selected.
    pub fn requirements(&self) -> &[Requirement] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether every object is selected because nothing is required.
    pub fn matches_everything(&self) -> bool {
        self.0.as_ref().is_some_and(|requirements| requirements.is_empty())
    }

    /// Whether this is the selector of nothing. Requirements that contradict each other are not noticed.
    pub fn matches_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// The only value that the label `key` may have, as far as the first requirement on that key says so.
    ///
    /// Mirrors `RequiresExactMatch`.
    pub fn requires_exact_match(&self, key: &str) -> Option<&str> {
        self.requirements().iter().find(|r| r.key() == key)?.exact_value()
    }
}

impl Default for Selector {
    fn default() -> Self {
        Self::everything()
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl From<&Labels> for Selector {
    fn from(labels: &Labels) -> Self {
        Self::from_labels(labels)
    }
}

impl fmt::Display for Selector {
    /// The text form as Go prints it: sorted by key, values of a set sorted. What was read prints so that it reads
    /// back as the same selector; for the selector of nothing, too, nothing is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements().iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("Selector(nothing)"),
            Some(_) => write!(f, "Selector({:?})", alloc::format!("{self}")),
        }
    }
}

#[cfg(test)]
mod tests;
