//! A sync makes and deletes pods in bounds: no more of either than the burst, and pods in batches that double, so that a refusal that awaits them all is
//! met by few. One sync at a time works on a set.

use std::cell::Cell;
use std::collections::BTreeSet;

use sanskube::limits::Limits;
use sanskube::manager::Manager;
use sanskube::request::{Method, Request};

use super::Violation;
use super::known::SyncView;
use crate::client::ClientId;

/// What a sync has asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Burst {
    creations: Cell<usize>,
    deletions: Cell<usize>,
    /// Creations that were answered well.
    made: Cell<usize>,
}

impl Burst {
    /// Notes the whole answer to a call of the sync.
    pub(crate) fn note_answer(&self, method: Method, status: u16) {
        let count = match method {
            Method::Post => &self.creations,
            Method::Delete => &self.deletions,
            _ => return,
        };
        match status {
            // The server was busy and has done nothing: the same is asked again.
            429 => count.set(count.get() - 1),
            200..300 if method == Method::Post => self.made.set(self.made.get() + 1),
            _ => {}
        }
    }
}

/// Notes and judges a call that a sync has begun.
pub(crate) fn check(client: ClientId, request: &Request, sync: &SyncView, limits: &Limits) -> Result<(), Violation> {
    let Burst { creations, deletions, made } = &sync.burst;
    let (count, bound) = match request.method {
        Method::Post => (creations, limits.burst_replicas.min(2 * made.get() + 1)),
        Method::Delete => (deletions, limits.burst_replicas),
        _ => return Ok(()),
    };
    count.set(count.get() + 1);
    if count.get() <= bound {
        return Ok(());
    }
    let what = format_args!(
        "{client:?} begins {request:?} for {}, the {}. of its sync, after {} pods were made",
        sync.key,
        count.get(),
        made.get()
    );
    Err(Violation::new("pods are made in batches that double, and no more at once than the burst", what))
}

/// Looks for a set that two syncs work on.
pub(crate) fn check_alone(client: ClientId, manager: &Manager) -> Result<(), Violation> {
    let mut keys = BTreeSet::new();
    match manager.syncs().find(|(_, key, _)| !keys.insert(key.as_str())) {
        Some((_, key, _)) => {
            Err(Violation::new("one sync at a time works on a set", format_args!("{client:?} has two of {key}")))
        }
        None => Ok(()),
    }
}
