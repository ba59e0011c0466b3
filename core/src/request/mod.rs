//! HTTP exchanges as data: what the core asks for, and what may come back.
//!
//! Every exchange has the same shape. A stage hands out a [`Call`]; whoever does the I/O sends its [`Request`] and reports, under the
//! call's [`CallId`], a [`Head`], pieces of the body and the end, or a [`Failure`]. Long answers (lists, watches) are
//! taken piece by piece; short ones are gathered by a [`Collector`] into an [`Outcome`].

mod busy;
mod collector;
mod encoding;
mod query;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

#[cfg(test)]
pub(crate) use busy::PAUSE_MIN;
pub(crate) use busy::{RETRIES, pause};
pub use collector::Collector;
pub use encoding::Encoding;
pub use query::Query;

use crate::time::Instant;

/// The name of one exchange. Never used twice by one [`CallIds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// Where call ids come from: one counter, shared by all stages of a machine.
#[derive(Debug, Default)]
pub struct CallIds(u64);

impl CallIds {
    /// An id that was not handed out before.
    pub fn next_id(&mut self) -> CallId {
        self.0 += 1;
        CallId(self.0)
    }
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `DELETE`
    Delete,
    /// `GET`
    Get,
    /// `PATCH`
    Patch,
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

impl Method {
    /// The method as it is written in a request line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Patch => "PATCH",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// An HTTP request, without what the transport adds (host, credentials, user agent, lengths).
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and query, percent-encoded, beginning with a slash.
    pub path: String,
    /// `Content-Type` of the body; empty where there is none.
    pub content_type: &'static str,
    /// The body; empty where there is none.
    pub body: Vec<u8>,
}

/// `Content-Type` of a JSON body.
pub const JSON: &str = "application/json";
/// `Content-Type` of an apply patch. JSON is YAML.
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// `Content-Type` of a JSON patch (RFC 6902).
pub const JSON_PATCH: &str = "application/json-patch+json";
/// `Content-Type` of a merge patch (RFC 7386).
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// `Content-Type` of a strategic merge patch.
pub const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

impl Request {
    /// A request without a body.
    pub fn get(path: String) -> Self {
        Self { method: Method::Get, path, content_type: "", body: Vec::new() }
    }
}

impl fmt::Debug for Request {
    /// Method and path, never the body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.as_str(), self.path)
    }
}

/// A request to be sent, and how its answer will come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name under which the answer is to be reported.
    pub id: CallId,
    /// What to send.
    pub request: Request,
    /// Whether the answer is a watch: open for minutes, and not to take the place of a short call.
    pub watch: bool,
    /// What the answer had best be written in. One in JSON is understood all the same.
    pub accept: Encoding,
    /// When the core will give the call up by itself; a watch later, if events come of it until then. A transport that cannot be cancelled
    /// while it waits can use this as its own
    /// time limit; it need not.
    pub deadline: Instant,
}

/// The head of an answer, as far as the core looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The HTTP status code.
    pub status: u16,
    /// `Retry-After` in seconds; none where the header is absent or not a number of seconds.
    pub retry_after: Option<Duration>,
    /// What the body is written in.
    pub encoding: Encoding,
}

impl Head {
    /// The head of an answer in JSON that asks for no pause.
    pub const fn new(status: u16) -> Self {
        Self { status, retry_after: None, encoding: Encoding::Json }
    }
}

/// Why an exchange ended without a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The connection was lost after the request may have been sent. The server may have acted.
    Cut,
    /// The connection could not be made (refused, no route, bad certificate). The server has not acted.
    Refused,
    /// No whole answer came in time. The server may have acted.
    TimedOut,
    /// The answer is larger than [`Limits::answer_bytes`](crate::limits::Limits::answer_bytes). The server has acted.
    TooLarge,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cut => "connection lost",
            Self::Refused => "connection refused",
            Self::TimedOut => "timed out",
            Self::TooLarge => "answer too large",
        })
    }
}

/// A whole answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    /// Status code and hints.
    pub head: Head,
    /// The body.
    pub body: Vec<u8>,
}

impl fmt::Debug for Response {
    /// Status and length, never the body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.head.status, self.body.len())
    }
}

/// How a short call ended. Every variant is ordinary: an input with a meaning, not an error of this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No whole answer came.
    Failed(Failure),
    /// An answer came, of whatever status.
    Response(Response),
}
