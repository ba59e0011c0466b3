//! The network: how long things are under way.

use std::time::Duration;

use sanskube::rand::SplitMix64;
use sanskube::request::CallId;

use crate::client::ClientId;

/// Delays each request and each piece of an answer by a time between two bounds.
///
/// What is under way on one connection arrives in the order in which it was sent; connections overtake each other. The delays of a connection
/// depend on the seed and on the connection alone, so that they stay when something else in the world is left out.
#[derive(Clone, Debug)]
pub struct Network {
    seed: u64,
    shortest: Duration,
    longest: Duration,
}

impl Network {
    /// A network whose delays depend on the seed alone.
    pub fn new(seed: u64, shortest: Duration, longest: Duration) -> Self {
        Self { seed, shortest, longest: longest.max(shortest) }
    }

    /// Delays what is sent from now on by other times.
    pub fn set_delays(&mut self, shortest: Duration, longest: Duration) {
        (self.shortest, self.longest) = (shortest, longest.max(shortest));
    }

    /// The source of the delays of a connection.
    pub(crate) fn connection(&self, client: ClientId, call: CallId) -> SplitMix64 {
        let mut mixed = SplitMix64::new(self.seed ^ client.0.rotate_left(32) ^ call.0.rotate_left(48));
        SplitMix64::new(mixed.next_u64())
    }

    /// The next delay of a connection.
    pub(crate) fn delay(&self, random: &mut SplitMix64) -> Duration {
        self.shortest + (self.longest - self.shortest).mul_f64(random.next_unit())
    }
}
