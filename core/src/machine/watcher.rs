//! An informer on its own, as a machine that an adapter can drive.

use core::fmt;

use super::{Fed, Feed, Input, Machine, Output};
use crate::error::Misuse;
use crate::informer::{Change, HandlerId, HandlerOptions, Informer};
use crate::key::Key;
use crate::object::Decode;
use crate::request::CallIds;
use crate::store::Store;
use crate::time::Now;

/// Watches one collection and hands each change to a function, with the store as it is after all that was read so far.
///
/// For programs that want a cache, or to be told of changes, without a controller.
pub struct Watcher<T, F> {
    feed: Fed<T>,
    handler: HandlerId,
    on_change: F,
    ids: CallIds,
    stopping: bool,
    drained: bool,
}

impl<T: Decode, F: FnMut(&Store<T>, Key, Change<T>)> Watcher<T, F> {
    /// A watcher that has not asked for anything yet.
    pub fn new(mut informer: Informer<T>, on_change: F) -> Self {
        let handler = informer.add_handler(Now::default(), HandlerOptions::default());
        Self { feed: Fed::new(informer), handler, on_change, ids: CallIds::default(), stopping: false, drained: true }
    }

    /// The informer: its store, whether it is in sync.
    pub fn informer(&self) -> &Informer<T> {
        &self.feed.informer
    }

    fn next_output(&mut self, now: Now) -> Output {
        if self.stopping {
            return self.feed.stop().map_or(Output::Stopped, Output::Cancel);
        }
        let until = self.feed.next_deadline();
        self.feed.poll_output(now, &mut self.ids).unwrap_or(Output::Wait { until })
    }
}

impl<T: Decode, F: FnMut(&Store<T>, Key, Change<T>)> Machine for Watcher<T, F> {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        if !self.drained {
            return Err(Misuse::NotDrained);
        }
        self.feed.handle_input(now, &input)?;
        self.feed.handle_due(now);
        self.stopping |= matches!(input, Input::Stop);
        self.drained = false;
        let informer = &mut self.feed.informer;
        while let Some((key, change)) = informer.poll_change(self.handler) {
            (self.on_change)(informer.store(), key, change);
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
            .field("informer", &self.feed.informer)
            .field("stopping", &self.stopping)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
