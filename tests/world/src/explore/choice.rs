//! Choices: what may happen next.

use std::fmt;

use sanskube::request::CallId;

use crate::client::ClientId;

/// One thing that may happen next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The answer to a call arrives, or of a watch the next event.
    Answer(ClientId, CallId),
    /// A request takes effect at the server.
    Serve(ClientId, CallId),
    /// The server does what is due: the garbage collector acts.
    Server,
    /// A timer of the controller runs out.
    Wake(ClientId),
    /// A user does something.
    User(User),
    /// Something goes wrong.
    Fault(Fault),
}

/// What a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// Deletes a set, in the background.
    Delete(&'static str),
    /// Deletes a pod.
    DeletePod(String),
    /// Deletes a set and makes another of its name at once.
    Recreate(&'static str),
    /// Gives a pod the labels of a set, or those of none.
    Relabel(String, &'static str),
    /// Scales a set.
    Scale(&'static str, u8),
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The controller is gone, and another begins with nothing. Its requests may be lost with it, or arrive whenever they like.
    Crash {
        /// Whether they are lost.
        lose: bool,
    },
    /// A watch breaks, and what it would have told is told by nobody: the history has expired.
    Gap(CallId),
    /// A connection breaks: an answer is lost, or the request before it has arrived.
    Lose(CallId),
}

impl Choice {
    /// Whether it happens without users and faults.
    pub const fn is_forced(&self) -> bool {
        !matches!(self, Self::User(_) | Self::Fault(_))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(_, call) => write!(f, "answer #{}", call.0),
            Self::Serve(_, call) => write!(f, "request #{} takes effect", call.0),
            Self::Server => f.write_str("the server does what is due"),
            Self::Wake(_) => f.write_str("a timer runs out"),
            Self::User(user) => write!(f, "user: {user:?}"),
            Self::Fault(fault) => write!(f, "fault: {fault:?}"),
        }
    }
}
