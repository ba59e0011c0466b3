//! `ingest`: a list from a file goes into an informer with the controller's indexes, and each change is taken by a handler.

use std::time::Instant as Clock;

use sanskube::request::Encoding;
use serde::de::IgnoredAny;

use crate::allocator;
use crate::feed::Fed;
use crate::measure::measured;

/// What taking in a list costs.
pub(crate) struct Ingest {
    pub(crate) objects: usize,
    pub(crate) seconds: f64,
    /// Bytes an object afterwards.
    pub(crate) bytes: usize,
    /// Bytes an object at most meanwhile.
    pub(crate) peak: usize,
    /// Allocations an object.
    pub(crate) calls: f64,
}

/// Reads the file and prints a line; first one for what only skipping the same JSON costs.
pub(crate) fn run(file: &str, encoding: Encoding) -> crate::Result {
    let list = std::fs::read(file)?;
    let megabytes = list.len() as f64 / 1e6;
    if encoding == Encoding::Json {
        println!("skipping: {:.1} MB/s", megabytes / skip(&list)?);
    }
    let Ingest { objects, seconds, bytes, peak, calls } = ingest(&list, encoding);
    println!(
        "sanskube: {objects} objects, {:.0} objects/s, {:.1} MB/s, {bytes} bytes an object, peak {peak} bytes an object, {calls:.1} allocations an object",
        objects as f64 / seconds,
        megabytes / seconds,
    );
    Ok(())
}

/// The seconds that serde_json takes to skip the list.
pub(crate) fn skip(list: &[u8]) -> Result<f64, serde_json::Error> {
    let start = Clock::now();
    serde_json::from_slice::<IgnoredAny>(list)?;
    Ok(start.elapsed().as_secs_f64())
}

pub(crate) fn ingest(list: &[u8], encoding: Encoding) -> Ingest {
    let before = allocator::counts();
    allocator::reset_peak();
    let mut fed = Fed::new(encoding);
    let mut told = 0;
    let cost = measured(&mut || {
        fed.list(list);
        told = fed.drain();
    });
    let (after, objects) = (allocator::counts(), fed.informer.store().len());
    assert_eq!(told, objects, "the handler is told of every pod");
    let each = |bytes: usize| (bytes - before.live) / objects.max(1);
    Ingest {
        objects,
        seconds: cost.seconds,
        bytes: each(after.live),
        peak: each(after.peak),
        calls: cost.allocations as f64 / objects.max(1) as f64,
    }
}
