//! `scale`: what a pod takes and an event costs as a cluster grows, and what a list costs that is taken in again.

use sanskube::request::Encoding;

use crate::allocator;
use crate::churn::{Churn, churn, events, list, watched};

/// One pod in so many has changed when a list is taken in again.
const CHANGED: usize = 20;

/// Memory and time with so many pods.
pub(crate) struct Size {
    pub(crate) pods: usize,
    /// Bytes a pod, all indexes and strings included.
    pub(crate) bytes: usize,
    /// The most that is held while a list is taken in again, in relation to what is held before.
    pub(crate) relist: f64,
    pub(crate) event: Churn,
}

pub(crate) fn run(most: usize) -> crate::Result {
    for pods in sizes(most) {
        let Size { bytes, relist, event, .. } = size(pods);
        println!(
            "sanskube: {pods} pods, {bytes} bytes a pod, {:.2} µs an event, {relist:.2} of it during a re-list",
            event.seconds * 1e6
        );
    }
    Ok(())
}

pub(crate) fn sizes(most: usize) -> impl Iterator<Item = usize> {
    (3..).map(|exponent| 10_usize.pow(exponent)).take_while(move |pods| *pods <= most)
}

pub(crate) fn size(pods: usize) -> Size {
    let before = allocator::counts().live;
    let (mut fed, watch) = watched(pods);
    let held = allocator::counts().live - before;
    fed.expire(watch);
    allocator::reset_peak();
    list(&mut fed, pods, |n| usize::from(n % CHANGED == 0));
    let peak = allocator::counts().peak - before;
    assert_eq!(fed.drain(), pods.div_ceil(CHANGED), "what has changed is told");
    let watch = fed.open();
    let event = churn(&mut fed, watch, &events(pods, 5_000, Encoding::Json));
    Size { pods, bytes: held / pods, relist: peak as f64 / held as f64, event }
}
