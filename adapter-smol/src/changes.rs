//! The changes of a collection, as a stream.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use event_listener::{Event, EventListener};
use futures_lite::{Future as _, Stream};
use sanskube::controller::{Shared, WatchId, Watched};
use sanskube::informer::{Change, HandlerId};
use sanskube::key::Key;

/// The changes of a collection, each with the key of its object. Ends with the runner; leaves when it is dropped.
pub struct Changes<T: Watched> {
    shared: Shared,
    /// Notified whenever the machine has come to rest.
    rested: Arc<Event>,
    watch: WatchId<T>,
    handler: HandlerId,
    rest: Option<EventListener>,
}

impl<T: Watched> Changes<T> {
    pub(crate) fn new(shared: Shared, rested: Arc<Event>, watch: WatchId<T>, handler: HandlerId) -> Self {
        Self { shared, rested, watch, handler, rest: None }
    }
}

impl<T: Watched> Stream for Changes<T> {
    type Item = (Key, Change<T>);

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            // Listen before looking, so that nothing falls in between.
            let rest = this.rest.get_or_insert_with(|| this.rested.listen());
            let (change, stopping) =
                this.shared.write(|machine| (machine.poll_change(this.watch, this.handler), machine.is_stopping()));
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
        self.shared.write(|machine| machine.remove_handler(self.watch, self.handler));
    }
}

impl<T: Watched> fmt::Debug for Changes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("watch", &self.watch).finish_non_exhaustive()
    }
}
