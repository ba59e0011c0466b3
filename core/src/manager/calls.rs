//! The short calls: those in flight, and those that the server has asked to be made again later.

use alloc::collections::BTreeMap;

use super::ClientLimits;
use super::limiter::Limiter;
use crate::limits::Limits;
use crate::request::{Call, CallId, CallIds, Collector, Encoding, Failure, Head, Outcome, RETRIES, Request, pause};
use crate::time::Instant;

/// Short calls, each for someone (`W`) who waits for its outcome.
///
/// A call that is refused because the server is busy (429, or 503 with `Retry-After`) has not been acted on, so it is made again,
/// with the same body, after the pause that the server asks for; its owner does not notice. Nothing else is ever repeated here:
/// of a call that was cut or timed out nobody knows whether the server has acted.
///
/// Mirrors client-go `rest/with_retry.go`, for the answers that say by themselves that nothing was done.
#[derive(Debug)]
pub(crate) struct Calls<W> {
    in_flight: BTreeMap<CallId, InFlight<W>>,
    /// Calls to be made later, by when and by an id of their own: their first turn has not come, or the server was busy.
    paused: BTreeMap<(Instant, CallId), Waiting<W>>,
    limiter: Limiter,
    limits: Limits,
    latest: Option<Instant>,
}

/// A call that waits for its turn or for its outcome.
#[derive(Debug)]
struct Waiting<W> {
    request: Request,
    tries: u32,
    /// Whether the limiter has let it through.
    admitted: bool,
    owner: W,
}

#[derive(Debug)]
struct InFlight<W> {
    call: Waiting<W>,
    deadline: Instant,
    answer: Collector,
}

impl<W> Calls<W> {
    pub(crate) fn new(limits: Limits, client_limits: Option<ClientLimits>) -> Self {
        Self {
            in_flight: BTreeMap::new(),
            paused: BTreeMap::new(),
            limiter: Limiter::new(client_limits),
            limits,
            latest: None,
        }
    }

    /// From now on no call has a later deadline: after it whoever makes the calls may not act any more, also if it finds out late.
    pub(crate) fn end_by(&mut self, latest: Option<Instant>) {
        self.latest = latest;
    }

    /// Makes a call, unless the limiter lets it wait: then [`poll_due`](Self::poll_due) makes it.
    pub(crate) fn begin(&mut self, now: Instant, ids: &mut CallIds, request: Request, owner: W) -> Option<Call> {
        self.admit(now, ids, Waiting { request, tries: 0, admitted: false, owner })
    }

    /// A call whose time has come.
    pub(crate) fn poll_due(&mut self, now: Instant, ids: &mut CallIds) -> Option<Call> {
        loop {
            let due = self.paused.first_entry().filter(|entry| entry.key().0 <= now)?;
            let waiting = due.remove();
            if let Some(call) = self.admit(now, ids, waiting) {
                return Some(call);
            }
        }
    }

    /// A call that took too long: it is in flight no more, and its outcome is [`Failure::TimedOut`].
    pub(crate) fn poll_overdue(&mut self, now: Instant) -> Option<(CallId, W, Outcome)> {
        let (&id, _) = self.in_flight.iter().find(|(_, call)| call.deadline <= now)?;
        let call = self.in_flight.remove(&id)?;
        Some((id, call.call.owner, Outcome::Failed(Failure::TimedOut)))
    }

    /// The next call to give up when nobody waits for its outcome any more: one that took too long, or after `until` any. None is begun or made again.
    pub(crate) fn poll_abandoned(&mut self, now: Instant, until: Instant) -> Option<CallId> {
        self.paused.clear();
        let (&id, _) = self.in_flight.iter().find(|(_, call)| call.deadline.min(until) <= now)?;
        self.in_flight.remove(&id).map(|_| id)
    }

    /// Takes the head of an answer. `false` if the call is not one of these.
    pub(crate) fn handle_head(&mut self, id: CallId, head: Head) -> bool {
        self.in_flight.get_mut(&id).map(|call| call.answer.handle_head(head)).is_some()
    }

    /// Takes a piece of a body. `false` if the call is not one of these.
    pub(crate) fn handle_body(&mut self, id: CallId, bytes: &[u8]) -> bool {
        self.in_flight.get_mut(&id).map(|call| call.answer.handle_body(bytes)).is_some()
    }

    /// Takes the end of a call: `failure` is none if the answer is whole. Says who waits for which outcome, if it is not to be made
    /// again.
    ///
    /// # Errors
    /// The call is not one of these.
    pub(crate) fn handle_end(
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
                self.paused.insert((now + pause, id), Waiting { tries: call.tries + 1, admitted: false, ..call });
                None
            }
            None => Some((call.owner, outcome)),
        })
    }

    /// Whether another call may be made now.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight.len() + self.paused.len() < self.limits.calls_in_flight
    }

    /// Whether no call is in flight or paused.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.paused.is_empty()
    }

    /// When something here is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let paused = self.paused.first_key_value().map(|((until, _), _)| *until);
        self.in_flight.values().map(|call| call.deadline).chain(paused).min()
    }

    /// Sends a call or lets it wait for its turn.
    fn admit(&mut self, now: Instant, ids: &mut CallIds, call: Waiting<W>) -> Option<Call> {
        let at = if call.admitted { now } else { self.limiter.admit(now) };
        if at > now {
            self.paused.insert((at, ids.next_id()), Waiting { admitted: true, ..call });
            return None;
        }
        Some(self.send(now, ids, call))
    }

    fn send(&mut self, now: Instant, ids: &mut CallIds, call: Waiting<W>) -> Call {
        let deadline = now + self.limits.call_timeout;
        let (id, deadline) = (ids.next_id(), self.latest.map_or(deadline, |latest| deadline.min(latest)));
        let request = call.request.clone();
        self.in_flight.insert(id, InFlight { call, deadline, answer: Collector::new(self.limits.answer_bytes) });
        Call { id, request, watch: false, accept: Encoding::Json, deadline }
    }
}

/// The call is not in flight.
#[derive(Debug)]
pub(crate) struct NotInFlight;

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::request::PAUSE_MIN;

    fn busy(status: u16, seconds: Option<u64>) -> Head {
        Head { retry_after: seconds.map(Duration::from_secs), ..Head::new(status) }
    }

    fn end(calls: &mut Calls<()>, now: Instant, id: CallId, head: Head) -> Option<Outcome> {
        assert!(calls.handle_head(id, head));
        calls.handle_end(now, id, None).unwrap().map(|((), outcome)| outcome)
    }

    #[test]
    fn a_busy_server_is_asked_again_with_the_same_request_after_the_pause_it_names() {
        let (mut calls, mut ids) = (Calls::new(Limits::default(), None), CallIds::default());
        let request = Request::get("/api/v1/pods".into());
        let mut call = calls.begin(Instant::ZERO, &mut ids, request.clone(), ()).unwrap();
        let mut now = Instant::ZERO;
        for (hint, pause) in [(Some(7), 7), (Some(0), 1), (None, 1), (Some(86_400), 60)] {
            assert_eq!(end(&mut calls, now, call.id, busy(429, hint)), None);
            assert_eq!(calls.next_deadline(), Some(now + Duration::from_secs(pause)));
            assert_eq!(calls.poll_due(now, &mut ids), None);
            now += Duration::from_secs(pause);
            call = calls.poll_due(now, &mut ids).unwrap();
            assert_eq!(call.request, request);
        }
        let outcome = end(&mut calls, now, call.id, busy(201, None));
        assert!(matches!(outcome, Some(Outcome::Response(response)) if response.head.status == 201));
        assert!(calls.is_empty());
    }

    #[test]
    fn the_repetitions_are_counted() {
        let (mut calls, mut ids) = (Calls::new(Limits::default(), None), CallIds::default());
        let mut call = calls.begin(Instant::ZERO, &mut ids, Request::get("/".into()), ()).unwrap();
        let mut now = Instant::ZERO;
        for _ in 0..RETRIES {
            assert_eq!(end(&mut calls, now, call.id, busy(503, Some(1))), None);
            now += PAUSE_MIN;
            call = calls.poll_due(now, &mut ids).unwrap();
        }
        assert!(end(&mut calls, now, call.id, busy(503, Some(1))).is_some());
    }

    #[test]
    fn what_may_have_been_acted_on_is_never_repeated() {
        for failure in [Failure::Cut, Failure::TimedOut, Failure::Refused] {
            let (mut calls, mut ids) = (Calls::new(Limits::default(), None), CallIds::default());
            let call = calls.begin(Instant::ZERO, &mut ids, Request::get("/".into()), ()).unwrap();
            let ended = calls.handle_end(Instant::ZERO, call.id, Some(failure)).unwrap();
            assert_eq!(ended, Some(((), Outcome::Failed(failure))));
        }
        let (mut calls, mut ids) = (Calls::new(Limits::default(), None), CallIds::default());
        let call = calls.begin(Instant::ZERO, &mut ids, Request::get("/".into()), ()).unwrap();
        assert!(end(&mut calls, Instant::ZERO, call.id, busy(500, Some(1))).is_some());
    }

    #[test]
    fn a_silent_call_ends_at_its_deadline() {
        let (mut calls, mut ids) = (Calls::new(Limits::default(), None), CallIds::default());
        let call = calls.begin(Instant::ZERO, &mut ids, Request::get("/".into()), 'w').unwrap();
        assert!(calls.poll_overdue(Instant::ZERO).is_none());
        let ended = calls.poll_overdue(call.deadline).unwrap();
        assert_eq!(ended, (call.id, 'w', Outcome::Failed(Failure::TimedOut)));
        assert!(calls.handle_end(call.deadline, call.id, None).is_err());
    }

    #[test]
    fn a_call_beyond_the_burst_waits_for_its_turn_and_repetitions_count() {
        let limits = ClientLimits { qps: 2.0, burst: 2 };
        let (mut calls, mut ids) = (Calls::new(Limits::default(), Some(limits)), CallIds::default());
        let now = Instant::ZERO;
        let request = |n: u32| Request::get(alloc::format!("/{n}"));
        let first = calls.begin(now, &mut ids, request(1), ()).unwrap();
        assert!(calls.begin(now, &mut ids, request(2), ()).is_some());
        for late in [3, 4] {
            assert_eq!(calls.begin(now, &mut ids, request(late), ()), None);
        }
        assert_eq!(end(&mut calls, now, first.id, busy(429, Some(1))), None);
        assert_eq!(calls.next_deadline(), Some(Instant::from_millis(500)));
        assert_eq!(calls.poll_due(now, &mut ids), None);
        let third = calls.poll_due(Instant::from_millis(500), &mut ids).unwrap();
        assert_eq!(third.request, request(3));
        // The time that a call may take begins when it is sent.
        assert_eq!(third.deadline, Instant::from_millis(500) + Limits::default().call_timeout);
        // After a second both tokens of that second are taken, so the repetition waits for the next.
        assert_eq!(calls.poll_due(Instant::from_millis(1000), &mut ids).map(|call| call.request), Some(request(4)));
        assert_eq!(calls.poll_due(Instant::from_millis(1000), &mut ids), None);
        assert_eq!(calls.poll_due(Instant::from_millis(1500), &mut ids).map(|call| call.request), Some(request(1)));
    }
}
