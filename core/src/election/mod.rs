//! Leader election: of several processes one at a time leads, by holding a lease.
//!
//! ```text
//!            ┌────────── not ours ──────────┐
//!            ▼                              │
//! Waiting ── read ── free or ended ── claim ┴─► Leading ── renew, renew, … ──► Lost
//! ```
//!
//! A candidate reads the lease every retry period, and claims it when it is free, or when for the whole lease duration it has not changed: no
//! clock but its own monotonic one counts, so clocks may differ as they like, as long as they run at the same speed. A leader
//! renews it every retry period. It leads until the renew deadline after it *sent* the last renewal that succeeded, which is before anybody
//! else can have seen that renewal, and the renew deadline is shorter than the lease duration: so it knows that it has lost before
//! the next one can know that it may lead. A leader that has lost never leads again; its process is to end.
//!
//! A lease whose version has gone back shows that the server was put back to an earlier state, or replaced. No watch tells of that, as each waits for what comes
//! after a version that is long to come; so a leader has lost then, too, and the next one lists everything anew.
//!
//! Mirrors client-go `tools/leaderelection/leaderelection.go` and `resourcelock/leaselock.go`. `differences` in the crate's documentation says
//! where it is stricter.

mod config;
mod lease;
mod outcome;

use alloc::string::String;
use core::time::Duration;

pub use config::{Config, InvalidTiming, Timing};

use crate::error::Misuse;
use crate::object::Resource;
use crate::rand::SplitMix64;
use crate::recorder::Event;
use crate::request::{Call, CallId, CallIds, Collector, Encoding, Failure, Head, Outcome, Request};
use crate::resource_version::ResourceVersion;
use crate::time::{Instant, Now, Timestamp};
use config::JITTER;
use lease::{Claim, Lease};

/// The longest answer that is taken for a lease.
const ANSWER_BYTES: usize = 1 << 20;
/// A call may take half of the renew deadline, but not less than this (client-go `resourcelock/interface.go`, `NewFromKubeconfig`).
const CALL_TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// Where a candidate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It leads, and may act until then.
    Leading {
        /// When it has lost, if no renewal succeeds before.
        until: Instant,
    },
    /// It has led, and will not again: the lease could not be renewed, went to another, or was given back.
    Lost,
    /// Somebody else leads, or nobody yet.
    Waiting,
}

/// A candidate for a lease, and its holder while it leads.
///
/// One call at a time is in flight. Each method does a bounded amount of work; the memory is that of one lease.
#[derive(Debug)]
pub struct Elector {
    config: Config,
    random: SplitMix64,
    standing: Standing,
    /// The lease as it was last seen, and when it was first seen to say this.
    observed: Option<(Lease, Instant)>,
    /// The version that it had then; it is kept when the lease is gone.
    version: ResourceVersion,
    next: Option<(Instant, Step)>,
    in_flight: Option<InFlight>,
    cancel: Option<CallId>,
    elected: Option<Event>,
    /// What was said last about what is wrong; none when all is well.
    complaint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Claim or renew the lease as it was last seen.
    Claim {
        then: Fallback,
    },
    Create,
    Read,
    Release,
}

/// What to do if a claim fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fallback {
    /// Read the lease at once: it may only have changed since.
    Read,
    /// Wait until the next try.
    Wait,
}

#[derive(Debug)]
struct InFlight {
    id: CallId,
    step: Step,
    sent: Instant,
    deadline: Instant,
    answer: Collector,
}

impl Elector {
    /// A candidate that has not looked yet.
    pub fn new(config: Config) -> Self {
        Self {
            random: SplitMix64::new(config.seed),
            standing: Standing::Waiting,
            observed: None,
            version: ResourceVersion::NONE,
            next: Some((Instant::ZERO, Step::Read)),
            in_flight: None,
            cancel: None,
            elected: None,
            complaint: None,
            config,
        }
    }

    /// The next call to make, if one is to be made now.
    pub fn poll_call(&mut self, now: Now, ids: &mut CallIds) -> Option<Call> {
        self.expire(now.instant);
        if self.in_flight.is_some() || self.cancel.is_some() {
            return None;
        }
        let (_, step) = self.next.take_if(|(at, _)| *at <= now.instant)?;
        let request = self.request(step, now.wall);
        let (id, sent) = (ids.next_id(), now.instant);
        let longest = sent + (self.config.timing.renew_deadline() / 2).max(CALL_TIMEOUT_MIN);
        let deadline = match self.standing {
            // An answer after that would be of no use.
            Standing::Leading { until } => longest.min(until),
            Standing::Lost | Standing::Waiting => longest,
        };
        self.in_flight = Some(InFlight { id, step, sent, deadline, answer: Collector::new(ANSWER_BYTES) });
        Some(Call { id, request, watch: false, accept: Encoding::Json, deadline })
    }

    /// A call that was given up: nobody need report on it any more.
    pub fn poll_cancel(&mut self) -> Option<CallId> {
        self.cancel.take()
    }

    /// The news that this candidate leads, once each time, to be recorded.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.elected.take()
    }

    /// Takes the head of an answer.
    ///
    /// # Errors
    /// The call is not in flight ([`Misuse::UnknownCall`]).
    pub fn handle_head(&mut self, id: CallId, head: Head) -> Result<(), Misuse> {
        self.in_flight(id)?.answer.handle_head(head);
        Ok(())
    }

    /// Takes a piece of the body.
    ///
    /// # Errors
    /// The call is not in flight ([`Misuse::UnknownCall`]).
    pub fn handle_body(&mut self, id: CallId, bytes: &[u8]) -> Result<(), Misuse> {
        self.in_flight(id)?.answer.handle_body(bytes);
        Ok(())
    }

    /// Takes the end of a call: `failure` is none if the answer is whole.
    ///
    /// # Errors
    /// The call is not in flight ([`Misuse::UnknownCall`]).
    pub fn handle_end(&mut self, now: Now, id: CallId, failure: Option<Failure>) -> Result<(), Misuse> {
        self.in_flight(id)?;
        self.expire(now.instant);
        if let Some(InFlight { step, sent, answer, .. }) = self.in_flight.take() {
            let outcome = failure.map_or_else(|| answer.finish(), Outcome::Failed);
            self.handle_outcome(now, step, sent, outcome);
        }
        Ok(())
    }

    /// Does what is due. Calling early is harmless.
    pub fn handle_timeout(&mut self, now: Now) {
        self.expire(now.instant);
        if let Some(InFlight { id, step, sent, .. }) = self.in_flight.take_if(|call| call.deadline <= now.instant) {
            self.cancel = Some(id);
            self.handle_outcome(now, step, sent, Outcome::Failed(Failure::TimedOut));
        }
    }

    /// Stands no more, and gives up what is in flight. With `give_back`, a leader whose [`Config`] says so gives the lease back; to be asked for only
    /// when the leader will not act any more and nothing that it has sent may still take effect. See [`is_done`](Self::is_done).
    pub fn resign(&mut self, now: Now, give_back: bool) {
        self.expire(now.instant);
        if let Some(call) = self.in_flight.take() {
            // A renewal that arrives late finds the lease changed, as it names the version that it renews.
            self.cancel = Some(call.id);
        }
        let leading = matches!(self.standing, Standing::Leading { .. });
        self.standing = Standing::Lost;
        self.next = (leading && give_back && self.config.release).then_some((now.instant, Step::Release));
    }

    /// When [`handle_timeout`](Self::handle_timeout) and [`poll_call`](Self::poll_call) have something to do next.
    pub fn next_deadline(&self) -> Option<Instant> {
        let lost = match self.standing {
            Standing::Leading { until } => Some(until),
            Standing::Lost | Standing::Waiting => None,
        };
        let call = self.call_deadline().or_else(|| self.next.map(|(at, _)| at));
        [lost, call].into_iter().flatten().min()
    }

    /// When the call in flight is given up, if there is one.
    pub fn call_deadline(&self) -> Option<Instant> {
        self.in_flight.as_ref().map(|call| call.deadline)
    }

    /// Where the candidate stands at this moment.
    pub fn standing(&self, now: Instant) -> Standing {
        match self.standing {
            Standing::Leading { until } if until <= now => Standing::Lost,
            standing => standing,
        }
    }

    /// Whether nothing is in flight, and nothing will be.
    pub fn is_done(&self) -> bool {
        self.in_flight.is_none() && self.next.is_none() && self.cancel.is_none()
    }

    /// Who holds the lease, as it was last seen; empty if nobody does or it was not seen yet.
    pub fn holder(&self) -> &str {
        self.observed.as_ref().map_or("", |(lease, _)| lease.holder())
    }

    /// What the candidate was told.
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn in_flight(&mut self, id: CallId) -> Result<&mut InFlight, Misuse> {
        self.in_flight.as_mut().filter(|call| call.id == id).ok_or(Misuse::UnknownCall)
    }

    fn request(&self, step: Step, now: Timestamp) -> Request {
        let config = &self.config;
        match (step, &self.observed) {
            (Step::Claim { .. }, Some((lease, _))) => lease.update(config, &lease.claim(config, now)),
            (Step::Release, Some((lease, _))) => lease.update(config, &lease.give_back(now)),
            (Step::Create, _) => Claim::first(config, now).create(config),
            _ => Request::get(Resource::LEASES.object_path(&config.namespace, &config.name, "")),
        }
    }

    /// Waits until the next try. Candidates wait longer by chance, so that they do not all try at once.
    fn wait(&mut self, now: Instant, step: Step) {
        let period = self.config.timing.retry_period();
        let pause = match self.standing {
            Standing::Waiting => period.mul_f64(1.0 + JITTER * self.random.next_unit()),
            Standing::Leading { .. } | Standing::Lost => period,
        };
        self.next = Some((now + pause, step));
    }

    fn expire(&mut self, now: Instant) {
        if matches!(self.standing, Standing::Leading { until } if until <= now) {
            log::error!("could not renew the lease {} in time", self.config.name);
            self.lose();
        }
    }

    fn lose(&mut self) {
        self.standing = Standing::Lost;
        self.next = None;
        if let Some(call) = self.in_flight.take() {
            self.cancel = Some(call.id);
        }
    }
}

#[cfg(test)]
mod tests;
