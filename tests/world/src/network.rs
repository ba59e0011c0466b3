//! The network: how long things are under way.

use std::time::Duration;

use sanskube::rand::SplitMix64;

/// Delays each request and each piece of an answer by a time between two bounds.
#[derive(Clone, Debug)]
pub struct Network {
    random: SplitMix64,
    shortest: Duration,
    longest: Duration,
}

impl Network {
    /// A network whose delays depend on the seed alone.
    pub fn new(seed: u64, shortest: Duration, longest: Duration) -> Self {
        Self { random: SplitMix64::new(seed), shortest, longest: longest.max(shortest) }
    }

    /// The next delay.
    pub(crate) fn delay(&mut self) -> Duration {
        self.shortest + (self.longest - self.shortest).mul_f64(self.random.next_unit())
    }
}
