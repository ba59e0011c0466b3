//! The changes of a collection, as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use event_listener::EventListener;
use futures_lite::{Future as _, Stream};
use sanskube::controller::{WatchId, Watched};
use sanskube::informer::{Change, HandlerId};
use sanskube::key::Key;

use crate::runner::Runner;

/// The changes of a collection, each with the key of its object. Ends with the runner; leaves when it is dropped.
pub struct Changes<T: Watched> {
    runner: Runner,
    watch: WatchId<T>,
    handler: HandlerId,
    rest: Option<EventListener>,
}

impl<T: Watched> Changes<T> {
    pub(crate) fn new(runner: Runner, watch: WatchId<T>, handler: HandlerId) -> Self {
        Self { runner, watch, handler, rest: None }
    }
}

impl<T: Watched> Stream for Changes<T> {
    type Item = (Key, Change<T>);

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            // Listen before looking, so that nothing falls in between.
            let rest = this.rest.get_or_insert_with(|| this.runner.rested.listen());
            let (change, stopping) = this
                .runner
                .shared
                .write(|machine| (machine.poll_change(this.watch, this.handler), machine.is_stopping()));
            if change.is_some() || stopping {
                return Poll::Ready(change);
            }
            if Pin::new(rest).poll(context).is_pending() {
                return Poll::Pending;
            }
            this.rest = None;
        }
    }
}

impl<T: Watched> Drop for Changes<T> {
    fn drop(&mut self) {
        self.runner.shared.write(|machine| machine.remove_handler(self.watch, self.handler));
    }
}

impl<T: Watched> fmt::Debug for Changes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("watch", &self.watch).finish_non_exhaustive()
    }
}
