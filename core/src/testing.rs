//! Random input for tests: the same seed, the same input.

use alloc::string::String;

use crate::rand::SplitMix64;

/// A generator with what tests draw.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One of the things.
    pub(crate) fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len() as u64) as usize]
    }

    /// Up to `most` of the pieces, joined.
    pub(crate) fn text(&mut self, pieces: &[&str], most: u64) -> String {
        (0..self.below(most + 1)).map(|_| *self.pick(pieces)).collect()
    }
}
