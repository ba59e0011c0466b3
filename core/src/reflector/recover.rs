//! What follows: the end of a list, the end of a call, a resync.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::failure::{Cause, Doing, Step, WatchError, next_step};
use super::list::List;
use super::store::ReflectorStore;
use super::{Exchange, Next, Reflector, Round, State};
use crate::object::Decode;
use crate::resource_version::ResourceVersion;
use crate::time::Instant;
use crate::wire::Status;

/// The longest time that a server is heeded when it asks to wait.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
/// How often in a round a streaming list is asked for again at once before a list is asked for instead.
const STREAM_RETRIES: u32 = 10;

impl<T: Decode> Reflector<T> {
    /// A list from the version that is right for it: the last one that was seen; none where that was found to be of no use; before the
    /// first list any.
    ///
    /// Mirrors client-go `tools/cache/reflector.go`, `relistResourceVersion`.
    pub(super) fn relist(&self) -> List<T> {
        let version = if self.unavailable {
            ResourceVersion::NONE
        } else if self.last_sync.is_none() {
            ResourceVersion::ZERO
        } else {
            self.last_sync.clone()
        };
        List::new(&self.config, version, self.paged)
    }

    /// Hands a whole list to the store. The resyncs of the round begin.
    pub(super) fn complete<S: ReflectorStore<T>>(
        &mut self,
        now: Instant,
        objects: Vec<Arc<T>>,
        version: ResourceVersion,
        store: &mut S,
    ) -> Result<(), Cause> {
        self.unavailable = false;
        store.replace(objects, &version).map_err(|e| Cause::Store(e.to_string()))?;
        self.last_sync = version;
        self.synced = true;
        self.schedule_resync(now);
        Ok(())
    }

    /// Goes on from a page to the next.
    pub(super) fn ask_for_next_page(&mut self) {
        if let State::InFlight { exchange: Exchange::List { list, .. }, .. } = self.take_state() {
            self.ask(None, Next::List(list));
        }
    }

    /// Goes on from a list to a watch.
    pub(super) fn watch_now(&mut self) {
        self.ask(None, Next::Watch);
    }

    pub(super) fn resync<S: ReflectorStore<T>>(&mut self, now: Instant, store: &mut S) {
        let result = if store.should_resync() { store.resync() } else { Ok(()) };
        match result.map_err(|e| Cause::Store(e.to_string())) {
            Ok(()) => self.schedule_resync(now),
            Err(cause) => {
                self.round.resync = None;
                match &self.state {
                    State::InFlight { exchange: Exchange::Watch { answer, .. }, .. } if answer.is_open() => {
                        self.give_up(now, cause);
                    }
                    // As client-go, which looks for such an error only while a watch is open.
                    _ => self.round.resync_error = Some(cause),
                }
            }
        }
    }

    fn schedule_resync(&mut self, now: Instant) {
        let period = self.config.resync_period;
        self.round.resync = (!period.is_zero()).then(|| now + period);
    }

    /// The call is over for us, though not for the server.
    pub(super) fn give_up(&mut self, now: Instant, cause: Cause) {
        self.cancel_call();
        self.conclude(now, cause);
    }

    pub(super) fn cancel_call(&mut self) {
        if let State::InFlight { id, .. } = self.state {
            self.cancel = Some(id);
        }
    }

    /// The call is over.
    pub(super) fn conclude(&mut self, now: Instant, cause: Cause) {
        if let State::InFlight { exchange, .. } = &self.state {
            let doing = exchange.doing();
            self.conclude_as(now, doing, cause);
        }
    }

    /// The call is over; looks up what follows, and does it.
    pub(super) fn conclude_as(&mut self, now: Instant, doing: Doing, cause: Cause) {
        let list = match self.take_state() {
            State::InFlight { exchange: Exchange::List { list, .. }, .. } => Some(list),
            _ => None,
        };
        let cause = match cause {
            Cause::Status(status) if doing == Doing::Watching => self.watch_status(now, status),
            Cause::Status(status) if status.reason == "Expired" && list.as_ref().is_some_and(List::is_later_page) => {
                Cause::TokenExpired(status)
            }
            cause => cause,
        };
        let step = match next_step(doing, &cause, self.config.recovery) {
            step @ (Step::StreamNow | Step::StreamUnpinned)
                if self.round.stream_retries == STREAM_RETRIES || !self.pace.take(now) =>
            {
                self.unavailable |= step == Step::StreamUnpinned;
                Step::ListNow
            }
            step => step,
        };
        match (step, list) {
            (Step::ListInFull, Some(list)) => self.ask(None, Next::List(list.into_full())),
            (Step::ListUnpinned, Some(list)) => {
                self.unavailable = true;
                self.ask(None, Next::List(list.into_unpinned()));
            }
            (Step::StreamNow | Step::StreamUnpinned, _) => {
                self.round.stream_retries += 1;
                self.unavailable |= step == Step::StreamUnpinned;
                self.ask(None, Next::Stream);
            }
            (Step::ListNow, _) => self.ask(None, Next::List(self.relist())),
            (Step::ResumeNow, _) => {
                let until = if self.pace.take(now) { None } else { Some(self.back_off(now, &cause)) };
                self.ask(until, Next::Watch);
            }
            (Step::Resume, _) => {
                let until = self.back_off(now, &cause);
                self.ask(Some(until), if doing == Doing::Streaming { Next::Stream } else { Next::Watch });
            }
            (Step::NewRound | Step::NewRoundUnpinned | Step::ListInFull | Step::ListUnpinned, _) => {
                self.unavailable |= step == Step::NewRoundUnpinned;
                self.round = Round::new(&self.config);
                let until = self.back_off(now, &cause);
                self.ask(Some(until), Next::Round);
            }
        }
        if cause != Cause::Closed {
            let error = WatchError { doing, cause, step: Some(step) };
            log::debug!("{}: {error}; {step:?}", self.config.resource.plural);
            self.error = Some(error);
        }
    }

    /// Mirrors client-go `tools/cache/reflector.go`, `watch`: internal errors may be retried at once for a while.
    fn watch_status(&mut self, now: Instant, status: Box<Status>) -> Cause {
        if status.is_internal_error() {
            self.round.internal_errors.handle_error(now);
            if !status.is_expired() && !status.is_too_many_requests() && self.round.internal_errors.should_retry(now) {
                return Cause::InternalError(status);
            }
        }
        Cause::Status(status)
    }

    fn back_off(&mut self, now: Instant, cause: &Cause) -> Instant {
        let delay = self.backoff.next_delay(now, &mut self.random);
        now + delay.max(cause.retry_after().min(RETRY_AFTER_MAX))
    }

    fn ask(&mut self, until: Option<Instant>, next: Next<T>) {
        self.state = State::Waiting { until, next };
    }

    fn take_state(&mut self) -> State<T> {
        core::mem::replace(&mut self.state, State::Waiting { until: None, next: Next::Round })
    }
}
