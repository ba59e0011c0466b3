//! A manager and a tiny cluster that it talks to: one set, its pods, and a server that never fails unless told.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::informer::Change;
use crate::limits::Limits;
use crate::request::{Call, Head, Method};

const OK: Head = Head::new(200);

/// The other end of the wire.
struct Cluster {
    manager: Manager,
    now: Now,
    version: u64,
    set: Value,
    pods: BTreeMap<String, Value>,
    /// The watches that are open, by their path.
    watches: BTreeMap<String, CallId>,
    /// Every request but lists and watches, in order: method, path, body.
    writes: Vec<(Method, String, Value)>,
    /// The messages of the events written.
    events: Vec<String>,
    /// Calls that are left without an answer: those whose path ends so.
    silent: Option<&'static str>,
    unanswered: Vec<Call>,
    cancelled: Vec<CallId>,
    stopped: bool,
}

impl Cluster {
    fn new(replicas: usize) -> Self {
        Self::with_config(replicas, Config::default())
    }

    fn with_config(replicas: usize, config: Config) -> Self {
        let config = Config { watch_list: false, ..config };
        let set = json!({"metadata": {"namespace": "shop", "name": "web", "uid": "u-web", "resourceVersion": "1", "generation": 1},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
            "status": {"replicas": 0}});
        Self {
            manager: Manager::new(&config),
            now: Now { instant: Instant::from_millis(1), wall: crate::time::Timestamp::from_seconds(1_800_000_000) },
            version: 10,
            set,
            pods: BTreeMap::new(),
            watches: BTreeMap::new(),
            writes: Vec::new(),
            events: Vec::new(),
            silent: None,
            unanswered: Vec::new(),
            cancelled: Vec::new(),
            stopped: false,
        }
    }

    /// Lets the manager and the cluster talk until both are at rest. Returns when the manager wants to be woken.
    fn settle(&mut self) -> Option<Instant> {
        loop {
            let mut calls = Vec::new();
            let until = loop {
                match self.manager.poll_output(self.now) {
                    Output::Call(call) => calls.push(call),
                    Output::Cancel(id) => self.cancelled.push(id),
                    Output::Stopped => {
                        self.stopped = true;
                        break None;
                    }
                    Output::Wait { until } => break until,
                }
            };
            if calls.is_empty() {
                assert!(until.is_none_or(|until| until > self.now.instant), "never waits for what is past");
                return until;
            }
            for call in calls {
                self.answer(call);
            }
        }
    }

    fn advance(&mut self, duration: Duration) -> Option<Instant> {
        self.now = self.now.after(duration);
        self.give(Input::Timeout);
        self.settle()
    }

    /// Gives an input, with all outputs of the last one taken.
    fn give(&mut self, input: Input<'_>) {
        self.manager.handle_input(self.now, input).unwrap();
    }

    fn answer(&mut self, call: Call) {
        let (method, path) = (call.request.method, call.request.path.clone());
        let (place, query) = path.split_once('?').unwrap_or((&path, ""));
        if self.silent.is_some_and(|end| place.ends_with(end)) {
            self.unanswered.push(call);
            return;
        }
        if call.watch {
            self.watches.insert(place.to_string(), call.id);
            self.give(Input::Head { call: call.id, head: OK });
            self.drain();
            return;
        }
        if method == Method::Get && query.contains("limit=") || query.contains("resourceVersion") {
            let items = if place.ends_with("pods") {
                self.pods.values().cloned().collect()
            } else {
                Vec::from([self.set.clone()])
            };
            let list = json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": items});
            return self.reply(call.id, &list);
        }
        let body: Value = serde_json::from_slice(&call.request.body).unwrap_or_default();
        if place.ends_with("/events") {
            self.events.push(body["message"].as_str().unwrap_or_default().to_string());
            return self.reply(call.id, &body);
        }
        self.writes.push((method, path.clone(), body.clone()));
        self.version += 1;
        let answer = match method {
            Method::Post => {
                let mut pod = body;
                let name = format!("web-{}", self.version);
                pod["metadata"]["name"] = json!(name);
                pod["metadata"]["namespace"] = json!("shop");
                pod["metadata"]["uid"] = json!(format!("u-{name}"));
                pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
                pod["status"] = json!({"phase": "Pending"});
                self.pods.insert(name, pod.clone());
                self.reply(call.id, &pod);
                self.tell("/api/v1/pods", "ADDED", &pod);
                return;
            }
            Method::Put => {
                self.set["status"] = body["status"].clone();
                self.set["metadata"]["resourceVersion"] = json!(self.version.to_string());
                let set = self.set.clone();
                self.reply(call.id, &set);
                self.tell("/apis/apps/v1/replicasets", "MODIFIED", &set);
                return;
            }
            Method::Delete => {
                let name = path.rsplit('/').next().unwrap();
                let mut pod = self.pods.remove(name).unwrap();
                pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
                self.reply(call.id, &pod);
                self.tell("/api/v1/pods", "DELETED", &pod);
                return;
            }
            Method::Get | Method::Patch => self.set.clone(),
        };
        self.reply(call.id, &answer);
    }

    fn reply(&mut self, call: CallId, body: &Value) {
        self.give(Input::Head { call, head: OK });
        self.drain();
        self.give(Input::Body { call, bytes: body.to_string().as_bytes() });
        self.drain();
        self.give(Input::End { call });
        self.drain();
    }

    /// Takes all outputs; answers the calls among them.
    fn drain(&mut self) {
        loop {
            match self.manager.poll_output(self.now) {
                Output::Call(call) => self.answer_later(call),
                Output::Cancel(id) => self.cancelled.push(id),
                Output::Stopped | Output::Wait { .. } => return,
            }
        }
    }

    fn answer_later(&mut self, call: Call) {
        // Answers are given one after the other, each when the manager is at rest.
        self.unanswered.push(call);
    }

    fn tell(&mut self, place: &str, kind: &str, object: &Value) {
        let mut object = object.clone();
        let kinds = if place.ends_with("pods") { ["v1", "Pod"] } else { ["apps/v1", "ReplicaSet"] };
        object["apiVersion"] = json!(kinds[0]);
        object["kind"] = json!(kinds[1]);
        let line = format!("{}\n", json!({"type": kind, "object": object}));
        if let Some(call) = self.watches.get(place).copied() {
            self.give(Input::Body { call, bytes: line.as_bytes() });
            self.drain();
        }
    }

    fn scale(&mut self, replicas: usize) {
        self.version += 1;
        self.set["spec"]["replicas"] = json!(replicas);
        self.set["metadata"]["generation"] = json!(self.set["metadata"]["generation"].as_u64().unwrap() + 1);
        self.set["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let set = self.set.clone();
        self.tell("/apis/apps/v1/replicasets", "MODIFIED", &set);
        self.run();
    }

    /// Settles, and answers what was asked for meanwhile, until nothing is asked any more.
    fn run(&mut self) -> Option<Instant> {
        loop {
            let until = self.settle();
            let kept = |call: &Call, silent: Option<&str>| silent.is_some_and(|end| call.request.path.ends_with(end));
            let Some(at) = self.unanswered.iter().position(|call| !kept(call, self.silent)) else { return until };
            let call = self.unanswered.remove(at);
            self.answer(call);
        }
    }

    fn count(&self, method: Method) -> usize {
        self.writes.iter().filter(|(m, ..)| *m == method).count()
    }
}

#[test]
fn a_set_is_scaled_up_and_down_and_then_nothing_is_written() {
    let mut cluster = Cluster::new(3);
    cluster.run();
    assert!(cluster.manager.has_synced());
    assert_eq!((cluster.pods.len(), cluster.count(Method::Post)), (3, 3));
    assert_eq!(cluster.set["status"]["replicas"], 3);
    assert_eq!(cluster.events.len(), 3);
    assert!(cluster.events.iter().all(|event| event.starts_with("Created pod: web-")), "{:?}", cluster.events);

    cluster.scale(7);
    assert_eq!((cluster.pods.len(), cluster.count(Method::Post)), (7, 7));
    cluster.scale(2);
    assert_eq!((cluster.pods.len(), cluster.count(Method::Delete)), (2, 5));
    assert_eq!(
        cluster.set["status"],
        json!({"replicas": 2, "fullyLabeledReplicas": 2, "terminatingReplicas": 0, "observedGeneration": 3})
    );

    let writes = cluster.writes.len();
    for _ in 0..10 {
        cluster.advance(Duration::from_secs(10));
        cluster.run();
    }
    assert_eq!(cluster.writes.len(), writes);
}

#[test]
fn the_same_inputs_give_the_same_requests() {
    let play = || {
        let mut cluster = Cluster::new(20);
        cluster.run();
        cluster.scale(5);
        cluster.writes
    };
    assert_eq!(play(), play());
}

#[test]
fn a_trace_tells_what_was_done_and_why_and_changes_nothing() {
    let story = |traced: bool| {
        let mut cluster = Cluster::new(2);
        if traced {
            cluster.manager.start_trace();
        }
        cluster.run();
        let first: Vec<Trace> = core::iter::from_fn(|| cluster.manager.poll_trace()).collect();
        cluster.scale(1);
        let later: Vec<Trace> = core::iter::from_fn(|| cluster.manager.poll_trace()).collect();
        (first, later, cluster.writes)
    };
    let decisions = |trace: &[Trace]| -> Vec<String> {
        let decided = trace.iter().filter_map(|told| match told {
            Trace::Decided { key, decision, .. } => Some(format!("{key}: {decision}")),
            _ => None,
        });
        decided.collect()
    };
    let (first, later, writes) = story(true);
    let (untold, none, same_writes) = story(false);
    assert!(untold.is_empty() && none.is_empty());
    assert_eq!(writes, same_writes);
    assert!(decisions(&first).contains(&"shop/web: too few replicas, need 2, have 0, creating 2".into()));
    let goes = "shop/web: deleting pod shop/web-11: it is like web-12 in all that counts, and its uid comes first";
    let status = "shop/web: updating status: replicas 2 → 1, fully labeled 2 → 1";
    let all = decisions(&later);
    assert_eq!(all[..2], ["shop/web: too many replicas, need 1, have 2, deleting 1", goes], "{all:#?}");
    assert_eq!(all.last().unwrap(), status, "{all:#?}");
    let told: Vec<&str> = later
        .iter()
        .map(|told| match told {
            Trace::Began { .. } => "began",
            Trace::Decided { .. } => "decided",
            Trace::Ended { .. } => "ended",
            Trace::Pod(Change::Delete(_)) => "pod deleted",
            Trace::Queued { .. } => "queued",
            Trace::Set(..) => "set",
            other => panic!("{other:?}"),
        })
        .collect();
    // It is taken once for all here, so what the pods' cache tells comes first.
    assert_eq!(told[..6], ["pod deleted", "set", "queued", "began", "decided", "decided"], "{told:#?}");
}

#[test]
fn a_call_without_an_answer_is_cancelled_in_time_and_tried_again() {
    let mut cluster = Cluster::new(1);
    cluster.run();
    cluster.silent = Some("/status");
    cluster.scale(2);
    let lost = cluster.unanswered[0].clone();
    assert!(lost.request.path.ends_with("/status"), "{lost:?}");
    cluster.advance(lost.deadline.since(cluster.now.instant));
    assert_eq!(cluster.cancelled, [lost.id]);

    // The write is tried again on a fresh copy at once; that read is answered, and the next write too.
    cluster.silent = None;
    cluster.unanswered.retain(|call| call.id != lost.id);
    cluster.run();
    cluster.advance(Duration::from_secs(1));
    cluster.run();
    assert_eq!(cluster.set["status"]["replicas"], 2);
    assert_eq!(cluster.manager.handle_input(cluster.now, Input::End { call: lost.id }), Err(Misuse::UnknownCall));
}

#[test]
fn a_stop_cancels_the_watches_and_waits_for_writes_but_not_for_long() {
    let mut cluster = Cluster::new(1);
    cluster.run();
    cluster.silent = Some("/status");
    cluster.scale(2);
    let write = cluster.unanswered[0].clone();

    cluster.give(Input::Stop);
    let until = cluster.settle().unwrap();
    assert!(until.since(cluster.now.instant) < Duration::from_secs(1));
    let watches: Vec<CallId> = cluster.watches.values().copied().collect();
    assert!(watches.iter().all(|watch| cluster.cancelled.contains(watch)), "{:?}", cluster.cancelled);
    assert!(!cluster.stopped);

    cluster.advance(until.since(cluster.now.instant));
    assert!(cluster.stopped);
    assert!(cluster.cancelled.contains(&write.id));
}

#[test]
fn a_stop_keeps_no_call_beyond_its_own_deadline() {
    let mut cluster = Cluster::new(1);
    cluster.run();
    cluster.silent = Some("/status");
    cluster.scale(2);
    let write = cluster.unanswered[0].clone();
    cluster.advance(write.deadline.since(cluster.now.instant) - Duration::from_millis(20));
    assert!(!cluster.cancelled.contains(&write.id));

    cluster.give(Input::Stop);
    assert_eq!(cluster.settle(), Some(write.deadline));
    cluster.advance(Duration::from_millis(20));
    assert!(cluster.cancelled.contains(&write.id) && cluster.stopped);
}

#[test]
fn a_stop_ends_at_once_when_the_last_write_is_answered() {
    let mut cluster = Cluster::new(1);
    cluster.run();
    cluster.silent = Some("/status");
    cluster.scale(2);
    cluster.give(Input::Stop);
    cluster.settle();
    cluster.silent = None;
    let write = cluster.unanswered.remove(0);
    cluster.answer(write);
    cluster.settle();
    assert!(cluster.stopped);
}

#[test]
fn an_input_before_the_outputs_are_drained_is_refused() {
    let mut cluster = Cluster::new(1);
    assert!(matches!(cluster.manager.poll_output(cluster.now), Output::Call(_)));
    assert_eq!(cluster.manager.handle_input(cluster.now, Input::Timeout), Err(Misuse::NotDrained));
}

#[test]
fn an_input_that_comes_late_finds_every_deadline_kept() {
    let mut cluster = Cluster::new(0);
    cluster.run();
    let mut watches: Vec<CallId> = cluster.watches.values().copied().collect();
    watches.sort_unstable();
    // Longer than any watch lasts; the adapter was busy, and gives a piece of one watch before it tells the time.
    cluster.now = cluster.now.after(Duration::from_secs(3600));
    cluster.give(Input::Body { call: watches[0], bytes: b"{" });
    assert!(cluster.settle().is_none_or(|until| until > cluster.now.instant));
    cluster.cancelled.sort_unstable();
    assert_eq!(cluster.cancelled, watches, "all silent watches are given up with the first input");
}

#[test]
fn the_head_of_an_answer_that_comes_after_the_deadline_of_its_call_leaves_no_deadline_behind() {
    let election = crate::election::Config::new("kube-system", "m", "me");
    let mut manager = Manager::new(&Config { election: Some(election), ..Config::default() });
    let start = Now::default();
    let Output::Call(call) = manager.poll_output(start) else { panic!("the lease is read first") };
    assert!(matches!(manager.poll_output(start), Output::Wait { .. }));
    let late = start.after(Duration::from_secs(60));
    manager.handle_input(late, Input::Head { call: call.id, head: OK }).unwrap();
    assert_eq!(manager.poll_output(late), Output::Cancel(call.id));
    let Output::Wait { until: Some(until) } = manager.poll_output(late) else { panic!("it tries again") };
    assert!(until > late.instant);
}

#[test]
fn a_stop_keeps_no_renewal_of_the_lease_beyond_its_deadline() {
    let election = crate::election::Config::new("kube-system", "m", "me");
    let mut manager = Manager::new(&Config { election: Some(election), ..Config::default() });
    let mut now = Now::default();
    let Output::Call(Call { id: read, .. }) = manager.poll_output(now) else { panic!("the lease is read first") };
    assert!(matches!(manager.poll_output(now), Output::Wait { .. }));
    let mut drain = |now: Now, inputs: &[Input<'_>]| {
        let (mut calls, mut cancelled) = (Vec::new(), Vec::new());
        for input in inputs {
            manager.handle_input(now, *input).unwrap();
            loop {
                match manager.poll_output(now) {
                    Output::Call(call) => calls.push(call),
                    Output::Cancel(id) => cancelled.push(id),
                    Output::Wait { until } if core::ptr::eq(input, inputs.last().unwrap()) => {
                        return (calls, cancelled, until);
                    }
                    Output::Wait { .. } => break,
                    Output::Stopped => return (calls, cancelled, None),
                }
            }
        }
        unreachable!("the last input ends with a wait or a stop")
    };
    // The lease is free, and taken; the event that tells of it is left without an answer.
    let create =
        drain(now, &[Input::Head { call: read, head: Head::new(404) }, Input::End { call: read }]).0[0].clone();
    assert_eq!(create.request.method, Method::Post);
    let mut lease: Value = serde_json::from_slice(&create.request.body).unwrap();
    lease["metadata"]["resourceVersion"] = "1".into();
    let (call, lease) = (create.id, lease.to_string());
    let answer = [Input::Head { call, head: OK }, Input::Body { call, bytes: lease.as_bytes() }, Input::End { call }];
    let (calls, ..) = drain(now, &answer);
    let event = calls.iter().find(|call| call.request.path.ends_with("/events")).unwrap();
    now = now.after(Duration::from_secs(2));
    let renewal = drain(now, &[Input::Timeout]).0[0].clone();
    assert_eq!(renewal.request.method, Method::Put);

    now = now.after(renewal.deadline.since(now.instant) - Duration::from_millis(100));
    drain(now, &[Input::Timeout]);
    let (calls, _, until) = drain(now, &[Input::Stop]);
    assert_eq!((calls, until), (Vec::new(), Some(renewal.deadline)));
    now = now.after(Duration::from_millis(100));
    let (calls, cancelled, until) = drain(now, &[Input::Timeout]);
    assert_eq!((calls, cancelled), (Vec::new(), alloc::vec![renewal.id]));
    now = now.after(until.unwrap().since(now.instant));
    assert_eq!(drain(now, &[Input::Timeout]), (Vec::new(), alloc::vec![event.id], None));
}

#[test]
fn a_list_that_waited_for_its_turn_past_its_deadline_is_not_made() {
    let limits = ClientLimits { qps: 0.01, burst: 1 };
    let mut manager = Manager::new(&Config { watch_list: false, client_limits: Some(limits), ..Config::default() });
    let mut now = Now::default();
    let mut drain = |now: Now, input: Option<Input<'_>>| {
        if let Some(input) = input {
            manager.handle_input(now, input).unwrap();
        }
        let mut calls = Vec::new();
        loop {
            match manager.poll_output(now) {
                Output::Call(call) => calls.push(call),
                Output::Cancel(id) => assert_eq!(id, CallId(1), "what was not asked for is not cancelled"),
                Output::Stopped | Output::Wait { .. } => return calls,
            }
        }
    };
    let first = drain(now, None);
    assert_eq!(first.len(), 1, "{first:?}");
    // The turn of the list of sets comes after 100 s, its time is over after 60 s, and the adapter looks after 200 s.
    now = now.after(Duration::from_secs(200));
    for call in drain(now, Some(Input::Timeout)) {
        assert!(call.deadline > now.instant, "{call:?}");
    }
}

#[test]
fn a_pod_whose_last_state_with_an_owner_was_merged_away_is_made_again() {
    let limits = Limits { handler_backlog: 1, ..Limits::default() };
    let mut cluster = Cluster::with_config(2, Config { limits, ..Config::default() });
    cluster.run();
    assert_eq!(cluster.pods.len(), 2);
    let (name, mut pod) = cluster.pods.pop_first().unwrap();
    let mut events = String::new();
    // It loses its labels and then its owner and is then deleted, all in one piece: more than the handler's backlog takes one by one.
    for (version, kind) in [("901", "MODIFIED"), ("902", "MODIFIED"), ("903", "DELETED")] {
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["labels"] = json!({});
        pod["metadata"]["resourceVersion"] = json!(version);
        if version != "901" {
            pod["metadata"]["ownerReferences"] = json!([]);
        }
        events += &format!("{}\n", json!({"type": kind, "object": pod}));
    }
    cluster.give(Input::Body { call: cluster.watches["/api/v1/pods"], bytes: events.as_bytes() });
    cluster.drain();
    cluster.version = 903;
    cluster.run();
    assert_eq!(cluster.pods.len(), 2, "{name} is replaced");
}
