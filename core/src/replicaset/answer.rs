//! What a short call came to: its body if it succeeded, or why not.

use alloc::vec::Vec;
use core::fmt;

use crate::error::Malformed;
use crate::object::Meta;
use crate::request::{Failure, Outcome};
use crate::uid::Uid;
use crate::wire::Status;

/// Why a call of a sync did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// No whole answer came.
    Failed(Failure),
    /// The server said no.
    Refused(Status),
    /// The object that was read is another one of the same name.
    Replaced {
        /// The uid that was read.
        found: Uid,
        /// The uid of the object that the sync is about.
        wanted: Uid,
    },
    /// The server said yes, with an answer that could not be read.
    Unreadable(Malformed),
}

impl CallFailure {
    /// The object that the call is about is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(status) if status.is_not_found())
    }

    /// The object is not as the call supposed.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(status) if status.is_conflict())
    }

    /// The object would not be valid.
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Refused(status) if status.is_invalid())
    }

    /// The namespace is being deleted, so nothing can be created in it any more.
    ///
    /// Mirrors apimachinery `pkg/api/errors/errors.go`, `HasStatusCause` with `NamespaceTerminatingCause`.
    pub fn is_namespace_terminating(&self) -> bool {
        matches!(self, Self::Refused(status) if status.has_cause("NamespaceTerminating"))
    }
}

impl fmt::Display for CallFailure {
    /// As a user sees it in an event or condition: the server's own words where it has said any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::Refused(status) if status.message.is_empty() => write!(f, "the server answered {status}"),
            Self::Refused(status) => f.write_str(&status.message),
            Self::Replaced { found, wanted } => {
                write!(f, "the object has been replaced: got uid {found}, wanted {wanted}")
            }
            Self::Unreadable(e) => e.fmt(f),
        }
    }
}

/// The body of a successful answer.
pub(super) fn body_of(outcome: Outcome) -> Result<Vec<u8>, CallFailure> {
    match outcome {
        Outcome::Failed(failure) => Err(CallFailure::Failed(failure)),
        Outcome::Response(response) if (200..300).contains(&response.head.status) => Ok(response.body),
        Outcome::Response(response) => {
            Err(CallFailure::Refused(Status::of_answer(response.head.status, &response.body)))
        }
    }
}

/// The metadata of an object that a write answered with; none if the answer is not an object with a name.
pub(super) fn written_meta(body: &[u8]) -> Option<Meta> {
    #[derive(serde::Deserialize)]
    struct Written {
        metadata: Meta,
    }

    let written: Written = serde_json::from_slice(body).ok()?;
    Some(written.metadata).filter(|meta| !meta.name().is_empty())
}
