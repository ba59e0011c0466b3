//! An allocator that counts.

#![expect(unsafe_code, reason = "an allocator is unsafe by its trait; this one only counts and forwards")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Forwards to the system's allocator and counts bytes as they were asked for.
#[derive(Debug)]
pub(crate) struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// What the allocator has counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// Bytes allocated and not freed.
    pub live: usize,
    /// The most bytes that were live since the last [`reset_peak`].
    pub peak: usize,
    /// Calls that allocated or grew.
    pub calls: usize,
}

/// What has been counted so far.
pub(crate) fn counts() -> Counts {
    Counts { live: LIVE.load(Relaxed), peak: PEAK.load(Relaxed), calls: CALLS.load(Relaxed) }
}

/// Lets the peak begin anew at what is live now.
pub(crate) fn reset_peak() {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
}

fn grow(bytes: usize) {
    CALLS.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, and the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() {
            grow(size - layout.size());
        } else {
            LIVE.fetch_sub(layout.size() - size, Relaxed);
        }
        // SAFETY: the caller keeps the contract of `realloc`, and the pointer came from the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
