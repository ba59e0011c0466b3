//! The clocks of the machine this runs on.

use std::time::{Duration, Instant as StdInstant, SystemTime, UNIX_EPOCH};

use sanskube::time::{Instant, Now, Timestamp};

/// Reads both clocks that the core wants to be told of.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: StdInstant,
}

impl Clock {
    /// A clock whose monotonic half starts at [`Instant::ZERO`] now.
    pub fn start() -> Self {
        Self { start: StdInstant::now() }
    }

    /// Both clocks, now.
    pub fn now(&self) -> Now {
        let wall = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
        };
        Now { instant: Instant::ZERO + self.start.elapsed(), wall: Timestamp::from_nanos(wall) }
    }

    /// How long it is until `deadline`; zero if it has passed.
    pub fn until(&self, deadline: Instant) -> Duration {
        deadline.since(self.now().instant)
    }
}
