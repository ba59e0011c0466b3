//! An informer on its own, as a machine that an adapter can drive.

use core::fmt;

use super::{Input, Machine, Output};
use crate::error::Misuse;
use crate::informer::{Change, HandlerId, HandlerOptions, Informer};
use crate::key::Key;
use crate::object::Decode;
use crate::request::{CallId, CallIds};
use crate::store::Store;
use crate::time::Now;

/// Watches one collection and hands each change to a function, with the store as it is after all that was read so far.
///
/// For programs that want a cache, or to be told of changes, without a controller. More informers can share a machine of one's own
/// in the same way: give each answer to the informer whose call it is, and draw all ids from one [`CallIds`].
pub struct Watcher<T, F> {
    informer: Informer<T>,
    handler: HandlerId,
    on_change: F,
    ids: CallIds,
    in_flight: Option<CallId>,
    stopping: bool,
    drained: bool,
}

impl<T: Decode, F: FnMut(&Store<T>, Key, Change<T>)> Watcher<T, F> {
    /// A watcher that has not asked for anything yet.
    pub fn new(mut informer: Informer<T>, on_change: F) -> Self {
        let handler = informer.add_handler(Now::default(), HandlerOptions::default());
        Self { informer, handler, on_change, ids: CallIds::default(), in_flight: None, stopping: false, drained: true }
    }

    /// The informer: its store, whether it is in sync.
    pub fn informer(&self) -> &Informer<T> {
        &self.informer
    }

    fn deliver(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Head { call, head } => self.informer.handle_head(now, call, head),
            Input::Body { call, bytes } => self.informer.handle_body(now, call, bytes),
            Input::End { call } => {
                self.informer.handle_end(now, call)?;
                self.in_flight = None;
                Ok(())
            }
            Input::Failed { call, failure } => {
                self.informer.handle_failure(now, call, failure)?;
                self.in_flight = None;
                Ok(())
            }
            Input::Timeout => {
                self.informer.handle_timeout(now);
                Ok(())
            }
            Input::Stop => {
                self.stopping = true;
                Ok(())
            }
        }
    }

    fn next_output(&mut self, now: Now) -> Output {
        if let Some(error) = self.informer.poll_error() {
            log::warn!("{error}");
        }
        let given_up = self.informer.poll_cancel();
        let given_up = if self.stopping { self.in_flight } else { given_up };
        if let Some(id) = given_up {
            self.in_flight = None;
            return Output::Cancel(id);
        }
        if self.stopping {
            return Output::Stopped;
        }
        match self.informer.poll_call(now, &mut self.ids) {
            Some(call) => {
                self.in_flight = Some(call.id);
                Output::Call(call)
            }
            None => Output::Wait { until: self.informer.next_deadline() },
        }
    }
}

impl<T: Decode, F: FnMut(&Store<T>, Key, Change<T>)> Machine for Watcher<T, F> {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        if !self.drained {
            return Err(Misuse::NotDrained);
        }
        self.deliver(now, input)?;
        self.drained = false;
        while let Some((key, change)) = self.informer.poll_change(self.handler) {
            (self.on_change)(self.informer.store(), key, change);
        }
        Ok(())
    }

    fn poll_output(&mut self, now: Now) -> Output {
        let output = self.next_output(now);
        self.drained = matches!(output, Output::Wait { .. } | Output::Stopped);
        output
    }
}

impl<T, F> fmt::Debug for Watcher<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("informer", &self.informer)
            .field("in_flight", &self.in_flight)
            .field("stopping", &self.stopping)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
