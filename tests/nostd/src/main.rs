//! A program without std and without libc that runs the core on recorded bytes and checks what comes out: the controller as a
//! whole, and some of its stages.
//!
//! That it links is the proof that the core needs nothing but memory. `cargo run --manifest-path tests/nostd/Cargo.toml`
//! prints a line a check and exits with zero if all of them held.
#![no_std]
#![no_main]

extern crate alloc;

mod bare;
mod controller;

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::Write;
use core::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use sanskube::key::Key;
use sanskube::object::Meta;
use sanskube::object::selector::{LabelSelector, Selector};
use sanskube::time::Instant;
use sanskube::workqueue::{Finish, Get, WorkQueue, rate};
use serde::Deserialize;

/// What an API server sent: a set, and a pod that it controls.
const REPLICA_SET: &[u8] = include_bytes!("../recorded/replica_set.json");
const POD: &[u8] = include_bytes!("../recorded/pod.json");

/// Each check panics if it does not hold.
const CHECKS: [(&str, fn()); 5] = [
    ("a recorded pod and its set are decoded and belong together", views),
    ("a k8s-openapi type decodes the same bytes", k8s_openapi_type),
    ("a failing key is retried later and later until it succeeds", work_queue),
    ("a thousand keys go through the queue and leave nothing behind", many_keys),
    ("the controller asks for what kube-controller-manager asked for on the same bytes", controller::run),
];

fn run() -> u8 {
    for (name, check) in CHECKS {
        check();
        say(format_args!("ok    {name}"));
    }
    say(format_args!("{} checks, {} KiB of heap", CHECKS.len(), bare::heap_used() >> 10));
    0
}

fn say(line: core::fmt::Arguments<'_>) {
    writeln!(bare::Output, "{line}").expect("the standard output takes a line");
}

#[derive(Deserialize)]
struct Set {
    metadata: Meta,
    spec: SetSpec,
}

#[derive(Deserialize)]
struct SetSpec {
    selector: LabelSelector,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Meta,
}

fn views() {
    let set: Set = serde_json::from_slice(REPLICA_SET).expect("a recorded set");
    let pod: Pod = serde_json::from_slice(POD).expect("a recorded pod");
    let selector = Selector::try_from(&set.spec.selector).expect("the selector of a recorded set");
    assert_eq!(selector.to_string(), "app=web");
    assert!(selector.matches(&pod.metadata.labels));
    assert!(!Selector::parse("app notin (web,shop),tier").expect("a selector").matches(&pod.metadata.labels));
    assert!(pod.metadata.is_controlled_by(&set.metadata.uid));
    assert_eq!(pod.metadata.key, Key::new("golden", "a"));
    assert_eq!(pod.metadata.creation.map(|time| time.to_string()).as_deref(), Some("2026-11-29T18:14:02Z"));
    assert!(serde_json::from_slice::<Pod>(&POD[..POD.len() / 2]).is_err());
}

fn k8s_openapi_type() {
    let set: ReplicaSet = serde_json::from_slice(REPLICA_SET).expect("a recorded set");
    let spec = set.spec.expect("a set has a spec");
    assert_eq!((set.metadata.name.as_deref(), spec.replicas), (Some("web"), Some(1)));
    let containers = spec.template.and_then(|template| template.spec).map(|spec| spec.containers);
    assert_eq!(containers.as_ref().and_then(|all| all[0].image.as_deref()), Some("registry.example/app:1"));
}

fn work_queue() {
    let mut queue = WorkQueue::new(rate::default_controller());
    let web = Key::new("golden", "web");
    let mut now = Instant::ZERO;
    queue.add(now, web.clone());
    let mut waits = Vec::new();
    for _ in 0..5 {
        assert_eq!(queue.poll_get(now), Get::Item(web.clone()));
        queue.finish(now, &web, Finish::Retry);
        let until = queue.next_deadline().expect("a retry waits");
        waits.push(until.since(now));
        now = until;
    }
    assert_eq!(waits, [5, 10, 20, 40, 80].map(Duration::from_millis));
    assert_eq!(queue.poll_get(now), Get::Item(web.clone()));
    queue.finish(now, &web, Finish::Done);
    assert_eq!((queue.poll_get(now), queue.tracked()), (Get::Empty { until: None }, 0));
}

fn many_keys() {
    let mut queue = WorkQueue::new(rate::default_item_based());
    let start = Instant::ZERO;
    for i in 0_u64..1_000 {
        queue.add_after(start, Key::new("golden", &i.to_string()), Duration::from_millis(1_000 - i));
    }
    let now = start + Duration::from_secs(1);
    let mut taken = Vec::new();
    while let Get::Item(key) = queue.poll_get(now) {
        queue.finish(now, &key, Finish::Done);
        taken.push(key);
    }
    assert!(taken.iter().map(|key| key.name()).eq((0..1_000).rev().map(|i| i.to_string())));
    assert_eq!((queue.waiting(), queue.tracked()), (0, 0));
    queue.shut_down(now);
    assert_eq!(queue.poll_get(now), Get::ShutDown);
}
