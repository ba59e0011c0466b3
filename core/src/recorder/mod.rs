//! The recorder: events of the controllers, written to the API server.
//!
//! What is recorded waits in a queue and is written one event after the other, so a controller never waits for its events. Of many like events
//! few are written, as client-go's correlator does. The bounds are of [`Limits`]; an event is lost only if
//!
//! * [`Limits::events_waiting`] others wait when it is recorded,
//! * its object has had 25 events of its type and reason and no five minutes to earn another,
//! * the server refuses it (4xx), or
//! * the server does not take it in twelve tries, ten seconds apart.
//!
//! Mirrors client-go `tools/record/event.go`, except that an error of the server (5xx) is tried again like a lost connection.

mod correlator;
mod event;
mod lru;
mod wire;

use alloc::collections::VecDeque;
use core::time::Duration;

pub use event::{Event, EventType, ObjectReference};

use crate::limits::Limits;
use crate::rand::SplitMix64;
use crate::request::{Outcome, Request};
use crate::time::{Instant, Now};
use crate::wire::Status;
use correlator::{Correlator, Entry};

/// How often one event is tried (`maxTriesPerEvent`).
const TRIES: u32 = 12;
/// The pause between two tries (`defaultSleepDuration`); the first is shortened at random.
const PAUSE: Duration = Duration::from_secs(10);

/// Writes events, one at a time.
#[derive(Debug)]
pub struct Recorder {
    limits: Limits,
    correlator: Correlator,
    random: SplitMix64,
    waiting: VecDeque<(Event, Now)>,
    current: Option<Current>,
    dropped: u64,
}

/// The event that is being written.
#[derive(Debug)]
struct Current {
    entry: Entry,
    /// Whether the event written before is to be changed. Not any more once it turned out to be gone.
    patch: bool,
    tries: u32,
    /// When it may be tried.
    at: Instant,
    in_flight: bool,
}

impl Recorder {
    /// A recorder that has written nothing. `seed` spreads the first retries of many recorders.
    pub fn new(limits: Limits, seed: u64) -> Self {
        Self {
            correlator: Correlator::new(&limits),
            limits,
            random: SplitMix64::new(seed),
            waiting: VecDeque::new(),
            current: None,
            dropped: 0,
        }
    }

    /// Takes an event that has just happened. Never fails: if too many wait, the event is dropped and counted.
    pub fn record(&mut self, mut event: Event, now: Now) {
        if self.waiting.len() >= self.limits.events_waiting {
            self.dropped = self.dropped.saturating_add(1);
            log::debug!("too many events wait, dropping {}: {}", event.reason, event.message);
            return;
        }
        let bound = event.message.floor_char_boundary(self.limits.event_message_bytes);
        event.message.truncate(bound);
        self.waiting.push_back((event, now));
    }

    /// The next request, if one is to be made now. Its outcome must be told before there is another.
    ///
    /// Work is in proportion to the events that are passed over because there were too many like them.
    pub fn poll_request(&mut self, now: Now) -> Option<Request> {
        if self.current.is_none() {
            self.current = self.next_entry();
        }
        let current = self.current.as_mut()?;
        if current.in_flight || current.at > now.instant {
            return None;
        }
        current.in_flight = true;
        current.tries += 1;
        Some(if current.patch { current.entry.patch_request() } else { current.entry.create_request() })
    }

    /// Takes the outcome of the request that was made.
    pub fn handle_outcome(&mut self, outcome: Outcome, now: Now) {
        let Some(mut current) = self.current.take().filter(|current| current.in_flight) else { return };
        current.in_flight = false;
        let words = (&current.entry.event.reason, &current.entry.event.message);
        match &outcome {
            Outcome::Response(answer) if (200..300).contains(&answer.head.status) => return,
            Outcome::Response(answer) if answer.head.status < 500 => {
                let status = Status::of_answer(answer.head.status, &answer.body);
                if current.patch && status.is_not_found() {
                    // It has been removed, as events are after an hour. It is written anew with its count.
                    current.patch = false;
                    self.current = Some(current);
                } else if status.code == 409 || status.has_cause("NamespaceTerminating") {
                    log::trace!("the server rejected event {words:?}: {status}");
                } else {
                    log::error!("the server rejected event {words:?}, not trying again: {status}");
                }
                return;
            }
            Outcome::Failed(failure) => log::warn!("could not write event {words:?}: {failure}"),
            Outcome::Response(answer) => log::warn!("could not write event {words:?}: {answer:?}"),
        }
        if current.tries >= TRIES {
            log::error!("could not write event {words:?} in {TRIES} tries, dropping it");
            self.dropped = self.dropped.saturating_add(1);
            return;
        }
        let pause = if current.tries == 1 { PAUSE.mul_f64(self.random.next_unit()) } else { PAUSE };
        current.at = now.instant + pause;
        self.current = Some(current);
    }

    /// When [`poll_request`](Self::poll_request) has something to give, if no request is in flight and nothing else happens before.
    pub fn next_deadline(&self) -> Option<Instant> {
        match &self.current {
            Some(current) => (!current.in_flight).then_some(current.at),
            None => self.waiting.front().map(|(_, now)| now.instant),
        }
    }

    /// How many events were dropped because too many waited or the server did not take them.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many events wait to be written, that which is being written not counted: at most [`Limits::events_waiting`].
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How much is remembered of what was written: entries of the largest of its tables, at most [`Limits::events_remembered`].
    pub fn remembered(&self) -> usize {
        self.correlator.remembered()
    }

    /// Whether all that was recorded has been written, or given up.
    pub fn is_idle(&self) -> bool {
        self.current.is_none() && self.waiting.is_empty()
    }

    /// The next event that is not one too many.
    fn next_entry(&mut self) -> Option<Current> {
        loop {
            let (event, now) = self.waiting.pop_front()?;
            let Some(entry) = self.correlator.correlate(event, now) else { continue };
            let patch = entry.count > 1;
            return Some(Current { entry, patch, tries: 0, at: Instant::ZERO, in_flight: false });
        }
    }
}

#[cfg(test)]
mod tests;
