//! How often something may be done again at once.

use core::time::Duration;

use crate::time::Instant;

/// So many times in a row.
const BURST: u32 = 20;
/// One more after so long.
const REFILL: Duration = Duration::from_secs(2);

/// A small allowance of requests without a back-off before them: a server that ends each watch at once must not be
/// asked as fast as it answers.
#[derive(Debug)]
pub(super) struct Pace {
    left: u32,
    /// Up to when what was refilled is counted.
    refilled: Instant,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { left: BURST, refilled: Instant::ZERO }
    }

    /// Takes one, if there is one left.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let refills = now.since(self.refilled).as_nanos() / REFILL.as_nanos();
        self.left = u32::try_from(refills).unwrap_or(BURST).saturating_add(self.left).min(BURST);
        if self.left == BURST {
            self.refilled = now;
        } else {
            // Fewer than BURST were refilled.
            self.refilled += REFILL * refills as u32;
        }
        self.left.checked_sub(1).inspect(|&left| self.left = left).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_one_each_two_seconds() {
        let mut pace = Pace::new();
        let start = Instant::from_millis(1_000_000);
        assert_eq!((0..100).filter(|_| pace.take(start)).count(), 20);
        let taken = (0..600).filter(|tenth| pace.take(start + Duration::from_millis(100 * tenth))).count();
        assert_eq!(taken, 29);
        assert_eq!((0..100).filter(|_| pace.take(start + Duration::from_secs(1000))).count(), 20);
    }
}
