use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::*;
use crate::request::Method;
use crate::testing::Random;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/sanskube";

/// A server that knows of one lease.
#[derive(Default)]
struct Server {
    lease: Option<Value>,
    version: u64,
    /// Every request that changed the lease, or was to.
    writes: Vec<(Method, Value)>,
    reads: usize,
}

impl Server {
    fn answer(&mut self, request: &Request) -> (u16, String) {
        if request.method == Method::Get {
            self.reads += 1;
            return self.lease.as_ref().map_or((404, String::new()), |lease| (200, lease.to_string()));
        }
        let mut wanted: Value = serde_json::from_slice(&request.body).unwrap();
        self.writes.push((request.method, wanted.clone()));
        let known = self.lease.as_ref().map(|lease| lease["metadata"]["resourceVersion"].clone());
        match (request.method, known) {
            (Method::Post, None) => {}
            (Method::Put, Some(known)) if known == wanted["metadata"]["resourceVersion"] => {}
            (Method::Put, None) => return (404, String::new()),
            _ => return (409, String::new()),
        }
        self.version += 1;
        wanted["metadata"]["resourceVersion"] = json!(self.version.to_string());
        wanted["metadata"]["uid"] = json!("u");
        let body = wanted.to_string();
        self.lease = Some(wanted);
        (200, body)
    }

    fn spec(&self) -> &Value {
        &self.lease.as_ref().unwrap()["spec"]
    }
}

/// A candidate with clocks of its own.
struct Candidate {
    elector: Elector,
    ids: CallIds,
    skew: i64,
}

impl Candidate {
    fn new(identity: &str) -> Self {
        let seed = identity.bytes().map(u64::from).sum();
        let config = Config { seed, ..Config::new("kube-system", "sanskube", identity) };
        Self { elector: Elector::new(config), ids: CallIds::default(), skew: 0 }
    }

    fn now(&self, at: Instant) -> Now {
        // A day after the epoch: leases say so in their times.
        Now { instant: at, wall: Timestamp::from_seconds(86_400 + self.skew) + at.since(Instant::ZERO) }
    }

    /// Does what is due, each call answered at once. When to be woken next.
    fn run(&mut self, at: Instant, server: &mut Server) -> Option<Instant> {
        let now = self.now(at);
        self.elector.handle_timeout(now);
        loop {
            self.elector.poll_cancel();
            let Some(call) = self.elector.poll_call(now, &mut self.ids) else { break };
            let (status, body) = server.answer(&call.request);
            self.give(at, call.id, status, &body);
        }
        self.elector.next_deadline()
    }

    fn give(&mut self, at: Instant, call: CallId, status: u16, body: &str) {
        let now = self.now(at);
        self.elector.handle_head(call, Head::new(status)).unwrap();
        self.elector.handle_body(call, body.as_bytes()).unwrap();
        self.elector.handle_end(now, call, None).unwrap();
    }

    /// Runs until `end`, as time passes.
    fn run_until(&mut self, from: Instant, end: Instant, server: &mut Server) {
        let mut at = from;
        while at <= end {
            let Some(until) = self.run(at, server) else { return };
            assert!(until > at, "never waits for what is past");
            at = until;
        }
    }

    fn leads(&self, at: Instant) -> bool {
        matches!(self.elector.standing(at), Standing::Leading { .. })
    }
}

fn seconds(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1000)
}

#[test]
fn a_lease_that_is_not_there_is_made() {
    let (mut server, mut a) = (Server::default(), Candidate::new("a"));
    assert_eq!(a.elector.standing(Instant::ZERO), Standing::Waiting);
    a.run(Instant::ZERO, &mut server);
    assert!(a.leads(Instant::ZERO));
    assert_eq!(a.elector.holder(), "a");
    let (method, lease) = &server.writes[0];
    assert_eq!(*method, Method::Post);
    assert_eq!(
        *lease,
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "sanskube", "namespace": "kube-system"},
            "spec": {
                "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
                "acquireTime": "1970-01-02T00:00:00.000000Z", "renewTime": "1970-01-02T00:00:00.000000Z",
            },
        })
    );
    let event = a.elector.poll_event().unwrap();
    assert_eq!((&*event.reason, &*event.message), ("LeaderElection", "a became leader"));
    assert_eq!(a.elector.poll_event(), None);
}

#[test]
fn a_leader_renews_every_retry_period_without_reading_and_keeps_what_it_does_not_know() {
    let (mut server, mut a) = (Server::default(), Candidate::new("a"));
    a.run(Instant::ZERO, &mut server);
    let reads = server.reads;
    server.lease.as_mut().unwrap()["metadata"]["labels"] = json!({"kept": "yes"});
    server.lease.as_mut().unwrap()["spec"]["strategy"] = json!("OldestEmulationVersion");
    server.version += 1;
    server.lease.as_mut().unwrap()["metadata"]["resourceVersion"] = json!(server.version.to_string());
    // The first renewal conflicts with that change, and is made again after a read.
    a.run_until(seconds(2), seconds(20), &mut server);
    assert_eq!(server.reads, reads + 1);
    assert_eq!(server.writes.len(), 1 + 1 + 10);
    assert_eq!(server.spec()["acquireTime"], "1970-01-02T00:00:00.000000Z");
    assert_eq!(server.spec()["renewTime"], "1970-01-02T00:00:20.000000Z");
    assert_eq!(
        (&server.spec()["strategy"], &server.spec()["leaseTransitions"]),
        (&json!("OldestEmulationVersion"), &json!(0))
    );
    assert_eq!(server.lease.as_ref().unwrap()["metadata"]["labels"]["kept"], "yes");
    assert_eq!(a.elector.standing(seconds(20)), Standing::Leading { until: seconds(30) });
}

#[test]
fn a_candidate_counts_from_when_it_saw_the_lease_change_whatever_the_clocks_say() {
    for skew in [-1_000_000, 0, 1_000_000] {
        let (mut server, mut a, mut b) = (Server::default(), Candidate::new("a"), Candidate::new("b"));
        b.skew = skew;
        a.run(Instant::ZERO, &mut server);
        // The leader dies. The candidate first sees the lease later.
        let first_seen = seconds(7);
        let mut at = first_seen;
        while !b.leads(at) {
            assert!(at <= first_seen + Duration::from_secs(15) + Duration::from_millis(4400));
            at = b.run(at, &mut server).unwrap();
            b.run(at, &mut server);
        }
        assert!(at >= first_seen + Duration::from_secs(15), "took it after {:?}", at.since(first_seen));
        assert_eq!((&server.spec()["holderIdentity"], &server.spec()["leaseTransitions"]), (&json!("b"), &json!(1)));
    }
}

#[test]
fn a_candidate_never_takes_a_lease_that_keeps_changing() {
    let (mut server, mut a, mut b) = (Server::default(), Candidate::new("a"), Candidate::new("b"));
    b.skew = 3600;
    let (mut next_a, mut next_b) = (Instant::ZERO, Instant::ZERO);
    while next_a < seconds(600) {
        if next_a <= next_b {
            next_a = a.run(next_a, &mut server).unwrap();
        } else {
            next_b = b.run(next_b, &mut server).unwrap();
        }
    }
    assert!(a.leads(next_b) && !b.leads(next_b));
    assert!(server.writes.iter().all(|(_, lease)| lease["spec"]["holderIdentity"] == "a"));
}

#[test]
fn a_leader_that_finds_another_holder_has_lost() {
    let (mut server, mut a) = (Server::default(), Candidate::new("a"));
    a.run(Instant::ZERO, &mut server);
    server.version += 1;
    let lease = server.lease.as_mut().unwrap();
    lease["metadata"]["resourceVersion"] = json!("99");
    lease["spec"]["holderIdentity"] = json!("b");
    a.run(seconds(2), &mut server);
    assert_eq!(a.elector.standing(seconds(2)), Standing::Lost);
    assert!(a.elector.is_done());
    assert_eq!(a.run(seconds(60), &mut server), None);
}

#[test]
fn a_leader_whose_server_is_gone_has_lost_ten_seconds_after_it_sent_the_last_renewal() {
    let (mut server, mut a) = (Server::default(), Candidate::new("a"));
    a.run(Instant::ZERO, &mut server);
    // The answer to the renewal sent at 2 s takes until 4 s.
    let renewal = a.elector.poll_call(a.now(seconds(2)), &mut a.ids).unwrap();
    let (status, body) = server.answer(&renewal.request);
    a.give(seconds(4), renewal.id, status, &body);
    assert_eq!(a.elector.standing(seconds(4)), Standing::Leading { until: seconds(12) });
    // From then on there is no answer.
    let mut cancelled = 0;
    let mut at = seconds(6);
    let mut calls = Vec::new();
    while let Standing::Leading { until } = a.elector.standing(at) {
        assert_eq!(until, seconds(12));
        let now = a.now(at);
        a.elector.handle_timeout(now);
        cancelled += usize::from(a.elector.poll_cancel().is_some());
        if let Some(call) = a.elector.poll_call(now, &mut a.ids) {
            assert!(call.deadline <= until && call.deadline <= at + Duration::from_secs(5));
            calls.push(call.id);
        }
        at = a.elector.next_deadline().unwrap();
    }
    assert_eq!(at, seconds(12));
    a.elector.handle_timeout(a.now(at));
    cancelled += usize::from(a.elector.poll_cancel().is_some());
    assert_eq!(cancelled, calls.len());
    let last = *calls.last().unwrap();
    assert_eq!(a.elector.handle_end(a.now(at), last, None), Err(Misuse::UnknownCall));
    assert!(a.elector.is_done());
    assert_eq!(a.elector.poll_call(a.now(seconds(100)), &mut a.ids), None);
}

#[test]
fn a_leader_that_wakes_up_late_knows_it_before_anything_else() {
    let (mut server, mut a) = (Server::default(), Candidate::new("a"));
    a.run(Instant::ZERO, &mut server);
    let renewal = a.elector.poll_call(a.now(seconds(2)), &mut a.ids).unwrap();
    assert!(!a.leads(seconds(10)));
    // Even if what comes first is the answer that it has waited for.
    let (status, body) = server.answer(&renewal.request);
    a.give(seconds(11), renewal.id, status, &body);
    assert_eq!(a.elector.standing(seconds(11)), Standing::Lost);
    assert_eq!(a.elector.poll_call(a.now(seconds(11)), &mut a.ids), None);
}

#[test]
fn an_election_that_was_won_too_late_is_not_won() {
    let (mut server, mut a) = (Server::default(), Candidate::new("a"));
    let mut call = a.elector.poll_call(a.now(Instant::ZERO), &mut a.ids).unwrap();
    a.give(Instant::ZERO, call.id, 404, "");
    call = a.elector.poll_call(a.now(Instant::ZERO), &mut a.ids).unwrap();
    let (status, body) = server.answer(&call.request);
    // Nobody has told it the time meanwhile.
    a.give(seconds(11), call.id, status, &body);
    assert_eq!(a.elector.standing(seconds(11)), Standing::Waiting);
    // The next try finds its own name.
    a.run_until(seconds(11), seconds(16), &mut server);
    assert!(a.leads(seconds(16)));
    assert_eq!(server.spec()["leaseTransitions"], 0);
}

#[test]
fn a_lease_that_is_given_back_is_taken_at_the_next_try() {
    let (mut server, mut a, mut b) = (Server::default(), Candidate::new("a"), Candidate::new("b"));
    a.run(Instant::ZERO, &mut server);
    b.run(Instant::ZERO, &mut server);
    a.elector.resign(a.now(seconds(1)), true);
    assert!(!a.leads(seconds(1)) && !a.elector.is_done());
    a.run(seconds(1), &mut server);
    assert!(a.elector.is_done());
    assert_eq!(
        *server.spec(),
        json!({
            "leaseDurationSeconds": 1, "leaseTransitions": 0,
            "acquireTime": "1970-01-02T00:00:01.000000Z", "renewTime": "1970-01-02T00:00:01.000000Z",
        })
    );
    let next = b.elector.next_deadline().unwrap();
    b.run(next, &mut server);
    assert!(b.leads(next));
    assert_eq!(server.spec()["leaseTransitions"], 1);
}

#[test]
fn who_does_not_lead_or_is_told_not_to_gives_nothing_back() {
    let (mut server, mut a, mut b) = (Server::default(), Candidate::new("a"), Candidate::new("b"));
    a.elector.config.release = false;
    a.run(Instant::ZERO, &mut server);
    b.run(Instant::ZERO, &mut server);
    let writes = server.writes.len();
    for candidate in [&mut a, &mut b] {
        candidate.elector.resign(candidate.now(seconds(1)), true);
        candidate.run(seconds(1), &mut server);
        assert!(candidate.elector.is_done());
    }
    assert_eq!(server.writes.len(), writes);
}

#[test]
fn a_lease_that_was_deleted_is_made_again_by_its_leader() {
    let (mut server, mut a) = (Server::default(), Candidate::new("a"));
    a.run(Instant::ZERO, &mut server);
    server.lease = None;
    a.run(seconds(2), &mut server);
    assert_eq!(server.spec()["holderIdentity"], "a");
    assert_eq!(a.elector.standing(seconds(2)), Standing::Leading { until: seconds(12) });
}

#[test]
fn candidates_spread_their_tries() {
    let mut pauses = Vec::new();
    for identity in ["b", "c", "d"] {
        let mut server = Server::default();
        Candidate::new("a").run(Instant::ZERO, &mut server);
        let mut candidate = Candidate::new(identity);
        let mut at = Instant::ZERO;
        for _ in 0..5 {
            let next = candidate.run(at, &mut server).unwrap();
            let pause = next.since(at);
            assert!(pause >= Duration::from_secs(2) && pause <= Duration::from_millis(4400), "{pause:?}");
            pauses.push(pause);
            at = next;
        }
    }
    pauses.sort();
    pauses.dedup();
    assert_eq!(pauses.len(), 15);
}

#[test]
fn a_pace_that_is_not_safe_is_refused() {
    let timing = |lease, renew, retry| {
        let [lease, renew, retry] = [lease, renew, retry].map(Duration::from_millis);
        Timing::new(lease, renew, retry).map_err(|e| e.to_string())
    };
    assert_eq!(timing(15_000, 10_000, 2_000), Ok(Timing::default()));
    for (lease, renew, retry, problem) in [
        (10_000, 10_000, 2_000, "the lease duration must be greater"),
        (15_000, 2_400, 2_000, "the renew deadline must be greater"),
        (15_000, 1, 14_000, "the renew deadline must be greater"),
        (15_000, 10_000, 0, "the retry period must be greater"),
        (15_500, 10_000, 2_000, "whole seconds"),
    ] {
        assert!(timing(lease, renew, retry).unwrap_err().contains(problem), "{problem}");
    }
    assert!(Timing::new(Duration::MAX, Duration::MAX, Duration::MAX).is_err());
    assert!(Timing::new(Duration::from_secs(15), Duration::from_secs(10), Duration::MAX).is_err());
}

#[test]
fn no_answer_breaks_it() {
    let bodies = [
        "",
        "null",
        "[]",
        "{",
        "{}",
        "7",
        r#"{"metadata":{"resourceVersion":"1"}}"#,
        r#"{"metadata":{"resourceVersion":"1"},"spec":7}"#,
        r#"{"metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":7,"leaseDurationSeconds":-1,"leaseTransitions":99999999999}}"#,
        r#"{"metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":"b","leaseDurationSeconds":18446744073709551615}}"#,
        r#"{"metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":"a","leaseTransitions":2147483647}}"#,
    ];
    let mut random = Random::new(3);
    for _ in 0..200 {
        let mut a = Candidate::new("a");
        let mut at = Instant::ZERO;
        for _ in 0..20 {
            let now = a.now(at);
            a.elector.handle_timeout(now);
            a.elector.poll_cancel();
            if let Some(call) = a.elector.poll_call(now, &mut a.ids) {
                let status = *random.pick(&[200, 201, 404, 409, 500, 0, 999]);
                a.give(at, call.id, status, random.pick::<&str>(&bodies));
            }
            let Some(next) = a.elector.next_deadline() else { break };
            at = next.max(at);
        }
    }
}

/// Three candidates, a network that delays, loses and refuses, processes that are paused, clocks that are apart.
#[test]
fn there_are_never_two_leaders() {
    let (mut elections, mut losses) = (0, 0);
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let mut server = Server::default();
        let mut candidates: Vec<Candidate> = ["a", "b", "c"].map(Candidate::new).into();
        for candidate in &mut candidates {
            candidate.skew = i64::try_from(random.below(200_000)).unwrap() - 100_000;
        }
        // By arrival: requests at the server, answers at the candidates.
        let mut under_way: BTreeMap<(Instant, u64), Delivery> = BTreeMap::new();
        let mut paused = [Instant::ZERO; 3];
        let mut sent = 0;
        let mut leader: Option<usize> = None;
        for step in 0..6000u64 {
            let at = Instant::from_millis(step * 100);
            while let Some(entry) = under_way.first_entry().filter(|entry| entry.key().0 <= at) {
                match entry.remove() {
                    Delivery::Request(who, call) => {
                        let (status, body) =
                            if random.percent(5) { (500, String::new()) } else { server.answer(&call.request) };
                        if !random.percent(10) {
                            sent += 1;
                            let arrival = at + Duration::from_millis(random.below(6000));
                            under_way.insert((arrival, sent), Delivery::Answer(who, call.id, status, body));
                        }
                    }
                    Delivery::Answer(who, call, status, body) if paused[who] > at => {
                        sent += 1;
                        under_way.insert((paused[who], sent), Delivery::Answer(who, call, status, body));
                    }
                    Delivery::Answer(who, call, status, body) => {
                        let candidate = &mut candidates[who];
                        if candidate.elector.in_flight(call).is_ok() {
                            candidate.give(at, call, status, &body);
                        }
                    }
                }
            }
            for (who, candidate) in candidates.iter_mut().enumerate() {
                if paused[who] > at {
                    continue;
                }
                if random.below(1000) == 0 {
                    paused[who] = at + Duration::from_secs(random.below(40));
                }
                // A process that has lost is started anew, under another name.
                if candidate.elector.standing(at) == Standing::Lost {
                    losses += 1;
                    let skew = candidate.skew;
                    *candidate = Candidate::new(&format!("{who}-{step}"));
                    candidate.skew = skew;
                }
                let now = candidate.now(at);
                candidate.elector.handle_timeout(now);
                candidate.elector.poll_cancel();
                while let Some(call) = candidate.elector.poll_call(now, &mut candidate.ids) {
                    sent += 1;
                    let arrival = at + Duration::from_millis(random.below(3000));
                    under_way.insert((arrival, sent), Delivery::Request(who, call));
                }
            }
            let leaders: VecDeque<usize> = (0..3).filter(|who| candidates[*who].leads(at)).collect();
            assert!(leaders.len() <= 1, "seed {seed}, after {:?}: {leaders:?} lead", at.since(Instant::ZERO));
            if leaders.front().is_some_and(|now| leader != Some(*now)) {
                elections += 1;
                leader = leaders.front().copied();
            }
        }
    }
    assert!(elections > 500 && losses > 500, "{elections} elections, {losses} losses");
}

enum Delivery {
    Answer(usize, CallId, u16, String),
    Request(usize, Call),
}

#[test]
fn the_lease_is_where_it_was_said_to_be() {
    let mut a = Candidate::new("a");
    let read = a.elector.poll_call(a.now(Instant::ZERO), &mut a.ids).unwrap();
    assert_eq!((read.request.method, &*read.request.path), (Method::Get, LEASE));
}

#[test]
fn a_leader_has_lost_when_the_server_is_put_back_to_an_earlier_state() {
    for emptied in [false, true] {
        let (mut server, mut a) = (Server::default(), Candidate::new("a"));
        a.run_until(Instant::ZERO, seconds(1), &mut server);
        let (backup, version) = (server.lease.clone(), server.version);
        a.run_until(seconds(2), seconds(20), &mut server);
        assert!(a.leads(seconds(20)) && server.version > version + 5);
        (server.lease, server.version) = if emptied { (None, 0) } else { (backup, version) };
        a.run_until(seconds(21), seconds(24), &mut server);
        assert!(!a.leads(seconds(24)), "emptied: {emptied}");
        // The next one, which knows nothing, leads as soon as it may.
        let mut b = Candidate::new("b");
        b.run_until(seconds(24), seconds(44), &mut server);
        assert!(b.leads(seconds(44)), "emptied: {emptied}");
    }
}

#[test]
fn a_leader_whose_lease_was_deleted_makes_a_new_one() {
    let (mut server, mut a) = (Server::default(), Candidate::new("a"));
    a.run_until(Instant::ZERO, seconds(10), &mut server);
    server.lease = None;
    a.run_until(seconds(10), seconds(20), &mut server);
    assert!(a.leads(seconds(20)) && server.lease.is_some());
}
