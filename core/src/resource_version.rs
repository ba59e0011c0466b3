//! The resource version: how far a server's history, or a cache of it, has come.

use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt::{self, Write};

use crate::error::Malformed;

/// A `metadata.resourceVersion`, of an object or of a list.
///
/// Servers write decimal numbers that grow with each write; such a version takes no allocation. Any other text is kept as it is and
/// can only be compared for equality. The empty version means "none known".
///
/// Mirrors API concepts, "Resource versions", and KEP-5504 (comparable resource versions).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// A number written without leading zeros.
    Number(u64),
    Text(Arc<str>),
    /// The empty text.
    None,
}

impl ResourceVersion {
    /// No version known.
    pub const NONE: Self = Self(Repr::None);
    /// The version 0: in a request, "any version will do".
    pub const ZERO: Self = Self(Repr::Number(0));

    /// The version with this text.
    pub fn new(text: &str) -> Self {
        if text.is_empty() {
            return Self::NONE;
        }
        // A sign or a leading zero would not print back as it came, so such a text is kept.
        let canonical = text == "0" || matches!(text.as_bytes()[0], b'1'..=b'9');
        Self(match text.parse() {
            Ok(number) if canonical => Repr::Number(number),
            _ => Repr::Text(text.into()),
        })
    }

    /// Whether no version is known.
    pub fn is_none(&self) -> bool {
        self.0 == Repr::None
    }

    /// Whether the version is the number zero.
    pub fn is_zero(&self) -> bool {
        self.0 == Repr::Number(0)
    }

    /// Compares two versions of the same resource. Versions of different resources must not be compared.
    ///
    /// Both must be numbers greater than zero of any size, without sign or leading zeros, as apimachinery's
    /// `CompareResourceVersion` asks.
    ///
    /// # Errors
    /// One of them is not such a number; then only equality has a meaning.
    pub fn compare(&self, other: &Self) -> Result<Ordering, Malformed> {
        match (&self.0, &other.0) {
            (Repr::Number(a @ 1..), Repr::Number(b @ 1..)) => Ok(a.cmp(b)),
            _ => {
                let (mut left, mut right) = (Digits::new(), Digits::new());
                let (a, b) = (self.text(&mut left), other.text(&mut right));
                for text in [a, b] {
                    if !is_positive_number(text) {
                        return Err(Malformed::new("resource version", format_args!("{text:?} is not a number")));
                    }
                }
                Ok(a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
            }
        }
    }

    /// The version as text. A number is written into `digits`.
    fn text<'a>(&'a self, digits: &'a mut Digits) -> &'a str {
        match &self.0 {
            Repr::None => "",
            Repr::Number(number) => {
                digits.clear();
                write!(digits, "{number}").expect("a number of 64 bits has 20 digits at most");
                digits
            }
            Repr::Text(text) => text,
        }
    }
}

/// The digits of a number of 64 bits.
type Digits = heapless::String<20>;

fn is_positive_number(text: &str) -> bool {
    matches!(text.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit))
}

impl Default for ResourceVersion {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => number.fmt(f),
            Repr::Text(text) => f.write_str(text),
            Repr::None => Ok(()),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn versions_print_as_they_came() {
        for text in ["", "0", "7", "007", "+7", "18446744073709551616", "abc", "1.5"] {
            assert_eq!(ResourceVersion::new(text).to_string(), text);
        }
    }

    #[test]
    fn numbers_of_any_size_compare_as_numbers() {
        let order = |a: &str, b: &str| ResourceVersion::new(a).compare(&ResourceVersion::new(b)).ok();
        assert_eq!(order("9", "10"), Some(Ordering::Less));
        assert_eq!(order("18446744073709551616", "18446744073709551615"), Some(Ordering::Greater));
        assert_eq!(order("99999999999999999999", "99999999999999999999"), Some(Ordering::Equal));
        for odd in ["", "0", "007", "+7", "abc"] {
            assert_eq!(order(odd, "7"), None, "{odd}");
            assert_eq!(order("7", odd), None, "{odd}");
        }
    }
}
