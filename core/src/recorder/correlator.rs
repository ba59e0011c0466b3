//! The correlator: of many like events few are written.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;

use super::event::Event;
use super::lru::Lru;
use crate::limits::Limits;
use crate::object::validation::is_dns_subdomain;
use crate::time::{Instant, Now, Timestamp};

/// Different messages of one sort of event from which on they are combined (`defaultAggregateMaxEvents`).
const COMBINED_FROM: usize = 10;
/// How long without an event of a sort until its messages are counted anew (`defaultAggregateIntervalInSeconds`).
const COMBINED_WITHIN: Duration = Duration::from_secs(600);
/// Events of one object and one sort at once (`defaultSpamBurst`).
const BURST: u32 = 25;
/// Time for one more event of an object and a sort (`defaultSpamQPS`).
const REFILL: Duration = Duration::from_secs(300);
/// The longest name of an object of the API.
const NAME_BYTES: usize = 253;

/// What there is to be written about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) event: Event,
    pub(super) name: String,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    pub(super) count: u32,
    /// Whether the event stands for several of different messages.
    pub(super) combined: bool,
}

/// Remembers what was written, so that an event that is like others is counted, combined with them, or left out.
///
/// Three steps as in client-go `tools/record/events_cache.go`: `EventAggregator` (from the tenth different message of a sort within ten minutes,
/// one event stands for all), `eventLogger` (the same event again raises a count), `EventSourceObjectSpamFilter` (25 events of an object, a
/// type and a reason at once, then one in five minutes; kubernetes/kubernetes#124747). Each remembers [`Limits::events_remembered`] entries.
#[derive(Debug)]
pub(super) struct Correlator {
    sorts: Lru<Sort>,
    written: Lru<Written>,
    allowances: Lru<Allowance>,
    /// The last number that a name was made with.
    stamp: u64,
}

/// What was seen of one sort of event: one component, object, type and reason.
#[derive(Debug)]
struct Sort {
    /// Hashes of different messages, fewer than [`COMBINED_FROM`].
    messages: VecDeque<u64>,
    last: Instant,
}

/// What was written of one event.
#[derive(Debug)]
struct Written {
    name: String,
    first: Timestamp,
    count: u32,
}

/// A bucket of tokens, counted in the time that it takes to fill.
#[derive(Debug)]
struct Allowance {
    saved: Duration,
    since: Instant,
}

impl Correlator {
    pub(super) fn new(limits: &Limits) -> Self {
        let bound = limits.events_remembered;
        Self { sorts: Lru::new(bound), written: Lru::new(bound), allowances: Lru::new(bound), stamp: 0 }
    }

    pub(super) fn remembered(&self) -> usize {
        self.sorts.len().max(self.written.len()).max(self.allowances.len())
    }

    /// What is to be written about an event that happened at `now`; none if there were too many.
    ///
    /// Mirrors client-go `tools/record/events_cache.go`, `EventCorrelate`.
    pub(super) fn correlate(&mut self, mut event: Event, now: Now) -> Option<Entry> {
        let object = &event.object;
        let source = format!(
            "{}\0{}\0{}\0{}\0{}\0{}",
            event.component, object.kind, object.namespace, object.name, object.uid, object.api_version
        );
        let sort = format!("{source}\0{}\0{}", event.event_type.as_str(), event.reason);
        let combined = self.is_combined(&sort, &event.message, now.instant);
        // Combined events are one whatever they say.
        let key = if combined { sort.clone() } else { format!("{sort}\0{}", event.message) };
        if combined {
            event.message.insert_str(0, "(combined from similar events): ");
        }
        self.stamp = self.stamp.saturating_add(1).max(u64::try_from(now.wall.as_nanos()).unwrap_or(0));
        let stamp = self.stamp;
        let written =
            self.written.touch(&key, || Written { name: event_name(&event, stamp), first: now.wall, count: 0 });
        written.count = written.count.saturating_add(1);
        let entry = Entry {
            name: written.name.clone(),
            first: written.first,
            last: now.wall,
            count: written.count,
            combined,
            event,
        };
        let allowance = self.allowances.touch(&sort, || Allowance { saved: REFILL * BURST, since: now.instant });
        allowance.take(now.instant).then_some(entry)
    }

    /// Counts a message of a sort of event. Whether the event is to stand for several.
    ///
    /// Mirrors client-go `tools/record/events_cache.go`, `EventAggregate`.
    fn is_combined(&mut self, sort: &str, message: &str, now: Instant) -> bool {
        let sort = self.sorts.touch(sort, || Sort { messages: VecDeque::new(), last: now });
        if now.since(sort.last) > COMBINED_WITHIN {
            sort.messages.clear();
        }
        sort.last = now;
        let message = hash(message);
        if !sort.messages.contains(&message) {
            sort.messages.push_back(message);
        }
        if sort.messages.len() < COMBINED_FROM {
            return false;
        }
        // Which one is forgotten is arbitrary in Go; here it is the oldest.
        sort.messages.pop_front();
        true
    }
}

impl Allowance {
    fn take(&mut self, now: Instant) -> bool {
        self.saved = self.saved.saturating_add(now.since(self.since)).min(REFILL * BURST);
        self.since = now;
        match self.saved.checked_sub(REFILL) {
            Some(left) => {
                self.saved = left;
                true
            }
            None => false,
        }
    }
}

/// A name that no other event has: that of the object and a number that grows.
///
/// Mirrors client-go `tools/internal/events/helper.go`, `GenerateEventName`, which takes a random name where the object's would be no valid one.
fn event_name(event: &Event, stamp: u64) -> String {
    let suffix = format!(".{stamp:x}");
    let name = &event.object.name;
    if is_dns_subdomain(name) {
        // Such a name is ASCII. What is left of it must not end in a dot or dash.
        let cut = &name[..name.len().min(NAME_BYTES - suffix.len())];
        return cut.trim_end_matches(['.', '-']).to_string() + &suffix;
    }
    String::from("event") + &suffix
}

/// FNV-1a, the same in every run.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
