//! `sanskube-bench-peers`: kube-rs reads a `PodList` and the lines of a watch from files into its store, as its reflector does.
//!
//! Prints what `sanskube-bench ingest` prints, in the same form.

#[path = "../../src/allocator.rs"]
#[allow(dead_code, reason = "shared with sanskube-bench, which uses all of it")]
mod allocator;

use std::process::ExitCode;
use std::time::Instant;

use k8s_openapi::api::core::v1::Pod;
use kube::core::{ObjectList, WatchEvent};
use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ingest", file] => ingest(file),
        ["churn", list, events] => churn(list, events),
        _ => Err("usage: sanskube-bench-peers ingest LIST | churn LIST EVENTS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn ingest(file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let bytes = std::fs::read(file)?;
    let before = allocator::counts();
    let start = Instant::now();

    let (reader, mut writer) = store::<Pod>();
    let list: ObjectList<Pod> = serde_json::from_slice(&bytes)?;
    writer.apply_watcher_event(&Event::Init);
    for pod in list.items {
        writer.apply_watcher_event(&Event::InitApply(pod));
    }
    writer.apply_watcher_event(&Event::InitDone);

    let (elapsed, objects) = (start.elapsed().as_secs_f64(), reader.len());
    let after = allocator::counts();
    let held = after.live - before.live;
    println!(
        "kube-rs: {objects} objects, {:.0} objects/s, {:.1} MB/s, {} bytes an object, peak {} bytes an object",
        objects as f64 / elapsed,
        bytes.len() as f64 / 1e6 / elapsed,
        held / objects.max(1),
        (after.peak - before.live) / objects.max(1),
    );
    Ok(())
}

fn churn(list: &str, events: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (reader, mut writer) = store::<Pod>();
    let list: ObjectList<Pod> = serde_json::from_slice(&std::fs::read(list)?)?;
    writer.apply_watcher_event(&Event::Init);
    for pod in list.items {
        writer.apply_watcher_event(&Event::InitApply(pod));
    }
    writer.apply_watcher_event(&Event::InitDone);

    let text = std::fs::read_to_string(events)?;
    let start = Instant::now();
    let mut count = 0;
    for line in text.lines() {
        let WatchEvent::Modified(pod) = serde_json::from_str::<WatchEvent<Pod>>(line)? else { continue };
        writer.apply_watcher_event(&Event::Apply(pod));
        count += 1;
    }
    println!("kube-rs: {} pods, {:.0} events/s", reader.len(), f64::from(count) / start.elapsed().as_secs_f64());
    Ok(())
}
