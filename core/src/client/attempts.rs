//! An operation until it has a result: attempts, and pauses between them.

use core::fmt;

use super::error::Error;
use super::operation::Operation;
use crate::limits::Limits;
use crate::request::{Call, CallId, Encoding, Failure, Method, Outcome, RETRIES, pause};
use crate::time::Instant;

/// How long after a lost connection something is read again (client-go `rest/with_retry.go`, `retryAfterResponse`).
const READ_AGAIN: core::time::Duration = core::time::Duration::from_secs(1);

/// An operation being done.
///
/// A server that is busy (429, or 503 with `Retry-After`) is asked again after the pause that it names, and what only reads is read again after a lost
/// connection; up to ten times. Whatever else happens is the result: of a write that was cut or timed out nobody knows whether it was done.
///
/// Mirrors client-go `rest/with_retry.go`, `IsNextRetry`.
#[derive(Debug)]
pub struct Attempts<A> {
    operation: Operation<A>,
    limits: Limits,
    tries: u32,
    state: State<A>,
}

enum State<A> {
    Done(Option<Result<A, Error>>),
    InFlight,
    Paused { until: Instant },
}

/// What is to be done for an operation.
#[derive(Debug)]
#[must_use]
pub enum Step<A> {
    /// It has ended.
    Done(Result<A, Error>),
    /// Send this, and report the outcome; past its deadline as [`Failure::TimedOut`].
    Send(Call),
    /// Nothing, until then.
    Wait {
        /// When to ask again. Never, while an outcome is awaited.
        until: Option<Instant>,
    },
}

impl<A> Operation<A> {
    /// Begins to do it.
    pub fn attempts(self, limits: Limits) -> Attempts<A> {
        Attempts { operation: self, limits, tries: 0, state: State::Paused { until: Instant::ZERO } }
    }
}

impl<A> Attempts<A> {
    /// What is to be done now. After [`Step::Done`] there is nothing.
    pub fn poll(&mut self, now: Instant) -> Step<A> {
        match &mut self.state {
            State::Done(result) => result.take().map_or(Step::Wait { until: None }, Step::Done),
            State::InFlight => Step::Wait { until: None },
            State::Paused { until } if *until > now => Step::Wait { until: Some(*until) },
            State::Paused { .. } => match self.operation.request() {
                Ok(request) => {
                    let (request, deadline) = (request.clone(), now + self.limits.call_timeout);
                    self.state = State::InFlight;
                    self.tries += 1;
                    Step::Send(Call {
                        id: CallId(u64::from(self.tries)),
                        request,
                        watch: false,
                        accept: Encoding::Json,
                        deadline,
                    })
                }
                Err(e) => {
                    self.state = State::Done(None);
                    Step::Done(Err(e))
                }
            },
        }
    }

    /// Takes the outcome of what was to be sent.
    pub fn handle_outcome(&mut self, now: Instant, outcome: &Outcome) {
        let pause = self.pause(outcome).filter(|_| self.tries <= RETRIES);
        self.state = match pause {
            Some(pause) => State::Paused { until: now + pause },
            None => State::Done(Some(self.operation.read(outcome))),
        };
    }

    fn pause(&self, outcome: &Outcome) -> Option<core::time::Duration> {
        let reads = self.operation.request().is_ok_and(|request| request.method == Method::Get);
        match outcome {
            Outcome::Failed(Failure::Cut) if reads => Some(READ_AGAIN),
            outcome => pause(outcome),
        }
    }
}

impl<A> fmt::Debug for State<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(_) => f.write_str("Done"),
            Self::InFlight => f.write_str("InFlight"),
            Self::Paused { until } => write!(f, "Paused({until:?})"),
        }
    }
}
