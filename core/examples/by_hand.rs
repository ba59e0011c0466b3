//! The core by hand, without an adapter: an informer is given the answer to its list from a file, and tells what is in it.
//! `kubectl get pods -A -o json > pods.json; cargo run -p sanskube --example by_hand -- pods.json`

use std::error::Error;

use sanskube::informer::{Change, Informer};
use sanskube::key::Key;
use sanskube::machine::{Input, Machine as _, Output, Watcher};
use sanskube::object::{Pod, Resource};
use sanskube::reflector::Config;
use sanskube::request::Head;
use sanskube::store::Store;
use sanskube::time::Now;

/// Lists the pods that are in the bytes. All the while it is the same moment: the core has no clock of its own.
pub fn list(bytes: &[u8], mut tell: impl FnMut(String)) -> Result<(), Box<dyn Error>> {
    let now = Now::default();
    let on_change = |_: &Store<Pod>, key: Key, change: Change<Pod>| {
        let phase = change.object().map(|pod| pod.phase());
        tell(format!("{key} {phase:?}"));
    };
    let mut watcher = Watcher::new(Informer::new(Config::new(Resource::PODS)), on_change);
    let Output::Call(call) = watcher.poll_output(now) else { return Err("it does not ask for pods".into()) };
    let mut inputs = vec![Input::Head { call: call.id, head: Head::new(200) }];
    // Pieces of any size will do.
    inputs.extend(bytes.chunks(1000).map(|bytes| Input::Body { call: call.id, bytes }));
    inputs.push(Input::End { call: call.id });
    for input in inputs {
        // One input, and then all outputs; here, they are only looked at.
        while !matches!(watcher.poll_output(now), Output::Wait { .. }) {}
        watcher.handle_input(now, input)?;
    }
    match watcher.poll_output(now) {
        Output::Call(watch) if watch.watch => Ok(()),
        _ => Err("the file is not a list".into()),
    }
}

#[allow(dead_code, reason = "the tests use the rest")]
#[allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "whoever drives the core does the I/O")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: by_hand FILE")?;
    list(&std::fs::read(path)?, |line| println!("{line}"))
}
