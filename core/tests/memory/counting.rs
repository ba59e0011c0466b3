//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// The bytes that this thread has allocated and not freed.
    static ALLOCATED: Cell<isize> = const { Cell::new(0) };
    /// How often this thread has allocated.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// The most that was ever allocated since the last time this was asked for.
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is left to the system's allocator; beside that three numbers are kept, without allocating.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size() as isize);
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        PEAK.set(PEAK.get().max(ALLOCATED.get()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.set(ALLOCATED.get() - layout.size() as isize);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes that this thread has allocated and not freed.
pub(crate) fn allocated() -> isize {
    ALLOCATED.get()
}

/// How often this thread has allocated.
pub(crate) fn allocations() -> usize {
    ALLOCATIONS.get()
}

/// How much more than before was allocated at any time while `work` was done.
pub(crate) fn peak_of(work: impl FnOnce()) -> isize {
    let start = ALLOCATED.get();
    PEAK.set(start);
    work();
    PEAK.get() - start
}
