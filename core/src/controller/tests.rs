use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use super::*;
use crate::machine::{Input, Machine as _, Output};
use crate::object::{MetadataOnly, Pod, ReplicaSet};
use crate::recorder::{EventType, ObjectReference};
use crate::request::{Call, Head};

const OK: Head = Head::new(200);

/// A machine, the time, and the calls that it has made and that were not ended.
struct Bench {
    machine: Controllers,
    now: Now,
    calls: Vec<Call>,
    cancelled: Vec<CallId>,
    until: Option<Instant>,
    stopped: bool,
}

impl Bench {
    fn new() -> Self {
        let machine = Controllers::new(Limits::default(), 1);
        Self { machine, now: Now::default(), calls: Vec::new(), cancelled: Vec::new(), until: None, stopped: false }
    }

    fn drain(&mut self) {
        loop {
            match self.machine.poll_output(self.now) {
                Output::Call(call) => self.calls.push(call),
                Output::Cancel(id) => {
                    self.calls.retain(|call| call.id != id);
                    self.cancelled.push(id);
                }
                Output::Stopped => return self.stopped = true,
                Output::Wait { until } => return self.until = until,
            }
        }
    }

    fn give(&mut self, input: Input<'_>) {
        self.machine.handle_input(self.now, input).unwrap();
        self.drain();
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.give(Input::Timeout);
    }

    /// Answers the list of a collection and lets its watch begin. Items are `namespace/name`, or whole JSON.
    fn list(&mut self, plural: &str, items: &[&str]) {
        self.drain();
        let at = self.calls.iter().position(|call| call.request.path.contains(plural) && !call.watch);
        let call = self.calls.remove(at.unwrap_or_else(|| panic!("{plural} is listed: {:?}", self.calls))).id;
        let items: Vec<String> = items.iter().map(|item| json(item, 1)).collect();
        let body = format!(r#"{{"metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#, items.join(","));
        self.give(Input::Head { call, head: OK });
        self.give(Input::Body { call, bytes: body.as_bytes() });
        self.give(Input::End { call });
        let watch = self.watch_of(plural);
        self.give(Input::Head { call: watch, head: OK });
    }

    fn watch_of(&self, plural: &str) -> CallId {
        let watch = self.calls.iter().find(|call| call.request.path.contains(plural) && call.watch);
        watch.unwrap_or_else(|| panic!("{plural} is watched: {:?}", self.calls)).id
    }

    fn event(&mut self, plural: &str, change: &str, item: &str, version: u32) {
        let call = self.watch_of(plural);
        let line = format!("{{\"type\":\"{change}\",\"object\":{}}}\n", json(item, version));
        self.give(Input::Body { call, bytes: line.as_bytes() });
    }

    fn keys(&mut self) -> Vec<String> {
        core::iter::from_fn(|| self.machine.poll_key(self.now)).map(|work| work.key.to_string()).collect()
    }

    fn finish_all(&mut self, id: ControllerId, keys: &[&str]) {
        for key in keys {
            let work = Work { controller: id, key: Key::explicit(key) };
            assert!(self.machine.handle_result(self.now, &work, Ok::<_, String>(When::Changed)), "{key}");
        }
        self.drain();
    }
}

fn json(item: &str, version: u32) -> String {
    if item.starts_with('{') {
        return item.to_string();
    }
    let (namespace, name) = item.split_once('/').unwrap_or(("", item));
    format!(
        r#"{{"metadata":{{"namespace":"{namespace}","name":"{name}","uid":"u-{name}","resourceVersion":"{version}"}}}}"#
    )
}

fn owned(name: &str, version: u32, owner: &str, uid: &str) -> String {
    let owner =
        format!(r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{owner}","uid":"{uid}","controller":true}}"#);
    let rest = format!(r#""namespace":"n","name":"{name}","uid":"u-{name}","resourceVersion":"{version}""#);
    format!(r#"{{"metadata":{{{rest},"ownerReferences":[{owner}]}}}}"#)
}

fn pods(bench: &mut Bench, concurrency: usize) -> (WatchId<Pod>, ControllerId) {
    let watch = bench.machine.watch::<Pod>(Config::new(Resource::PODS));
    let controller = Controller::new("test", watch).concurrency(concurrency);
    (watch, bench.machine.add(bench.now, controller).unwrap())
}

#[test]
fn each_key_is_handed_out_once_and_again_when_it_changed_meanwhile() {
    let mut bench = Bench::new();
    let (watch, id) = pods(&mut bench, 9);
    assert_eq!(bench.machine.poll_key(bench.now), None);
    bench.list("pods", &["n/a", "n/b"]);
    assert!(bench.machine.has_synced(watch) && bench.machine.all_synced());
    assert_eq!(bench.keys(), ["n/a", "n/b"]);
    bench.event("pods", "MODIFIED", "n/a", 2);
    bench.event("pods", "DELETED", "n/b", 3);
    assert!(bench.keys().is_empty(), "both are being reconciled");
    bench.finish_all(id, &["n/a", "n/b"]);
    assert_eq!(bench.keys(), ["n/a", "n/b"]);
    assert_eq!(bench.machine.store(watch).unwrap().len(), 1);
    bench.finish_all(id, &["n/a", "n/b"]);
    assert!(bench.keys().is_empty());
}

#[test]
fn no_more_keys_are_out_than_the_controller_wants() {
    let mut bench = Bench::new();
    let (_, id) = pods(&mut bench, 2);
    bench.list("pods", &["n/a", "n/b", "n/c"]);
    assert_eq!(bench.keys(), ["n/a", "n/b"]);
    assert_eq!(bench.machine.waiting(id), 1);
    bench.finish_all(id, &["n/a"]);
    assert_eq!(bench.keys(), ["n/c"]);
}

#[test]
fn a_failure_is_tried_again_later_each_time_and_a_success_forgets_it() {
    let mut bench = Bench::new();
    let (_, controller) = pods(&mut bench, 1);
    bench.list("pods", &["n/a"]);
    let work = Work { controller, key: Key::explicit("n/a") };
    let mut pause = Duration::from_millis(5);
    for _ in 0..4 {
        assert_eq!(bench.keys(), ["n/a"]);
        assert!(bench.machine.handle_result(bench.now, &work, Err("no")));
        bench.drain();
        assert_eq!(bench.until, Some(bench.now.instant + pause));
        assert!(bench.keys().is_empty());
        bench.pass(pause);
        pause *= 2;
    }
    assert_eq!(bench.keys(), ["n/a"]);
    assert!(bench.machine.handle_result(bench.now, &work, Ok::<_, String>(When::After(Duration::from_secs(9)))));
    bench.pass(Duration::from_secs(8));
    assert!(bench.keys().is_empty());
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.keys(), ["n/a"]);
    assert!(bench.machine.handle_result(bench.now, &work, Err("no")));
    bench.pass(Duration::from_millis(5));
    assert_eq!(bench.keys(), ["n/a"], "the first pause is short again");
}

#[test]
fn a_key_that_is_due_again_while_it_is_out_leaves_no_deadline_behind() {
    let mut bench = Bench::new();
    let (_, id) = pods(&mut bench, 2);
    bench.list("pods", &["n/a"]);
    assert_eq!(bench.keys(), ["n/a"]);
    let work = Work { controller: id, key: Key::explicit("n/a") };
    let later = Duration::from_secs(5);
    assert!(bench.machine.handle_result(bench.now, &work, Ok::<_, String>(When::After(later))));
    bench.drain();
    assert_eq!(bench.until, Some(bench.now.instant + later));
    bench.event("pods", "MODIFIED", "n/a", 2);
    assert_eq!(bench.keys(), ["n/a"]);
    bench.pass(later);
    assert!(bench.until.is_some_and(|until| until > bench.now.instant), "{:?}", bench.until);
    assert!(bench.keys().is_empty());
    bench.finish_all(id, &["n/a"]);
    assert_eq!(bench.keys(), ["n/a"]);
}

#[test]
fn a_result_for_a_key_that_is_not_out_changes_nothing() {
    let mut bench = Bench::new();
    let (_, controller) = pods(&mut bench, 1);
    bench.list("pods", &[]);
    let work = Work { controller, key: Key::explicit("n/a") };
    assert!(!bench.machine.handle_result(bench.now, &work, Err("no")));
    let nobody = Work { controller: ControllerId(99), key: Key::explicit("n/a") };
    assert!(!bench.machine.handle_result(bench.now, &nobody, Err("no")));
    assert!(bench.keys().is_empty());
}

#[test]
fn what_an_object_controls_wakes_it_if_the_uid_is_right() {
    let mut bench = Bench::new();
    let sets = bench.machine.watch::<ReplicaSet>(Config::new(Resource::REPLICA_SETS));
    let pods = bench.machine.watch::<Pod>(Config::new(Resource::PODS));
    let id = bench.machine.add(bench.now, Controller::new("test", sets).owns(pods).concurrency(9)).unwrap();
    bench.list("replicasets", &["n/web", "n/db"]);
    assert!(bench.keys().is_empty(), "pods are not known yet");
    bench.list("pods", &[&owned("p0", 2, "web", "u-web")]);
    assert_eq!(bench.keys(), ["n/web", "n/db"]);
    bench.finish_all(id, &["n/web", "n/db"]);
    bench.event("pods", "ADDED", &owned("p1", 2, "web", "u-web"), 2);
    assert_eq!(bench.keys(), ["n/web"]);
    bench.finish_all(id, &["n/web"]);
    bench.event("pods", "ADDED", &owned("p2", 2, "web", "another"), 2);
    bench.event("pods", "ADDED", &owned("p3", 2, "gone", "u-gone"), 2);
    bench.event("pods", "ADDED", "n/orphan", 2);
    assert!(bench.keys().is_empty());
    // Both the former and the new owner hear of a change of owners.
    bench.event("pods", "MODIFIED", &owned("p1", 3, "db", "u-db"), 2);
    assert_eq!(bench.keys(), ["n/web", "n/db"]);
}

#[test]
fn an_object_wakes_the_keys_that_the_map_finds_in_the_caches() {
    let mut bench = Bench::new();
    let pods = bench.machine.watch::<Pod>(Config::new(Resource::PODS));
    let sets = bench.machine.watch::<MetadataOnly>(Config::new(Resource::REPLICA_SETS));
    let controller = Controller::new("test", pods).concurrency(9).watches(sets, move |set, caches, wake| {
        let pods = caches.store(pods).into_iter().flat_map(Store::keys);
        pods.filter(|key| key.name().starts_with(set.meta.name())).for_each(|key| wake(key.clone()));
    });
    let id = bench.machine.add(bench.now, controller).unwrap();
    bench.list("replicasets", &[]);
    bench.list("pods", &["n/web-1", "n/web-2", "n/db-1"]);
    assert_eq!(bench.keys().len(), 3);
    bench.finish_all(id, &["n/web-1", "n/web-2", "n/db-1"]);
    bench.event("replicasets", "ADDED", "n/web", 2);
    assert_eq!(bench.keys(), ["n/web-1", "n/web-2"]);
}

#[test]
fn controllers_share_a_watch_and_join_and_leave() {
    let mut bench = Bench::new();
    let (watch, first) = pods(&mut bench, 9);
    bench.list("pods", &["n/a"]);
    assert_eq!(bench.keys(), ["n/a"]);
    let second = bench.machine.add(bench.now, Controller::new("second", watch)).unwrap();
    bench.drain();
    assert_eq!(bench.calls.len(), 1, "one watch serves both");
    let work = bench.machine.poll_key(bench.now).unwrap();
    assert_eq!((work.controller, work.key.as_str()), (second, "n/a"));
    bench.finish_all(second, &["n/a"]);
    assert!(!bench.machine.is_idle(first));
    assert!(bench.machine.remove(bench.now, first));
    assert!(!bench.machine.remove(bench.now, first), "it has left already");
    assert_eq!(bench.machine.remove_watch(watch), Err(Misuse::InUse));
    bench.finish_all(first, &["n/a"]);
    assert!(bench.machine.is_idle(first));
    bench.event("pods", "MODIFIED", "n/a", 2);
    assert_eq!(bench.keys(), ["n/a"], "only the second is told");
    bench.finish_all(second, &["n/a"]);
    assert!(bench.machine.remove(bench.now, second));
    let call = bench.watch_of("pods");
    assert_eq!(bench.machine.remove_watch(watch), Ok(()));
    assert_eq!(bench.machine.remove_watch(watch), Err(Misuse::NotWatched));
    bench.drain();
    assert_eq!(bench.cancelled, [call]);
    assert!(bench.machine.add(bench.now, Controller::new("late", watch)).is_err());
    assert!(bench.machine.store(watch).is_none());
}

#[test]
fn a_reader_is_told_of_changes_until_it_leaves() {
    let mut bench = Bench::new();
    let watch = bench.machine.watch::<Pod>(Config::new(Resource::PODS));
    let reader = bench.machine.add_handler(bench.now, watch, HandlerOptions::default()).unwrap();
    bench.list("pods", &["n/a"]);
    bench.event("pods", "DELETED", "n/a", 2);
    let told: Vec<String> = core::iter::from_fn(|| bench.machine.poll_change(watch, reader))
        .map(|(key, change)| format!("{key} {change:?}"))
        .collect();
    assert_eq!(told, ["n/a Add(initial)", "n/a Delete(Deleted)"]);
    assert!(bench.machine.remove_handler(watch, reader));
    assert!(!bench.machine.remove_handler(watch, reader));
    bench.event("pods", "ADDED", "n/b", 3);
    assert!(bench.machine.poll_change(watch, reader).is_none());
}

#[test]
fn a_resync_looks_at_everything_again() {
    let mut bench = Bench::new();
    let period = Duration::from_secs(60);
    let config = Config { resync_period: period, ..Config::new(Resource::PODS) };
    let watch = bench.machine.watch::<Pod>(config);
    let id = bench.machine.add(bench.now, Controller::new("test", watch).resync(period).concurrency(9)).unwrap();
    bench.list("pods", &["n/a", "n/b"]);
    assert_eq!(bench.keys().len(), 2);
    bench.finish_all(id, &["n/a", "n/b"]);
    bench.pass(period - Duration::from_secs(1));
    assert!(bench.keys().is_empty());
    bench.pass(Duration::from_secs(2));
    assert_eq!(bench.keys(), ["n/a", "n/b"]);
}

#[test]
fn a_stop_hands_nothing_out_and_waits_for_what_is_out() {
    let mut bench = Bench::new();
    let (_, id) = pods(&mut bench, 1);
    bench.list("pods", &["n/a", "n/b"]);
    assert_eq!(bench.keys(), ["n/a"]);
    let call = bench.watch_of("pods");
    bench.give(Input::Stop);
    assert_eq!(bench.cancelled, [call]);
    assert!(!bench.stopped && bench.machine.is_stopping());
    bench.finish_all(id, &["n/a"]);
    assert!(bench.stopped);
    assert!(bench.keys().is_empty());
}

#[test]
fn an_input_before_the_outputs_are_drained_is_misuse() {
    let mut machine = Controllers::new(Limits::default(), 0);
    let _ = machine.watch::<Pod>(Config::new(Resource::PODS));
    let now = Now::default();
    machine.handle_input(now, Input::Timeout).unwrap();
    assert_eq!(machine.handle_input(now, Input::Timeout), Err(Misuse::NotDrained));
    assert!(matches!(machine.poll_output(now), Output::Call(_)));
    assert_eq!(machine.handle_input(now, Input::Timeout), Err(Misuse::NotDrained));
    assert!(matches!(machine.poll_output(now), Output::Wait { .. }));
    assert_eq!(machine.handle_input(now, Input::End { call: CallId(77) }), Err(Misuse::UnknownCall));
}

/// The call that writes an event.
fn event_call(bench: &mut Bench) -> Call {
    let event = Event {
        component: "test".into(),
        object: ObjectReference {
            kind: "Pod".into(),
            namespace: "n".into(),
            name: "a".into(),
            uid: "u".into(),
            api_version: "v1".into(),
            resource_version: "1".into(),
        },
        event_type: EventType::Normal,
        reason: "Looked".into(),
        message: "at it".into(),
    };
    bench.machine.record(bench.now, event);
    bench.drain();
    bench.calls.pop().expect("the event is written")
}

#[test]
fn an_event_is_written_beside_the_watches() {
    let mut bench = Bench::new();
    let call = event_call(&mut bench);
    assert_eq!(call.request.path, "/api/v1/namespaces/n/events");
    bench.give(Input::Head { call: call.id, head: Head::new(201) });
    bench.give(Input::End { call: call.id });
    bench.give(Input::Stop);
    assert!(bench.stopped);
}

#[test]
fn a_stop_makes_no_call_again_that_a_busy_server_refuses() {
    let mut bench = Bench::new();
    let call = event_call(&mut bench).id;
    bench.give(Input::Stop);
    assert!(!bench.stopped);
    let busy = Head { retry_after: Some(Duration::from_secs(9)), ..Head::new(429) };
    bench.give(Input::Head { call, head: busy });
    bench.give(Input::End { call });
    assert!(bench.stopped);
}

#[test]
fn a_stop_keeps_no_call_beyond_its_own_deadline() {
    let mut bench = Bench::new();
    let call = event_call(&mut bench);
    bench.pass(call.deadline.since(bench.now.instant) - Duration::from_millis(20));
    bench.give(Input::Stop);
    assert_eq!((bench.stopped, bench.until), (false, Some(call.deadline)));
    bench.pass(Duration::from_millis(20));
    assert_eq!((bench.stopped, &*bench.cancelled), (true, &[call.id][..]));
}

#[cfg(feature = "std")]
#[test]
fn a_cache_is_read_while_the_machine_is_driven() {
    let mut bench = Bench::new();
    let (watch, _) = pods(&mut bench, 1);
    bench.machine.add_index(watch, "namespace", crate::store::namespace_index()).unwrap();
    bench.list("pods", &["n/a", "m/b"]);
    let shared = Shared::new(bench.machine);
    let cache = shared.cache(watch);
    fn readable_anywhere<T: Send + Sync + Clone>(it: &T) -> T {
        it.clone()
    }
    let reader = readable_anywhere(&cache);
    assert_eq!((reader.len(), reader.list().len(), reader.find("n/a").is_some()), (2, 2, true));
    assert_eq!(reader.by_index("namespace", "m").unwrap().len(), 1);
    assert!(cache.has_synced() && !cache.is_empty());
    assert_eq!(cache.by_index("name", "m").unwrap_err(), Misuse::NoSuchIndex);
    assert_eq!(cache.resource(), Some(Resource::PODS));
}
