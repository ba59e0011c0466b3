//! What each failure leads to, in one table.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use super::config::Recovery;
use crate::error::DecodeError;
use crate::request::Failure;
use crate::wire::Status;

use Doing::{Opening, Pinned, Repeated, Streaming, Unpinned, Watching};
use Step::{ListInFull, ListNow, ListUnpinned, NewRound, Resume, ResumeNow, StreamNow, StreamUnpinned};

/// What a reflector was at when something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Listing from a version at least.
    Pinned,
    /// Listing without a version.
    Unpinned,
    /// Listing without a version because a pinned list failed just before.
    Repeated,
    /// Asking for a streaming list, or receiving one.
    Streaming,
    /// Asking for a watch.
    Opening,
    /// Watching.
    Watching,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// List anew after a back-off, or stream where the reflector is to stream. From the last version seen, unless that
    /// was found to be of no use.
    NewRound,
    /// The same, but without a version.
    NewRoundUnpinned,
    /// The token of a page is too old: list the whole at once.
    ListInFull,
    /// List without a version at once.
    ListUnpinned,
    /// Give up streaming for now and list at once.
    ListNow,
    /// Ask for the streaming list again at once. Done a few times only; then as `ListNow`.
    StreamNow,
    /// The same, but without a version.
    StreamUnpinned,
    /// Ask for the same again after a back-off.
    Resume,
    /// Watch at once from the last version seen. Where this happens too often it is done after a back-off.
    ResumeNow,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NewRound => "listing anew after a pause",
            Self::NewRoundUnpinned => "listing anew, without a version, after a pause",
            ListInFull => "listing the whole at once",
            ListUnpinned => "listing anew, without a version",
            ListNow => "listing instead of streaming",
            StreamNow => "streaming the list anew",
            StreamUnpinned => "streaming the list anew, without a version",
            Resume => "asking for the same after a pause",
            ResumeNow => "watching on",
        })
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The server said so, as the answer or in the stream.
    Status(Box<Status>),
    /// The server failed, and internal errors are to be retried at once for a while
    /// ([`Config::internal_error_retry`](super::Config::internal_error_retry)).
    InternalError(Box<Status>),
    /// The continue token of a page is too old.
    TokenExpired(Box<Status>),
    /// The stream reported an error that is no status.
    UnknownError,
    /// There was no whole answer.
    Failed(Failure),
    /// The watch ended, as watches do.
    Closed,
    /// The watch ended within a second, without an event.
    VeryShortWatch,
    /// The watch did not end in the time it was asked to, and nothing came any more.
    Silent,
    /// The server sent what cannot be read.
    Undecodable(DecodeError),
    /// The store refused the list, or a resync.
    Store(String),
}

impl Cause {
    fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) | Self::InternalError(status) | Self::TokenExpired(status) => Some(status),
            _ => None,
        }
    }

    /// How long the server asks to wait.
    pub(super) fn retry_after(&self) -> Duration {
        self.status().and_then(|status| status.retry_after).unwrap_or_default()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) | Self::InternalError(status) | Self::TokenExpired(status) => status.fmt(f),
            Self::UnknownError => f.write_str("an error that is no status"),
            Self::Failed(failure) => failure.fmt(f),
            Self::Closed => f.write_str("closed"),
            Self::VeryShortWatch => f.write_str("closed within a second, without an event"),
            Self::Silent => f.write_str("silent past its end"),
            Self::Undecodable(e) => e.fmt(f),
            Self::Store(e) => write!(f, "not stored: {e}"),
        }
    }
}

/// A row: while doing one of these, if this went wrong, then do that; in the column of [`Recovery::Prudent`] and in that
/// of [`Recovery::ClientGo`].
type Row = (&'static [Doing], fn(&Cause) -> bool, Step, Step);

/// The first row that fits counts. Mirrors client-go `tools/cache/reflector.go` (`list`, `watchList`, `watch`) and
/// `tools/pager/pager.go` (`List`); where the columns differ, the left one is ours.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    // while                            went wrong            prudent                 client-go
    (&[Pinned, Unpinned, Repeated],     token_expired,        ListInFull,             ListInFull),
    (&[Pinned],                         version_unavailable,  ListUnpinned,           ListUnpinned),
    (&[Unpinned],                       version_unavailable,  NewRound,               ListUnpinned),
    (&[Pinned],                         bad_request,          ListUnpinned,           NewRound),
    (&[Pinned, Unpinned, Repeated],     anything,             NewRound,               NewRound),

    (&[Streaming],                      refused,              Resume,                 Resume),
    (&[Streaming],                      too_many_requests,    Resume,                 Resume),
    (&[Streaming],                      version_unavailable,  StreamUnpinned,         StreamUnpinned),
    (&[Streaming],                      closed,               StreamNow,              StreamNow),
    (&[Streaming],                      anything,             ListNow,                ListNow),

    (&[Opening],                        refused,              Resume,                 Resume),
    (&[Opening],                        too_many_requests,    Resume,                 Resume),
    (&[Opening, Watching],              expired,              Step::NewRoundUnpinned, NewRound),
    (&[Watching],                       too_many_requests,    Resume,                 Resume),
    (&[Watching],                       internal_error,       ResumeNow,              ResumeNow),
    (&[Watching],                       closed,               ResumeNow,              ResumeNow),
    (&[Opening, Watching],              silent,               ResumeNow,              ResumeNow),
    (&[Watching],                       version_refused,      NewRound,               NewRound),
    (&[Watching],                       reported,             Resume,                 NewRound),
    (&[Opening, Watching],              anything,             NewRound,               NewRound),
];

fn anything(_: &Cause) -> bool {
    true
}

/// Where the version is all that tells the request from one that works, it is the version that is bad.
fn bad_request(cause: &Cause) -> bool {
    cause.status().is_some_and(Status::is_bad_request)
}

fn closed(cause: &Cause) -> bool {
    *cause == Cause::Closed
}

fn expired(cause: &Cause) -> bool {
    cause.status().is_some_and(Status::is_expired)
}

fn internal_error(cause: &Cause) -> bool {
    matches!(cause, Cause::InternalError(_))
}

fn refused(cause: &Cause) -> bool {
    *cause == Cause::Failed(Failure::Refused)
}

fn reported(cause: &Cause) -> bool {
    matches!(cause, Cause::Status(_) | Cause::UnknownError)
}

fn silent(cause: &Cause) -> bool {
    *cause == Cause::Silent
}

fn token_expired(cause: &Cause) -> bool {
    matches!(cause, Cause::TokenExpired(_))
}

fn too_many_requests(cause: &Cause) -> bool {
    cause.status().is_some_and(Status::is_too_many_requests)
}

/// From this version no watch will ever start.
fn version_refused(cause: &Cause) -> bool {
    version_unavailable(cause) || bad_request(cause)
}

fn version_unavailable(cause: &Cause) -> bool {
    expired(cause) || cause.status().is_some_and(Status::is_resource_version_too_large)
}

/// Looks a failure up.
pub(super) fn next_step(doing: Doing, cause: &Cause, recovery: Recovery) -> Step {
    let row = TABLE.iter().find(|(while_doing, fits, ..)| while_doing.contains(&doing) && fits(cause));
    let &(.., prudent, client_go) = row.expect("the last row of each of the three parts fits anything");
    match recovery {
        Recovery::Prudent => prudent,
        Recovery::ClientGo => client_go,
    }
}

/// A failure, as told to whoever asks [`Reflector::poll_error`](super::Reflector::poll_error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchError {
    /// What the reflector was at.
    pub doing: Doing,
    /// What went wrong.
    pub cause: Cause,
    /// What it does about it; none where a single event was refused by the store and is lost.
    pub step: Option<Step>,
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.doing {
            Pinned | Unpinned | Repeated => "list: ",
            Streaming => "streaming list: ",
            Opening | Watching => "watch: ",
        })?;
        self.cause.fmt(f)
    }
}

impl core::error::Error for WatchError {}
