use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::*;
use crate::object::{MetadataOnly, Resource};
use crate::reflector::Config;
use crate::request::{Call, Failure, Head};

const OK: Head = Head::new(200);

fn watcher(
    told: &mut Vec<String>,
) -> Watcher<MetadataOnly, impl FnMut(&Store<MetadataOnly>, Key, Change<MetadataOnly>)> {
    let on_change = |store: &Store<MetadataOnly>, key: Key, change: Change<MetadataOnly>| {
        told.push(format!("{key} {change:?} of {}", store.len()));
    };
    Watcher::new(Informer::new(Config::new(Resource::PODS)), on_change)
}

fn call(machine: &mut impl Machine, now: Now) -> Call {
    match machine.poll_output(now) {
        Output::Call(call) => {
            assert!(matches!(machine.poll_output(now), Output::Wait { until: Some(_) }));
            call
        }
        other => panic!("{other:?}"),
    }
}

fn drain(machine: &mut impl Machine, now: Now) {
    assert!(matches!(machine.poll_output(now), Output::Wait { .. }));
}

#[test]
fn a_collection_is_listed_watched_and_told_of() {
    let mut told = Vec::new();
    let mut watcher = watcher(&mut told);
    let now = Now::default();
    let list = call(&mut watcher, now).id;
    watcher.handle_input(now, Input::Head { call: list, head: OK }).unwrap();
    assert_eq!(watcher.handle_input(now, Input::End { call: list }), Err(Misuse::NotDrained));
    drain(&mut watcher, now);
    let body = br#"{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"namespace":"n","name":"a","resourceVersion":"3"}}]}"#;
    watcher.handle_input(now, Input::Body { call: list, bytes: body }).unwrap();
    drain(&mut watcher, now);
    watcher.handle_input(now, Input::End { call: list }).unwrap();
    let watch = call(&mut watcher, now);
    assert!(watch.watch && watch.request.path.contains("resourceVersion=5"));
    assert_eq!(watcher.handle_input(now, Input::End { call: list }), Err(Misuse::UnknownCall));
    watcher.handle_input(now, Input::Head { call: watch.id, head: OK }).unwrap();
    drain(&mut watcher, now);
    let line = b"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"resourceVersion\":\"6\"}}}\n";
    watcher.handle_input(now, Input::Body { call: watch.id, bytes: line }).unwrap();
    assert!(watcher.informer().has_synced());
    drop(watcher);
    assert_eq!(told, ["n/a Add(initial) of 1", "n/a Delete(Deleted) of 0"]);
}

#[test]
fn a_failure_is_followed_by_a_call_after_a_while() {
    let mut told = Vec::new();
    let mut watcher = watcher(&mut told);
    let now = Now::default();
    let list = call(&mut watcher, now).id;
    watcher.handle_input(now, Input::Failed { call: list, failure: Failure::Refused }).unwrap();
    let Output::Wait { until: Some(until) } = watcher.poll_output(now) else { panic!("it does not wait") };
    assert!(until > now.instant);
    let then = now.after(until.since(now.instant));
    watcher.handle_input(then, Input::Timeout).unwrap();
    call(&mut watcher, then);
}

#[test]
fn a_stop_gives_up_the_call_in_flight() {
    let mut told = Vec::new();
    let mut watcher = watcher(&mut told);
    let now = Now::default();
    let list = call(&mut watcher, now).id;
    watcher.handle_input(now, Input::Stop).unwrap();
    assert_eq!(watcher.poll_output(now), Output::Cancel(list));
    assert_eq!(watcher.poll_output(now), Output::Stopped);
    watcher.handle_input(now.after(Duration::from_secs(100)), Input::Timeout).unwrap();
    assert_eq!(watcher.poll_output(now), Output::Stopped);
}

#[test]
fn a_stop_that_comes_late_cancels_a_call_that_took_too_long() {
    let mut told = Vec::new();
    let mut watcher = watcher(&mut told);
    let now = Now::default();
    let list = call(&mut watcher, now);
    let late = now.after(list.deadline.since(now.instant));
    watcher.handle_input(late, Input::Stop).unwrap();
    assert_eq!(watcher.poll_output(late), Output::Cancel(list.id));
    assert_eq!(watcher.poll_output(late), Output::Stopped);
}
