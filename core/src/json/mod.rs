//! JSON as the hot path reads it: pulled from bytes that are all there, borrowed, and skipped where it is not wanted.
//!
//! The objects of a busy cluster are large and controllers look at little of them. [`Reader`] reads what is asked for as serde_json would;
//! what is skipped is only followed through strings and brackets. Users' own types are read by serde.

mod lanes;
mod number;
mod reader;
mod skim;
mod text;

use core::fmt;

pub(crate) use reader::Reader;
pub(crate) use skim::{MAX_DEPTH, Skim};

/// Whether a byte is white space of JSON (RFC 8259, section 2): a form feed, for one, is not.
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Bytes without the white space in front and behind.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_space(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_space(*last)
    {
        bytes = rest;
    }
    bytes
}

/// What was looked for is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unexpected {
    /// What was looked for.
    wanted: &'static str,
    /// The offset at which it was.
    at: usize,
}

impl Unexpected {
    pub(crate) const fn new(wanted: &'static str, at: usize) -> Self {
        Self { wanted, at }
    }
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} at byte {}", self.wanted, self.at)
    }
}

#[cfg(test)]
mod tests;
