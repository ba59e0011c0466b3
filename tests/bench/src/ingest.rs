//! `ingest`: a list from a file goes into an informer with the controller's indexes, and each change is taken by a handler.

use std::error::Error;
use std::time::Instant as Clock;

use sanskube::delta::{InOrderFifo, Queue};
use sanskube::informer::{Change, HandlerOptions, Informer};
use sanskube::object::{Pod, Resource};
use sanskube::reflector::Config;
use sanskube::replicaset::index_pods;
use sanskube::request::{CallIds, Head};
use sanskube::store::Store;
use sanskube::time::Now;
use serde::de::IgnoredAny;

use crate::allocator;

/// How much a socket gives at once.
const PIECE: usize = 64 << 10;

/// Reads the file and prints a line; first one for what only skipping the same bytes costs.
pub(crate) fn run(file: &str) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(file)?;
    let start = Clock::now();
    serde_json::from_slice::<IgnoredAny>(&bytes)?;
    println!("skipping: {:.1} MB/s", bytes.len() as f64 / 1e6 / start.elapsed().as_secs_f64());

    let before = allocator::counts();
    allocator::reset_peak();
    let start = Clock::now();
    let (informer, taken) = ingest(&bytes);
    let elapsed = start.elapsed().as_secs_f64();
    let (after, objects) = (allocator::counts(), informer.store().len());
    assert_eq!(taken, objects, "the handler is told of every pod");
    println!(
        "sanskube: {objects} objects, {:.0} objects/s, {:.1} MB/s, {} bytes an object, peak {} bytes an object, {:.1} allocations an object",
        objects as f64 / elapsed,
        bytes.len() as f64 / 1e6 / elapsed,
        (after.live - before.live) / objects.max(1),
        (after.peak - before.live) / objects.max(1),
        (after.calls - before.calls) as f64 / objects.max(1) as f64,
    );
    Ok(())
}

/// The informer with all pods of the list in it, and how many its handler was told of.
fn ingest(list: &[u8]) -> (Informer<Pod>, usize) {
    let mut store = Store::new();
    index_pods(&mut store);
    let queue = Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks());
    let mut informer = Informer::with_queue(Config::new(Resource::PODS), queue, store);
    let now = Now::default();
    let handler = informer.add_handler(now, HandlerOptions::default());

    let call = informer.poll_call(now, &mut CallIds::default()).expect("an informer begins with a list");
    let answered = "the call is in flight";
    informer.handle_head(now, call.id, Head { status: 200, retry_after: None }).expect(answered);
    for piece in list.chunks(PIECE) {
        informer.handle_body(now, call.id, piece).expect(answered);
    }
    informer.handle_end(now, call.id).expect(answered);

    let mut taken = 0;
    while let Some((_, change)) = informer.poll_change(handler) {
        taken += usize::from(matches!(change, Change::Add { initial: true, .. }));
    }
    (informer, taken)
}
