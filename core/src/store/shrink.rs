//! Giving memory back: collections that have become much smaller than their capacity shrink.
//!
//! Growth doubles; this halves when a quarter is in use, so a run of additions and removals costs a constant each on average. What is
//! empty holds no memory at all.

use alloc::vec::Vec;

/// Elements below which the memory is not worth an allocation to get back, unless nothing is left.
const WORTHWHILE: usize = 16;

/// The capacity to shrink to, if it should.
pub(super) fn target(len: usize, capacity: usize) -> Option<usize> {
    match len {
        0 if capacity > 0 => Some(0),
        _ if capacity > WORTHWHILE && len < capacity / 4 => Some(len * 2),
        _ => None,
    }
}

/// Shrinks a vector that has become too large for what it holds.
pub(super) fn vec<T>(vec: &mut Vec<T>) {
    if let Some(capacity) = target(vec.len(), vec.capacity()) {
        vec.shrink_to(capacity);
    }
}
