//! A controller of the world: its machine, its clocks and its connections.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sanskube::machine::Answer;
use sanskube::rand::SplitMix64;
use sanskube::request::{CallId, Request};
use sanskube::time::{Instant, Now, Timestamp};

/// Names a controller. Never used again after it has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub(crate) u64);

impl ClientId {
    /// The `User-Agent` of the controller, by which the server's rules and routes know it.
    pub fn agent(self) -> String {
        format!("sanskube/{}", self.0)
    }
}

/// The clocks of a controller, which need not be those of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// How far the wall clock is ahead, in nanoseconds; negative if it is behind.
    pub wall: i64,
    /// How much earlier it began to count monotonic time.
    pub lead: Duration,
}

impl Clock {
    /// What the clocks show.
    pub fn show(self, now: Now) -> Now {
        let wall = Timestamp::from_nanos(now.wall.as_nanos().saturating_add(self.wall));
        Now { instant: now.instant + self.lead, wall }
    }

    /// When it is so late by the clock of the world as the monotonic clock shows then.
    pub(crate) fn unshow(self, shown: Instant) -> Instant {
        Instant::ZERO + shown.since(Instant::ZERO + self.lead)
    }
}

/// A call of a controller that has not ended.
#[derive(Clone, Debug)]
pub struct Line {
    /// What was asked.
    pub request: Request,
    /// Whether it is a watch.
    pub watch: bool,
    /// When the controller is to give it up, by the clock of the world.
    pub deadline: Instant,
    /// When the last piece of the answer arrives: what comes later arrives later.
    pub(crate) last: Instant,
    /// Where its delays come from.
    pub(crate) random: SplitMix64,
    /// Whether nothing more arrives that the server sends.
    pub(crate) silent: bool,
}

#[derive(Debug)]
pub(crate) struct Client<M> {
    pub(crate) machine: M,
    /// When it wants to be woken, by the clock of the world.
    pub(crate) until: Option<Instant>,
    pub(crate) lines: BTreeMap<CallId, Line>,
    pub(crate) stopped: bool,
    pub(crate) clock: Clock,
    pub(crate) suspended_until: Instant,
    /// What has arrived while it was suspended.
    pub(crate) waiting: VecDeque<Answer>,
    /// When it was asked to stop, if it was.
    pub(crate) asked_to_stop: Option<Instant>,
    /// Whether it was asked to stop while it was suspended.
    pub(crate) to_stop: bool,
    pub(crate) cut_off: bool,
    /// How many more calls it begins before it is killed.
    pub(crate) calls_left: Option<u32>,
}

impl<M> Client<M> {
    pub(crate) fn new(machine: M, clock: Clock) -> Self {
        Self {
            machine,
            until: None,
            lines: BTreeMap::new(),
            stopped: false,
            clock,
            suspended_until: Instant::ZERO,
            waiting: VecDeque::new(),
            asked_to_stop: None,
            to_stop: false,
            cut_off: false,
            calls_left: None,
        }
    }

    /// When it is to be woken next.
    pub(crate) fn due(&self) -> Option<Instant> {
        let has_news = self.to_stop || !self.waiting.is_empty();
        let until = if has_news { Some(self.suspended_until) } else { self.until };
        until.map(|until| until.max(self.suspended_until))
    }
}
