//! One handler: what it wants to be told, and what it was not told yet.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use super::backlog::Backlog;
use super::change::Change;
use super::process::StoreChange;
use crate::delta::Deletion;
use crate::key::Key;
use crate::time::Instant;

/// Names a handler of one informer. Never used again after the handler has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerId(pub(super) u64);

/// Tells whether a handler wants to know of an object. The same object must always give the same answer.
pub type Filter<T> = Box<dyn Fn(&T) -> bool + Send + Sync>;

/// What a handler wants to be told.
pub struct HandlerOptions<T> {
    /// How often it wants to be told of every object again; zero for never, `None` for the informer's own period.
    ///
    /// Before the informer starts, a shorter period than the informer's own shortens that; later it is lengthened to
    /// it. At least a second. Ignored if the informer's own is zero. (client-go `tools/cache/shared_informer.go`,
    /// `AddEventHandlerWithResyncPeriod`, `determineResyncPeriod`.)
    pub resync: Option<Duration>,
    /// Which objects it wants to know of; `None` for all. An object that begins to pass is added, one that ceases to is deleted.
    pub filter: Option<Filter<T>>,
}

impl<T> Default for HandlerOptions<T> {
    fn default() -> Self {
        Self { resync: None, filter: None }
    }
}

impl<T> fmt::Debug for HandlerOptions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerOptions").field("resync", &self.resync).field("filter", &self.filter.is_some()).finish()
    }
}

pub(super) struct Handler<T> {
    pub(super) id: HandlerId,
    filter: Option<Filter<T>>,
    /// What it asked for.
    requested: Duration,
    /// What it gets, given the informer's own period.
    period: Duration,
    next_resync: Instant,
    /// Whether it took part in the last resync, or there was none yet.
    resyncing: bool,
    backlog: Backlog<T>,
    /// Whether the change it took last was of the initial list; it may still be at work on it.
    initial_in_hand: bool,
}

impl<T> Handler<T> {
    pub(super) fn new(id: HandlerId, filter: Option<Filter<T>>, requested: Duration, backlog_limit: usize) -> Self {
        Self {
            id,
            filter,
            requested,
            period: Duration::ZERO,
            next_resync: Instant::ZERO,
            resyncing: true,
            backlog: Backlog::new(backlog_limit),
            initial_in_hand: false,
        }
    }

    /// Learns the informer's own period.
    pub(super) fn set_check_period(&mut self, check: Duration, now: Instant) {
        self.period =
            if self.requested.is_zero() || check.is_zero() { Duration::ZERO } else { self.requested.max(check) };
        self.next_resync = now + self.period;
    }

    pub(super) fn resync_period(&self) -> Duration {
        self.period
    }

    /// Whether it is time for a resync of this handler, which is then taken as done.
    pub(super) fn take_due_resync(&mut self, now: Instant) -> bool {
        self.resyncing = !self.period.is_zero() && now >= self.next_resync;
        if self.resyncing {
            self.next_resync = now + self.period;
        }
        self.resyncing
    }

    /// Tells of an object that was stored before the handler joined.
    pub(super) fn tell_stored(&mut self, key: Key, object: &Arc<T>) {
        if self.passes(object) {
            self.backlog.push(key, Change::Add { object: Arc::clone(object), initial: true }, true);
        }
    }

    /// Tells of a change. One that only asks to look again is told to those who take part in resyncs.
    ///
    /// Mirrors client-go `tools/cache/shared_informer.go`, `distribute`, and `controller.go`, `FilteringResourceEventHandler`.
    pub(super) fn tell(&mut self, told: &StoreChange<T>, only_look_again: bool) {
        if only_look_again && (self.period.is_zero() || !self.resyncing) {
            return;
        }
        if let Some(change) = self.filtered(told) {
            self.backlog.push(told.key.clone(), change, told.before.is_some());
        }
    }

    /// What the change is to a handler that knows of the objects alone that pass its filter.
    fn filtered(&self, told: &StoreChange<T>) -> Option<Change<T>> {
        let change = &told.change;
        match change {
            Change::Add { object, .. } => self.passes(object).then(|| change.clone()),
            Change::Update { old, new } => match (self.passes(old), self.passes(new)) {
                (true, true) => Some(change.clone()),
                (false, true) => Some(Change::Add { object: Arc::clone(new), initial: false }),
                (true, false) => Some(Change::Delete(Deletion::Observed(Arc::clone(old)))),
                (false, false) => None,
            },
            // The final state may not pass where the state that the handler knows of did.
            Change::Delete(deletion) => {
                let passes = |object: Option<&Arc<T>>| object.is_none_or(|object| self.passes(object));
                (passes(deletion.object()) || told.before.is_some() && passes(told.before.as_ref()))
                    .then(|| change.clone())
            }
        }
    }

    fn passes(&self, object: &T) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter(object))
    }

    pub(super) fn poll_change(&mut self) -> Option<(Key, Change<T>)> {
        let next = self.backlog.pop();
        self.initial_in_hand = matches!(next, Some((_, Change::Add { initial: true, .. })));
        next
    }

    pub(super) fn take_merged(&mut self) -> bool {
        self.backlog.take_merged()
    }

    /// Whether nothing of the initial list is left to take or being worked on.
    pub(super) fn took_initial(&self) -> bool {
        self.backlog.initial() == 0 && !self.initial_in_hand
    }

    pub(super) fn backlog(&self) -> usize {
        self.backlog.len()
    }
}
