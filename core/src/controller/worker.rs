//! One controller at work: its queue, and how many keys it has handed out.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::source::Sources;
use super::{ControllerId, When};
use crate::key::Key;
use crate::time::Instant;
use crate::workqueue::{Finish, Get, Priority, WorkQueue, rate};

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) id: ControllerId,
    name: String,
    queue: WorkQueue<Key>,
    concurrency: usize,
    /// The collections that it depends on, by number.
    watches: Vec<u32>,
}

impl Worker {
    pub(super) fn new(id: ControllerId, name: String, concurrency: usize, watches: Vec<u32>) -> Self {
        Self { id, name, queue: WorkQueue::new(rate::default_controller()), concurrency, watches }
    }

    pub(super) fn add(&mut self, now: Instant, key: Key, priority: Priority) {
        self.queue.add_with(now, key, priority);
    }

    /// The next key, if there is room for one and all that the controller depends on is known.
    pub(super) fn poll_key(&mut self, now: Instant, sources: &Sources) -> Option<Key> {
        if self.is_leaving() || !self.has_room() || !self.has_synced(sources) {
            return None;
        }
        match self.queue.poll_get(now) {
            Get::Item(key) => Some(key),
            Get::Empty { .. } | Get::ShutDown => None,
        }
    }

    /// `false` if the key was not handed out.
    pub(super) fn handle_result<E: fmt::Display>(&mut self, now: Instant, key: &Key, result: Result<When, E>) -> bool {
        let finish = match result {
            Ok(when) => Finish::from(when),
            Err(error) => {
                log::warn!("{}: {key}: {error}", self.name);
                Finish::Retry
            }
        };
        self.queue.finish(now, key, finish)
    }

    /// Takes no further keys; those handed out are waited for.
    pub(super) fn leave(&mut self, now: Instant) {
        self.queue.shut_down(now);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.queue.is_shutting_down()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.processing() == 0
    }

    pub(super) fn uses(&self, watch: u32) -> bool {
        self.watches.contains(&watch)
    }

    pub(super) fn has_synced(&self, sources: &Sources) -> bool {
        self.watches.iter().all(|watch| sources.get(watch).is_some_and(|source| source.has_synced()))
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Queues the keys whose time has come. One that is being reconciled then comes again after that, and is not waited for.
    pub(super) fn handle_due(&mut self, now: Instant) {
        self.queue.handle_timeout(now);
    }

    /// When a key is due, if it could be handed out then.
    pub(super) fn next_deadline(&self, sources: &Sources) -> Option<Instant> {
        self.queue.next_deadline().filter(|_| self.has_room() && self.has_synced(sources))
    }

    fn has_room(&self) -> bool {
        self.queue.processing() < self.concurrency
    }
}
