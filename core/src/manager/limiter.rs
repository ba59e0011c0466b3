//! The client-side limit: how many requests a second a manager makes.

use alloc::collections::BTreeMap;

use crate::machine::Output;
use crate::request::{Call, CallId};
use crate::time::Instant;
use crate::workqueue::rate::Bucket;

/// How many requests are made: so many a second on average, so many at once. Watches do not count.
///
/// The default is that of kube-controller-manager (`--kube-api-qps=20`, `--kube-api-burst=30`). What the controllers write and what the
/// informers list have such a limit each, as they have a client each there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientLimits {
    /// Requests a second. Must be above zero, or there is nothing after the first burst.
    pub qps: f64,
    /// Requests at once. At least one.
    pub burst: u32,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { qps: 20.0, burst: 30 }
    }
}

/// Says when the next request may be made. Those who ask are served in their order.
///
/// Mirrors client-go `util/flowcontrol/throttle.go`, `NewTokenBucketRateLimiter`, and `rest/request.go`, `tryThrottle`.
#[derive(Debug)]
pub(super) struct Limiter(Option<Bucket>);

impl Limiter {
    pub(super) fn new(limits: Option<ClientLimits>) -> Self {
        Self(limits.map(|limits| Bucket::new(limits.qps, limits.burst.max(1))))
    }

    /// When a request may be made that is wanted now. It counts from then on whether it is made or not.
    pub(super) fn admit(&mut self, now: Instant) -> Instant {
        let reservation = self.0.as_mut().and_then(|bucket| bucket.reserve(now, 1));
        reservation.map_or(now, |reservation| reservation.at())
    }
}

/// Lists that wait until they may be made. There is at most one an informer.
#[derive(Debug)]
pub(super) struct Gate {
    limiter: Limiter,
    held: BTreeMap<(Instant, CallId), Call>,
}

impl Gate {
    pub(super) fn new(limits: Option<ClientLimits>) -> Self {
        Self { limiter: Limiter::new(limits), held: BTreeMap::new() }
    }

    /// Takes what an informer wants done. None if it has to wait, or if it takes back what has waited.
    pub(super) fn pass(&mut self, now: Instant, output: Output) -> Option<Output> {
        match output {
            Output::Call(call) if !call.watch => {
                let at = self.limiter.admit(now);
                if at <= now {
                    return Some(Output::Call(call));
                }
                self.held.insert((at, call.id), call);
                None
            }
            Output::Cancel(id) => {
                let before = self.held.len();
                self.held.retain(|(_, held), _| *held != id);
                (self.held.len() == before).then_some(Output::Cancel(id))
            }
            output => Some(output),
        }
    }

    /// A list that has waited long enough.
    pub(super) fn poll_due(&mut self, now: Instant) -> Option<Call> {
        let due = self.held.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(due.remove())
    }

    /// When the next list may be made.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.held.first_key_value().map(|((at, _), _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::request::{Encoding, Request};

    fn call(id: u64, watch: bool) -> Call {
        let deadline = Instant::ZERO + Duration::from_secs(60);
        Call { id: CallId(id), request: Request::get("/api/v1/pods".into()), watch, accept: Encoding::Json, deadline }
    }

    #[test]
    fn a_burst_passes_and_then_so_many_a_second() {
        let mut limiter = Limiter::new(Some(ClientLimits::default()));
        let times: alloc::vec::Vec<u64> =
            (0..33).map(|_| limiter.admit(Instant::ZERO).as_nanos() / 1_000_000).collect();
        assert!(times[..30].iter().all(|at| *at == 0), "{times:?}");
        assert_eq!(times[30..], [50, 100, 150]);
        assert_eq!(Limiter::new(None).admit(Instant::from_millis(7)), Instant::from_millis(7));
    }

    #[test]
    fn a_list_waits_its_turn_and_a_watch_does_not() {
        let mut gate = Gate::new(Some(ClientLimits { qps: 1.0, burst: 1 }));
        let now = Instant::ZERO;
        assert!(gate.pass(now, Output::Call(call(1, false))).is_some());
        assert!(gate.pass(now, Output::Call(call(2, false))).is_none());
        assert!(gate.pass(now, Output::Call(call(3, true))).is_some());
        let at = gate.next_deadline().unwrap();
        assert_eq!(at, Instant::from_millis(1000));
        assert!(gate.poll_due(now).is_none());
        assert_eq!(gate.poll_due(at).map(|call| call.id), Some(CallId(2)));
        assert_eq!(gate.next_deadline(), None);
    }

    #[test]
    fn a_list_that_is_given_up_before_its_turn_is_never_made() {
        let mut gate = Gate::new(Some(ClientLimits { qps: 1.0, burst: 1 }));
        let now = Instant::ZERO;
        let _ = gate.pass(now, Output::Call(call(1, false)));
        let _ = gate.pass(now, Output::Call(call(2, false)));
        assert!(gate.pass(now, Output::Cancel(CallId(2))).is_none());
        assert!(gate.poll_due(Instant::from_millis(5000)).is_none());
        assert!(matches!(gate.pass(now, Output::Cancel(CallId(1))), Some(Output::Cancel(_))));
    }
}
