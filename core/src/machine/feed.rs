//! An informer as a part of a machine.

use alloc::collections::VecDeque;

use super::{Input, Output};
use crate::error::Misuse;
use crate::informer::Informer;
use crate::object::Decode;
use crate::reflector::{Cause, WatchError};
use crate::request::{CallId, CallIds};
use crate::time::{Instant, Now};

/// What a machine does with each of its informers, whatever they hold.
pub(crate) trait Feed {
    /// Takes an input, if it answers a call of this informer or says that time has passed.
    ///
    /// # Errors
    /// The call is not one of this informer ([`Misuse::UnknownCall`]).
    fn handle_input(&mut self, now: Now, input: &Input<'_>) -> Result<(), Misuse>;

    /// Does what has become due, whatever input it was that told the time.
    fn handle_due(&mut self, now: Now);

    /// The next call or cancellation.
    fn poll_output(&mut self, now: Now, ids: &mut CallIds) -> Option<Output>;

    /// When something here is due.
    fn next_deadline(&self) -> Option<Instant>;

    /// Asks for nothing more. The call to be cancelled, if one is in flight or was just given up, and this was not asked before.
    fn stop(&mut self) -> Option<CallId>;
}

/// An informer, and what it last complained of.
#[derive(Debug)]
pub(crate) struct Fed<T> {
    pub(crate) informer: Informer<T>,
    /// What was said last about what is wrong; none when all is well.
    complaint: Option<Cause>,
    /// Whether the answer that is coming in is not an error.
    well: bool,
    /// How many pages of lists were asked for (`reflector_lists_total`).
    pub(crate) lists: u64,
    /// How many watches were asked for (`reflector_watches_total`).
    pub(crate) watches: u64,
    stopped: bool,
    /// What went wrong and was not taken yet; nothing unless somebody listens.
    troubles: Option<VecDeque<WatchError>>,
}

impl<T: Decode> Fed<T> {
    pub(crate) fn new(informer: Informer<T>) -> Self {
        Self { informer, complaint: None, well: false, lists: 0, watches: 0, stopped: false, troubles: None }
    }

    /// From now on keeps everything that goes wrong.
    pub(crate) fn start_listening(&mut self) {
        self.troubles.get_or_insert_default();
    }

    /// The next thing that went wrong.
    pub(crate) fn poll_trouble(&mut self) -> Option<WatchError> {
        self.troubles.as_mut()?.pop_front()
    }

    /// Says what is wrong once, whatever it was that failed for this reason, and again only after something else was wrong or all was well.
    fn complain(&mut self) {
        let resource = self.informer.resource().group_resource().into_owned();
        while let Some(error) = self.informer.poll_error() {
            if let Some(troubles) = &mut self.troubles {
                troubles.push_back(error.clone());
            }
            if self.complaint.as_ref() == Some(&error.cause) {
                log::debug!("{resource}: {error}");
            } else {
                log::warn!("{resource}: {error}");
                self.complaint = Some(error.cause);
            }
        }
    }
}

impl<T: Decode> Feed for Fed<T> {
    fn handle_input(&mut self, now: Now, input: &Input<'_>) -> Result<(), Misuse> {
        let informer = &mut self.informer;
        match *input {
            Input::Body { call, bytes } => {
                informer.handle_body(now, call, bytes)?;
                if self.well {
                    self.complaint = None;
                }
            }
            Input::End { call } => informer.handle_end(now, call)?,
            Input::Failed { call, failure } => informer.handle_failure(now, call, failure)?,
            Input::Head { call, head } => {
                informer.handle_head(now, call, head)?;
                self.well = (200..300).contains(&head.status);
            }
            Input::Timeout => informer.handle_timeout(now),
            Input::Stop => {}
        }
        self.complain();
        Ok(())
    }

    fn handle_due(&mut self, now: Now) {
        if self.next_deadline().is_some_and(|at| at <= now.instant) {
            self.informer.handle_timeout(now);
            self.complain();
        }
    }

    fn poll_output(&mut self, now: Now, ids: &mut CallIds) -> Option<Output> {
        if let Some(call) = self.informer.poll_cancel() {
            return Some(Output::Cancel(call));
        }
        let call = self.informer.poll_call(now, ids)?;
        let count = if call.watch { &mut self.watches } else { &mut self.lists };
        *count = count.saturating_add(1);
        Some(Output::Call(call))
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.informer.next_deadline()
    }

    fn stop(&mut self) -> Option<CallId> {
        if core::mem::replace(&mut self.stopped, true) {
            return None;
        }
        self.informer.poll_cancel().or_else(|| self.informer.in_flight())
    }
}
