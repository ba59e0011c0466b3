//! How far the first list of a queue has been popped.

/// Whether a queue has been given anything, and how much of the first list is still in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Population {
    populated: bool,
    initial_left: usize,
}

impl Population {
    /// A single change came.
    pub(super) fn touch(&mut self) {
        self.populated = true;
    }

    /// A list came that is popped in `count` pieces. Counts only if it is the first thing that came.
    pub(super) fn fill(&mut self, count: usize) {
        if !self.populated {
            *self = Self { populated: true, initial_left: count };
        }
    }

    /// `count` pieces were popped.
    pub(super) fn pop(&mut self, count: usize) {
        self.initial_left = self.initial_left.saturating_sub(count);
    }

    pub(super) fn initial_left(self) -> usize {
        self.initial_left
    }

    pub(super) fn has_synced(self) -> bool {
        self.populated && self.initial_left == 0
    }
}
