//! The changes of a collection, as an iterator.

use std::fmt;
use std::sync::Arc;

use sanskube::controller::{Shared, WatchId, Watched};
use sanskube::informer::{Change, HandlerId};
use sanskube::key::Key;

use crate::rest::Rests;

/// The changes of a collection, each with the key of its object. Waits for the next; ends with the runner; leaves when it is dropped.
pub struct Changes<T: Watched> {
    shared: Shared,
    rests: Arc<Rests>,
    watch: WatchId<T>,
    handler: HandlerId,
}

impl<T: Watched> Changes<T> {
    pub(crate) fn new(shared: Shared, rests: Arc<Rests>, watch: WatchId<T>, handler: HandlerId) -> Self {
        Self { shared, rests, watch, handler }
    }
}

impl<T: Watched> Iterator for Changes<T> {
    type Item = (Key, Change<T>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // Counted before looking, so that nothing falls in between.
            let seen = self.rests.count();
            let (change, stopping) =
                self.shared.write(|machine| (machine.poll_change(self.watch, self.handler), machine.is_stopping()));
            if change.is_some() || stopping {
                return change;
            }
            self.rests.wait(seen);
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
