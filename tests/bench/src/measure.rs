//! What a piece of work costs.

use std::time::Instant as Clock;

use crate::allocator;

/// Time and allocations of a piece of work.
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) allocations: usize,
}

/// Does what is to be measured, and nothing else: `.ci/budget` counts the instructions in here alone, by this name.
#[inline(never)]
pub(crate) fn measured(work: &mut dyn FnMut()) -> Cost {
    let (before, start) = (allocator::counts(), Clock::now());
    work();
    let seconds = start.elapsed().as_secs_f64();
    Cost { seconds, allocations: allocator::counts().calls - before.calls }
}
