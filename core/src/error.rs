//! Errors by blame: the peer sent something malformed, the caller misused the API, a bound was hit.
//!
//! What a Kubernetes server answers in the ordinary course of events (404, 409, 410, 429, a timeout, a cut
//! connection) is not an error here but an input with a meaning; see [`request::Outcome`](crate::request::Outcome).

use alloc::string::{String, ToString};
use core::fmt;

/// The peer sent bytes that are not what the protocol allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What was being read, such as `"watch event"`.
    pub what: &'static str,
    /// What was wrong with it. Never holds payload beyond what the JSON parser quotes (a field name, a position).
    pub detail: String,
}

impl Malformed {
    /// An error about `what`, explained by `detail`.
    pub fn new(what: &'static str, detail: impl fmt::Display) -> Self {
        Self { what, detail: detail.to_string() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed {}: {}", self.what, self.detail)
    }
}

impl core::error::Error for Malformed {}

/// The caller broke the contract of an API of this crate. Nothing was changed by the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// A collection is to be watched no more, but a controller depends on it.
    InUse,
    /// An input came while outputs of the last one were not drained yet.
    NotDrained,
    /// The collection is not watched by this machine, or not any more.
    NotWatched,
    /// An input named a call that is not in flight.
    UnknownCall,
    /// A store has an index of that name already.
    IndexExists,
    /// A store has no index of that name.
    NoSuchIndex,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InUse => "a controller depends on the collection",
            Self::NotDrained => "an input was given before the outputs of the last one were drained",
            Self::NotWatched => "the collection is not watched",
            Self::UnknownCall => "the input names a call that is not in flight",
            Self::IndexExists => "an index of that name exists",
            Self::NoSuchIndex => "there is no index of that name",
        })
    }
}

impl core::error::Error for Misuse {}

/// A bound of [`Limits`](crate::limits::Limits) was hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// The name of the limit.
    pub limit: &'static str,
    /// Its value, in the unit of the limit.
    pub bound: usize,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limit {} of {} exceeded", self.limit, self.bound)
    }
}

impl core::error::Error for Full {}

/// A function that the user gave refused an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which of the user's functions.
    pub by: UserFunction,
    /// Why, in the function's own words.
    pub detail: String,
}

/// The functions that a user may give and that may refuse an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserFunction {
    /// A [`KeyFunction`](crate::key::KeyFunction).
    Key,
    /// A [`Transform`](crate::object::Transform).
    Transform,
    /// An [`IndexFunction`](crate::store::IndexFunction).
    Index,
}

impl Refused {
    /// A refusal by the user's function `by`, explained by `detail`.
    pub fn new(by: UserFunction, detail: impl fmt::Display) -> Self {
        Self { by, detail: detail.to_string() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.by {
            UserFunction::Key => "key function",
            UserFunction::Transform => "transform",
            UserFunction::Index => "index function",
        };
        write!(f, "refused by the {by}: {}", self.detail)
    }
}

impl core::error::Error for Refused {}

/// Why bytes from the peer could not be taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes are larger than a bound allows.
    Full(Full),
    /// The bytes are not what the protocol allows.
    Malformed(Malformed),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(e) => e.fmt(f),
            Self::Malformed(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for DecodeError {}

impl From<Full> for DecodeError {
    fn from(e: Full) -> Self {
        Self::Full(e)
    }
}

impl From<Malformed> for DecodeError {
    fn from(e: Malformed) -> Self {
        Self::Malformed(e)
    }
}
