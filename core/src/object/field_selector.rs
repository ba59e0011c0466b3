//! Field selectors: which objects are meant, said by a few of their fields.
//!
//! Which fields there are is up to the server and the resource: `metadata.name` and `metadata.namespace` everywhere,
//! `spec.nodeName` and `status.phase` for pods.
//!
//! Mirrors apimachinery `pkg/fields/selector.go`.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::str::FromStr;

use crate::error::Malformed;

/// A field selector: terms that must all hold. The default has none and selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector(Box<[FieldRequirement]>);

/// A term of a field selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// The path of the field, such as `spec.nodeName`.
    pub field: Box<str>,
    /// How the field is compared.
    pub operator: FieldOperator,
    /// The value that it is compared with, without escapes.
    pub value: Box<str>,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldOperator {
    /// `field=value` or `field==value`.
    Equals,
    /// `field!=value`.
    NotEquals,
}

impl FieldOperator {
    /// `=` or `!=`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::NotEquals => "!=",
        }
    }
}

impl FieldSelector {
    /// The field must have the value.
    ///
    /// Mirrors `OneTermEqualSelector`.
    pub fn equals(field: &str, value: &str) -> Self {
        Self([FieldRequirement { field: field.into(), operator: FieldOperator::Equals, value: value.into() }].into())
    }

    /// Reads the text form, as in the query parameter `fieldSelector`. Nothing is trimmed; empty terms are skipped.
    ///
    /// Mirrors `ParseSelector`. The terms are sorted as text, operator included.
    ///
    /// # Errors
    /// A term has no operator, or its value a wrong escape or a special character without one.
    pub fn parse(text: &str) -> Result<Self, FieldSelectorError> {
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let requirements: Result<Vec<_>, _> =
            terms.into_iter().filter(|term| !term.is_empty()).map(|term| FieldRequirement::parse(term, text)).collect();
        Ok(Self(requirements?.into()))
    }

    /// Whether all terms hold; `value` gives the value of a field, empty where it is absent.
    pub fn matches<'a>(&self, value: impl Fn(&str) -> &'a str) -> bool {
        self.0.iter().all(|term| (*value(&term.field) == *term.value) == (term.operator == FieldOperator::Equals))
    }

    /// The terms.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.0
    }

    /// Whether there are no terms, so that everything is selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The only value that the field may have, as far as a term says so.
    ///
    /// Mirrors `RequiresExactMatch`.
    pub fn requires_exact_match(&self, field: &str) -> Option<&str> {
        let term = self.0.iter().find(|term| *term.field == *field && term.operator == FieldOperator::Equals)?;
        Some(&term.value)
    }
}

impl FieldRequirement {
    fn parse(term: &str, selector: &str) -> Result<Self, FieldSelectorError> {
        // The first place where any operator stands decides; `==` before `=`.
        for (at, _) in term.char_indices() {
            for (sign, operator) in
                [("!=", FieldOperator::NotEquals), ("==", FieldOperator::Equals), ("=", FieldOperator::Equals)]
            {
                if let Some(value) = term[at..].strip_prefix(sign) {
                    return Ok(Self { field: term[..at].into(), operator, value: unescape(value)?.into() });
                }
            }
        }
        Err(FieldSelectorError::Syntax { selector: selector.into(), term: term.into() })
    }
}

/// The terms between commas that no backslash stands before.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|c| {
        let is_end = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })
    .collect()
}

fn unescape(text: &str) -> Result<String, FieldSelectorError> {
    let mut value = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(special @ ('\\' | ',' | '=')) => value.push(special),
                other => return Err(FieldSelectorError::InvalidEscape(other)),
            },
            ',' | '=' => return Err(FieldSelectorError::UnescapedCharacter(c)),
            _ => value.push(c),
        }
    }
    Ok(value)
}

impl FromStr for FieldSelector {
    type Err = FieldSelectorError;

    fn from_str(text: &str) -> Result<Self, FieldSelectorError> {
        Self::parse(text)
    }
}

impl fmt::Display for FieldSelector {
    /// The text form as Go prints it: `==` as `=`, special characters of the values escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.0.iter().enumerate() {
            write!(f, "{}{}{}", if i > 0 { "," } else { "" }, term.field, term.operator.as_str())?;
            for c in term.value.chars() {
                if matches!(c, '\\' | ',' | '=') {
                    f.write_char('\\')?;
                }
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// Why a text is not a field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldSelectorError {
    /// A backslash stands before this character, or at the end, where it means nothing.
    InvalidEscape(Option<char>),
    /// A term has no operator.
    Syntax {
        /// The whole text.
        selector: Box<str>,
        /// The term.
        term: Box<str>,
    },
    /// A value has this special character without a backslash before it.
    UnescapedCharacter(char),
}

impl fmt::Display for FieldSelectorError {
    /// Worded as Go words it, since servers answer with it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidEscape(Some(c)) => {
                write!(f, "invalid field selector: invalid escape sequence: \\{c}")
            }
            Self::InvalidEscape(None) => f.write_str("invalid field selector: invalid escape sequence: \\"),
            Self::Syntax { selector, term } => write!(f, "invalid selector: '{selector}'; can't understand '{term}'"),
            Self::UnescapedCharacter(c) => {
                write!(f, "invalid field selector: unescaped character in value: {c}")
            }
        }
    }
}

impl core::error::Error for FieldSelectorError {}

impl From<FieldSelectorError> for Malformed {
    fn from(e: FieldSelectorError) -> Self {
        Self::new("field selector", e)
    }
}

#[cfg(test)]
mod tests;
