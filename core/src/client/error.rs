//! Why an operation has no result.

use alloc::string::String;
use core::fmt;

use crate::error::Malformed;
use crate::request::Failure;
use crate::wire::Status;

/// Why an operation has no result, by who is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The way to the server: no whole answer came. The [`Failure`] tells whether the server may have acted.
    Failed(Failure),
    /// The server: its answer is not what the protocol allows. It has acted.
    Malformed(Malformed),
    /// The server has answered that it did not do it, and says why: with a code below 500 because of what was asked, else because of
    /// its own trouble.
    Status(Status),
    /// The caller: the object has no name or cannot be written as JSON. Nothing was sent.
    Unwritable(String),
}

impl Error {
    /// The server's own words, if it answered.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) => Some(status),
            _ => None,
        }
    }

    /// The object, or the whole kind, is not there.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// The object has changed since it was read, or is not the one that the preconditions speak of.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(|status| status.is_conflict() && status.reason != ALREADY_EXISTS)
    }

    /// An object of that name is there already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(|status| status.reason == ALREADY_EXISTS)
    }

    /// The object would not be valid.
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(Status::is_invalid)
    }

    /// The version asked for is too old: list anew.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }
}

const ALREADY_EXISTS: &str = "AlreadyExists";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Status(status) => status.fmt(f),
            Self::Unwritable(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for Error {}

impl From<Malformed> for Error {
    fn from(e: Malformed) -> Self {
        Self::Malformed(e)
    }
}
