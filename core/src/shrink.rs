//! Giving memory back: collections that have become much smaller than their capacity shrink.
//!
//! Growth doubles; this halves when a quarter is in use, so a run of additions and removals costs a constant each on average. What is
//! empty holds no memory at all.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::hash::Hash;

use hashbrown::HashMap;

/// Elements below which the memory is not worth an allocation to get back, unless nothing is left.
pub(crate) const WORTHWHILE: usize = 16;

/// Appends to a vector of which much is held for long: what it has to spare is an eighth.
pub(crate) fn push<T>(vec: &mut Vec<T>, value: T) {
    if vec.len() == vec.capacity() {
        vec.reserve_exact((vec.len() / 8).max(if vec.is_empty() { 1 } else { 4 }));
    }
    vec.push(value);
}

/// The capacity to shrink to, if it should.
pub(crate) fn target(len: usize, capacity: usize) -> Option<usize> {
    match len {
        0 if capacity > 0 => Some(0),
        _ if capacity > WORTHWHILE && len < capacity / 4 => Some(len * 2),
        _ => None,
    }
}

/// Shrinks a vector that has become too large for what it holds.
pub(crate) fn vec<T>(vec: &mut Vec<T>) {
    if let Some(capacity) = target(vec.len(), vec.capacity()) {
        vec.shrink_to(capacity);
    }
}

/// Shrinks a queue that has become too large for what it holds, but keeps a little when it empties, as queues often do.
pub(crate) fn queue<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > WORTHWHILE
        && let Some(capacity) = target(queue.len(), queue.capacity())
    {
        queue.shrink_to(capacity);
    }
}

/// Shrinks a map that has become too large for what it holds, but keeps a little when it empties.
pub(crate) fn map<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > WORTHWHILE
        && let Some(capacity) = target(map.len(), map.capacity())
    {
        map.shrink_to(capacity);
    }
}
