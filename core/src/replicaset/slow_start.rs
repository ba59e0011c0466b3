//! Slow start: creations in batches of 1, 2, 4, …, so that a refusal that awaits them all is met by few.

/// A number of calls made in batches that double, until one fails.
///
/// The calls of a batch may be in flight together. A batch in which a call failed is finished; none is begun after it.
///
/// Mirrors `pkg/controller/replicaset/replica_set.go`, `slowStartBatch`.
#[derive(Clone, Debug)]
pub struct SlowStart {
    /// Calls not yet in a batch.
    remaining: usize,
    batch_size: usize,
    /// Calls of this batch that were not begun yet.
    waiting: usize,
    in_flight: usize,
    successes: usize,
    failed: bool,
}

impl SlowStart {
    /// `count` calls, `initial` of them in the first batch. With an `initial` of 0 no call is made.
    pub fn new(count: usize, initial: usize) -> Self {
        let mut slow_start =
            Self { remaining: count, batch_size: initial, waiting: 0, in_flight: 0, successes: 0, failed: false };
        slow_start.begin_batch();
        slow_start
    }

    /// Whether one more call is to be made now. Each `true` is one call, whose outcome has to be told.
    pub fn poll_call(&mut self) -> bool {
        if self.waiting == 0 {
            return false;
        }
        self.waiting -= 1;
        self.in_flight += 1;
        true
    }

    /// Tells the outcome of a call.
    pub fn handle_outcome(&mut self, success: bool) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if success {
            self.successes += 1;
        } else {
            self.failed = true;
        }
        if self.in_flight == 0 && self.waiting == 0 && !self.failed {
            self.batch_size = self.batch_size.saturating_mul(2);
            self.begin_batch();
        }
    }

    /// Whether all calls that will be made have been.
    pub fn is_done(&self) -> bool {
        self.waiting == 0 && self.in_flight == 0
    }

    /// Calls that succeeded so far.
    pub fn successes(&self) -> usize {
        self.successes
    }

    /// Calls that no batch has reached; once [done](Self::is_done), calls that will not be made.
    pub fn skipped(&self) -> usize {
        self.remaining
    }

    fn begin_batch(&mut self) {
        self.waiting = self.batch_size.min(self.remaining);
        self.remaining -= self.waiting;
    }
}
