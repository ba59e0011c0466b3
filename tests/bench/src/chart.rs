//! `chart`: the numbers that the charts in the docs are drawn from, as CSV.

use std::fs::File;
use std::io::BufWriter;
use std::time::{Duration, Instant as Clock};

use sanskube::request::Encoding;

use crate::feed::Fed;
use crate::peer::Peer;
use crate::scale::sizes;
use crate::{allocator, generator};

/// Prints a line for each number of pods up to `most`. kube-rs is asked up to `peer_most`: it takes some 50 KB a pod.
pub(crate) fn run(most: usize, peer_most: usize) -> crate::Result {
    println!("pods,sanskube bytes,sanskube seconds,kube-rs bytes,kube-rs seconds");
    for pods in sizes(most) {
        let before = allocator::counts().live;
        let mut fed = Fed::new(Encoding::Json);
        let seconds = taken_in(&mut fed, pods).as_secs_f64();
        let bytes = allocator::counts().live - before;
        drop(fed);
        let peer = if pods <= peer_most { ask(pods)? } else { Peer::default() };
        let theirs = |number: Option<f64>| number.map_or_else(String::new, |number| format!("{number:.4}"));
        let their_bytes = peer.bytes.map(|bytes| bytes * pods as f64);
        let their_seconds = peer.objects.map(|objects| pods as f64 / objects);
        println!("{pods},{bytes},{seconds:.4},{},{}", theirs(their_bytes), theirs(their_seconds));
    }
    Ok(())
}

/// Takes in a list of so many pods, and tells the changes. The list is made meanwhile, which is not counted.
fn taken_in(fed: &mut Fed, pods: usize) -> Duration {
    let call = fed.open();
    let mut taken = Duration::ZERO;
    let mut count = |work: &mut dyn FnMut()| {
        let start = Clock::now();
        work();
        taken += start.elapsed();
    };
    count(&mut || {
        fed.body(call, br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":["#);
    });
    for n in 0..pods {
        let mut item = generator::pod(n, 0);
        item.push_str(if n + 1 == pods { "]}" } else { "," });
        count(&mut || fed.body(call, item.as_bytes()));
    }
    count(&mut || {
        fed.end(call);
        assert_eq!(fed.drain(), pods, "the handler is told of every pod");
    });
    taken
}

fn ask(pods: usize) -> crate::Result<Peer> {
    let list = std::env::temp_dir().join(format!("sanskube-bench-{}.json", std::process::id()));
    generator::write_list(pods, &mut BufWriter::new(File::create(&list)?))?;
    let mut peer = Peer::kube_rs();
    let asked = peer.ingest(&list);
    std::fs::remove_file(&list)?;
    asked.map(|()| peer)
}
