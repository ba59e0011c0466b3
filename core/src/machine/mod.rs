//! The contract of a whole machine: two verbs.
//!
//! Give one [`Input`], then take every [`Output`] until [`Output::Wait`]:
//!
//! ```text
//!            handle_input(now, Input)
//!   adapter ────────────────────────────► machine
//!           ◄──────────────────────────── Call, Call, Cancel, …, Wait { until }
//!            poll_output(now)
//! ```
//!
//! The adapter sends what a [`Output::Call`] asks for, and reports what comes back as inputs under the same
//! [`CallId`]: a [`Input::Head`], any number of [`Input::Body`], and one [`Input::End`]; or, at any point, one
//! [`Input::Failed`]. It waits until the deadline of the last `Wait`, or until something comes in, whichever is first. Calling early,
//! or with [`Input::Timeout`] before anything is due, is harmless.

mod feed;
mod watcher;

use alloc::vec::Vec;

pub(crate) use feed::{Fed, Feed};
pub use watcher::Watcher;

use crate::error::Misuse;
use crate::request::{Call, CallId, Failure, Head};
use crate::time::{Instant, Now};

/// Something that an adapter can drive.
pub trait Machine {
    /// Takes one input. Work is bounded by the length of the input; what remains to be done is spread over
    /// [`poll_output`](Self::poll_output).
    ///
    /// # Errors
    /// The input was refused and nothing changed: outputs were not drained, or the call is not in flight.
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse>;

    /// The next thing to do. To be called until it says [`Output::Wait`] or [`Output::Stopped`].
    fn poll_output(&mut self, now: Now) -> Output;
}

/// What may come in.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A piece of the body of an answer. Chunks and content encodings are undone before.
    Body {
        /// The call it answers.
        call: CallId,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// The body of an answer has ended as the protocol says it should.
    End {
        /// The call it answers.
        call: CallId,
    },
    /// A call has ended without a whole answer.
    Failed {
        /// The call.
        call: CallId,
        /// How.
        failure: Failure,
    },
    /// The head of an answer.
    Head {
        /// The call it answers.
        call: CallId,
        /// The head.
        head: Head,
    },
    /// Stop: finish what is in flight, begin nothing, then say [`Output::Stopped`].
    Stop,
    /// Time has passed.
    Timeout,
}

/// A part of an answer that owns its bytes, for adapters that pass it from where they read to where they drive the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The call it answers.
    pub call: CallId,
    /// The part.
    pub part: Part,
}

/// What part of an answer it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// As [`Input::Body`].
    Body(Vec<u8>),
    /// As [`Input::End`].
    End,
    /// As [`Input::Failed`].
    Failed(Failure),
    /// As [`Input::Head`].
    Head(Head),
}

impl Answer {
    /// The input that the machine is to be given.
    pub fn input(&self) -> Input<'_> {
        let call = self.call;
        match &self.part {
            Part::Body(bytes) => Input::Body { call, bytes },
            Part::End => Input::End { call },
            Part::Failed(failure) => Input::Failed { call, failure: *failure },
            Part::Head(head) => Input::Head { call, head: *head },
        }
    }

    /// Whether nothing more comes for the call.
    pub fn is_last(&self) -> bool {
        matches!(self.part, Part::End | Part::Failed(_))
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Output {
    /// Send a request, and report its answer.
    Call(Call),
    /// Give a call up. Nothing more may be reported for it.
    Cancel(CallId),
    /// The machine has stopped: no call is in flight, and there will be none.
    Stopped,
    /// Nothing to do until an input comes, or until then.
    Wait {
        /// When to give [`Input::Timeout`]; never, if none.
        until: Option<Instant>,
    },
}
