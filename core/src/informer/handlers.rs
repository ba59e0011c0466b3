//! All handlers of an informer.

use alloc::vec::Vec;
use core::time::Duration;

use super::change::Change;
use super::handler::{Handler, HandlerId, HandlerOptions};
use super::process::StoreChange;
use crate::object::Object;
use crate::store::Store;
use crate::time::Instant;

/// The shortest resync period of a handler (client-go `tools/cache/shared_informer.go`, `minimumResyncPeriod`).
const MINIMUM_RESYNC: Duration = Duration::from_secs(1);

pub(super) struct Handlers<T> {
    handlers: Vec<Handler<T>>,
    next_id: u64,
    default_period: Duration,
    /// How often it is looked whether a handler's resync is due.
    check_period: Duration,
    started: bool,
    backlog_limit: usize,
}

impl<T: Object> Handlers<T> {
    pub(super) fn new(resync: Duration, backlog_limit: usize) -> Self {
        Self {
            handlers: Vec::new(),
            next_id: 0,
            default_period: resync,
            check_period: resync,
            started: false,
            backlog_limit,
        }
    }

    /// From now on the check period is settled; returns it.
    pub(super) fn start(&mut self) -> Duration {
        self.started = true;
        self.check_period
    }

    /// Adds a handler, which is first told of all that is stored.
    pub(super) fn add(&mut self, options: HandlerOptions<T>, store: &Store<T>, now: Instant) -> HandlerId {
        let mut requested = options.resync.unwrap_or(self.default_period);
        if !requested.is_zero() {
            requested = requested.max(MINIMUM_RESYNC);
            if requested < self.check_period && !self.started {
                self.check_period = requested;
                for handler in &mut self.handlers {
                    handler.set_check_period(requested, now);
                }
            }
        }
        let id = HandlerId(self.next_id);
        self.next_id += 1;
        let mut handler = Handler::new(id, options.filter, requested, self.backlog_limit);
        handler.set_check_period(self.check_period, now);
        for (key, object) in store.keys().zip(store.iter()) {
            handler.tell_stored(key.clone(), object);
        }
        self.handlers.push(handler);
        id
    }

    /// Removes a handler and what it was not told yet. Returns whether there was one.
    pub(super) fn remove(&mut self, id: HandlerId) -> bool {
        let before = self.handlers.len();
        self.handlers.retain(|handler| handler.id != id);
        self.handlers.len() < before
    }

    pub(super) fn tell(&mut self, told: &StoreChange<T>) {
        let only_look_again = match &told.change {
            Change::Update { old, new } => old.resource_version() == new.resource_version(),
            Change::Add { .. } | Change::Delete(_) => false,
        };
        for handler in &mut self.handlers {
            handler.tell(told, only_look_again);
        }
    }

    /// Whether a resync of some handler is due. Those whose it is take part in the resync that follows.
    ///
    /// Mirrors client-go `tools/cache/shared_informer.go`, `shouldResync`.
    pub(super) fn should_resync(&mut self, now: Instant) -> bool {
        // Each handler is asked, so no short cut.
        self.handlers.iter_mut().fold(false, |due, handler| handler.take_due_resync(now) | due)
    }

    pub(super) fn get(&self, id: HandlerId) -> Option<&Handler<T>> {
        self.handlers.iter().find(|handler| handler.id == id)
    }

    pub(super) fn get_mut(&mut self, id: HandlerId) -> Option<&mut Handler<T>> {
        self.handlers.iter_mut().find(|handler| handler.id == id)
    }
}
