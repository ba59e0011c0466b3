//! The short calls: those in flight, and those that the server has asked to be made again later.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::limits::Limits;
use crate::request::{Call, CallId, CallIds, Collector, Failure, Head, Outcome, Request};
use crate::time::Instant;

/// How often a call is made again because the server had no time for it (client-go `rest/with_retry.go`, ten retries).
const RETRIES: u32 = 10;
/// The shortest pause before such a call is made again, also where the server names none or zero.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest pause that a server is heeded with.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Short calls, each for someone (`W`) who waits for its outcome.
///
/// A call that is refused because the server is busy (429, or 503 with `Retry-After`) has not been acted on, so it is made again,
/// with the same body, after the pause that the server asks for; its owner does not notice. Nothing else is ever repeated here:
/// of a call that was cut or timed out nobody knows whether the server has acted.
///
/// Mirrors client-go `rest/with_retry.go`, for the answers that say by themselves that nothing was done.
#[derive(Debug)]
pub(super) struct Calls<W> {
    in_flight: BTreeMap<CallId, InFlight<W>>,
    /// Calls to be made again, by when and by the id of their last try.
    paused: BTreeMap<(Instant, CallId), Waiting<W>>,
    limits: Limits,
}

/// A call that waits for its turn or for its outcome.
#[derive(Debug)]
struct Waiting<W> {
    request: Request,
    tries: u32,
    owner: W,
}

#[derive(Debug)]
struct InFlight<W> {
    call: Waiting<W>,
    deadline: Instant,
    answer: Collector,
}

impl<W> Calls<W> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { in_flight: BTreeMap::new(), paused: BTreeMap::new(), limits }
    }

    /// Makes a call.
    pub(super) fn begin(&mut self, now: Instant, ids: &mut CallIds, request: Request, owner: W) -> Call {
        self.send(now, ids, Waiting { request, tries: 0, owner })
    }

    /// A call whose pause is over, made again.
    pub(super) fn poll_again(&mut self, now: Instant, ids: &mut CallIds) -> Option<Call> {
        let due = self.paused.first_entry().filter(|entry| entry.key().0 <= now)?;
        let waiting = due.remove();
        Some(self.send(now, ids, waiting))
    }

    /// A call that took too long: it is in flight no more, and its outcome is [`Failure::TimedOut`].
    pub(super) fn poll_overdue(&mut self, now: Instant) -> Option<(CallId, W, Outcome)> {
        let (&id, _) = self.in_flight.iter().find(|(_, call)| call.deadline <= now)?;
        let call = self.in_flight.remove(&id)?;
        Some((id, call.call.owner, Outcome::Failed(Failure::TimedOut)))
    }

    /// Takes any call out of flight, when nobody will wait for it any more.
    pub(super) fn poll_abandoned(&mut self) -> Option<CallId> {
        self.in_flight.pop_first().map(|(id, _)| id)
    }

    /// Makes no call again.
    pub(super) fn forget_paused(&mut self) {
        self.paused.clear();
    }

    /// Takes the head of an answer. `false` if the call is not one of these.
    pub(super) fn handle_head(&mut self, id: CallId, head: Head) -> bool {
        self.in_flight.get_mut(&id).map(|call| call.answer.handle_head(head)).is_some()
    }

    /// Takes a piece of a body. `false` if the call is not one of these.
    pub(super) fn handle_body(&mut self, id: CallId, bytes: &[u8]) -> bool {
        self.in_flight.get_mut(&id).map(|call| call.answer.handle_body(bytes)).is_some()
    }

    /// Takes the end of a call: `failure` is none if the answer is whole. Says who waits for which outcome, if it is not to be made
    /// again.
    ///
    /// # Errors
    /// The call is not one of these.
    pub(super) fn handle_end(
        &mut self,
        now: Instant,
        id: CallId,
        failure: Option<Failure>,
    ) -> Result<Option<(W, Outcome)>, NotInFlight> {
        let InFlight { call, answer, .. } = self.in_flight.remove(&id).ok_or(NotInFlight)?;
        let outcome = failure.map_or_else(|| answer.finish(), Outcome::Failed);
        Ok(match pause(&outcome).filter(|_| call.tries < RETRIES) {
            Some(pause) => {
                log::debug!("{:?}: the server is busy, again in {pause:?}", call.request);
                self.paused.insert((now + pause, id), Waiting { tries: call.tries + 1, ..call });
                None
            }
            None => Some((call.owner, outcome)),
        })
    }

    /// Whether another call may be made now.
    pub(super) fn has_room(&self) -> bool {
        self.in_flight.len() + self.paused.len() < self.limits.calls_in_flight
    }

    /// Whether no call is in flight or paused.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.paused.is_empty()
    }

    /// When something here is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let paused = self.paused.first_key_value().map(|((until, _), _)| *until);
        self.in_flight.values().map(|call| call.deadline).chain(paused).min()
    }

    fn send(&mut self, now: Instant, ids: &mut CallIds, call: Waiting<W>) -> Call {
        let (id, deadline) = (ids.next_id(), now + self.limits.call_timeout);
        let request = call.request.clone();
        self.in_flight.insert(id, InFlight { call, deadline, answer: Collector::new(self.limits.answer_bytes) });
        Call { id, request, watch: false, deadline }
    }
}

/// The call is not in flight.
#[derive(Debug)]
pub(super) struct NotInFlight;

/// How long a server that was too busy to act wants the caller to wait; none if it did not say that it was.
fn pause(outcome: &Outcome) -> Option<Duration> {
    let Outcome::Response(response) = outcome else { return None };
    match (response.head.status, response.head.retry_after) {
        (429, hint) => Some(hint.unwrap_or(PAUSE_MIN).clamp(PAUSE_MIN, PAUSE_MAX)),
        (503, Some(hint)) => Some(hint.clamp(PAUSE_MIN, PAUSE_MAX)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(status: u16, seconds: Option<u64>) -> Head {
        Head { status, retry_after: seconds.map(Duration::from_secs) }
    }

    fn end(calls: &mut Calls<()>, now: Instant, id: CallId, head: Head) -> Option<Outcome> {
        assert!(calls.handle_head(id, head));
        calls.handle_end(now, id, None).unwrap().map(|((), outcome)| outcome)
    }

    #[test]
    fn a_busy_server_is_asked_again_with_the_same_request_after_the_pause_it_names() {
        let (mut calls, mut ids) = (Calls::new(Limits::default()), CallIds::default());
        let request = Request::get("/api/v1/pods".into());
        let mut call = calls.begin(Instant::ZERO, &mut ids, request.clone(), ());
        let mut now = Instant::ZERO;
        for (hint, pause) in [(Some(7), 7), (Some(0), 1), (None, 1), (Some(86_400), 60)] {
            assert_eq!(end(&mut calls, now, call.id, busy(429, hint)), None);
            assert_eq!(calls.next_deadline(), Some(now + Duration::from_secs(pause)));
            assert_eq!(calls.poll_again(now, &mut ids), None);
            now += Duration::from_secs(pause);
            call = calls.poll_again(now, &mut ids).unwrap();
            assert_eq!(call.request, request);
        }
        let outcome = end(&mut calls, now, call.id, busy(201, None));
        assert!(matches!(outcome, Some(Outcome::Response(response)) if response.head.status == 201));
        assert!(calls.is_empty());
    }

    #[test]
    fn the_repetitions_are_counted() {
        let (mut calls, mut ids) = (Calls::new(Limits::default()), CallIds::default());
        let mut call = calls.begin(Instant::ZERO, &mut ids, Request::get("/".into()), ());
        let mut now = Instant::ZERO;
        for _ in 0..RETRIES {
            assert_eq!(end(&mut calls, now, call.id, busy(503, Some(1))), None);
            now += PAUSE_MIN;
            call = calls.poll_again(now, &mut ids).unwrap();
        }
        assert!(end(&mut calls, now, call.id, busy(503, Some(1))).is_some());
    }

    #[test]
    fn what_may_have_been_acted_on_is_never_repeated() {
        for failure in [Failure::Cut, Failure::TimedOut, Failure::Refused] {
            let (mut calls, mut ids) = (Calls::new(Limits::default()), CallIds::default());
            let call = calls.begin(Instant::ZERO, &mut ids, Request::get("/".into()), ());
            let ended = calls.handle_end(Instant::ZERO, call.id, Some(failure)).unwrap();
            assert_eq!(ended, Some(((), Outcome::Failed(failure))));
        }
        let (mut calls, mut ids) = (Calls::new(Limits::default()), CallIds::default());
        let call = calls.begin(Instant::ZERO, &mut ids, Request::get("/".into()), ());
        assert!(end(&mut calls, Instant::ZERO, call.id, busy(500, Some(1))).is_some());
    }

    #[test]
    fn a_silent_call_ends_at_its_deadline() {
        let (mut calls, mut ids) = (Calls::new(Limits::default()), CallIds::default());
        let call = calls.begin(Instant::ZERO, &mut ids, Request::get("/".into()), 'w');
        assert!(calls.poll_overdue(Instant::ZERO).is_none());
        let ended = calls.poll_overdue(call.deadline).unwrap();
        assert_eq!(ended, (call.id, 'w', Outcome::Failed(Failure::TimedOut)));
        assert!(calls.handle_end(call.deadline, call.id, None).is_err());
    }
}
