//! Whether the manager may act: always, or for as long as it leads.

use crate::election::{self, Elector, Standing};
use crate::machine::{Input, Output};
use crate::recorder::Event;
use crate::request::{CallId, CallIds};
use crate::time::{Instant, Now};

/// The election that a manager stands in, if there is one.
#[derive(Debug)]
pub(super) struct Leadership(Option<Elector>);

impl Leadership {
    pub(super) fn new(config: Option<&election::Config>) -> Self {
        Self(config.map(|config| Elector::new(config.clone())))
    }

    /// Takes an input. Whether it was for the election alone.
    pub(super) fn handle_input(&mut self, now: Now, input: &Input<'_>) -> bool {
        let Some(elector) = &mut self.0 else { return false };
        let taken = match *input {
            Input::Body { call, bytes } => elector.handle_body(call, bytes),
            Input::End { call } => elector.handle_end(now, call, None),
            Input::Failed { call, failure } => elector.handle_end(now, call, Some(failure)),
            Input::Head { call, head } => elector.handle_head(call, head),
            Input::Stop => return false,
            Input::Timeout => {
                elector.handle_timeout(now);
                return false;
            }
        };
        taken.is_ok()
    }

    /// Does what has become due, whatever input it was that told the time.
    pub(super) fn handle_due(&mut self, now: Now) {
        if let Some(elector) =
            self.0.as_mut().filter(|elector| elector.next_deadline().is_some_and(|at| at <= now.instant))
        {
            elector.handle_timeout(now);
        }
    }

    /// A call that was given up. Nothing is begun.
    pub(super) fn poll_cancel(&mut self) -> Option<CallId> {
        self.0.as_mut()?.poll_cancel()
    }

    pub(super) fn poll_output(&mut self, now: Now, ids: &mut CallIds) -> Option<Output> {
        let elector = self.0.as_mut()?;
        match elector.poll_cancel() {
            Some(id) => Some(Output::Cancel(id)),
            None => elector.poll_call(now, ids).map(Output::Call),
        }
    }

    /// The news that it leads, to be recorded.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.0.as_mut()?.poll_event()
    }

    /// Does not stand any more, and gives the lease back if it may.
    pub(super) fn resign(&mut self, now: Now, give_back: bool) {
        if let Some(elector) = &mut self.0 {
            elector.resign(now, give_back);
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.0.as_ref().is_none_or(Elector::is_done)
    }

    /// None: there is no election.
    pub(super) fn standing(&self, now: Instant) -> Option<Standing> {
        self.0.as_ref().map(|elector| elector.standing(now))
    }

    /// The name of the lease.
    pub(super) fn lease(&self) -> Option<&str> {
        self.0.as_ref().map(|elector| &*elector.config().name)
    }

    /// Until when it leads, if it does and there is an election.
    pub(super) fn leads_until(&self, now: Instant) -> Option<Instant> {
        match self.standing(now)? {
            Standing::Leading { until } => Some(until),
            Standing::Lost | Standing::Waiting => None,
        }
    }

    pub(super) fn may_act(&self, now: Instant) -> bool {
        self.standing(now).is_none_or(|standing| matches!(standing, Standing::Leading { .. }))
    }

    pub(super) fn is_lost(&self, now: Instant) -> bool {
        self.standing(now) == Some(Standing::Lost)
    }

    /// When its call in flight is given up, if there is one.
    pub(super) fn call_deadline(&self) -> Option<Instant> {
        self.0.as_ref().and_then(Elector::call_deadline)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.as_ref().and_then(Elector::next_deadline)
    }
}
