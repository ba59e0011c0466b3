//! A reflector: lists one collection, watches it, and keeps doing so whatever happens.
//!
//! Everything a controller knows comes through here, so the one thing it must do is to never be stuck and never be
//! wrong: it resumes a watch from the last version it saw, lists anew where it cannot, backs off where asking again would hurt, and
//! bounds whatever a server may send. What each failure leads to stands in one table (`failure.rs`).
//!
//! It asks through [`poll_call`](Reflector::poll_call), one call at a time, and is told what came through `handle_*`. What it
//! learns it writes into a [`ReflectorStore`], which each `handle_*` is lent.
//!
//! Mirrors client-go `tools/cache/reflector.go`, and API concepts, "Efficient detection of changes".
//!
//! ```
//! # use sanskube::object::{MetadataOnly, Resource};
//! # use sanskube::resource_version::ResourceVersion;
//! use sanskube::reflector::{Config, Reflector, ReflectorStore};
//! use sanskube::request::{CallIds, Head};
//! use sanskube::time::Now;
//!
//! struct Printer;
//! impl ReflectorStore<MetadataOnly> for Printer {
//!     // …
//! #    type Error = core::convert::Infallible;
//! #    fn replace(&mut self, _: Vec<std::sync::Arc<MetadataOnly>>, _: &ResourceVersion) -> Result<(), Self::Error> { Ok(()) }
//! #    fn add(&mut self, _: MetadataOnly) -> Result<(), Self::Error> { Ok(()) }
//! #    fn update(&mut self, _: MetadataOnly) -> Result<(), Self::Error> { Ok(()) }
//! #    fn delete(&mut self, _: MetadataOnly) -> Result<(), Self::Error> { Ok(()) }
//! }
//!
//! let (now, mut ids, mut store) = (Now::default(), CallIds::default(), Printer);
//! let mut reflector = Reflector::new(Config::new(Resource::PODS));
//! let list = reflector.poll_call(now, &mut ids).unwrap();
//! assert_eq!(list.request.path, "/api/v1/pods?limit=500&resourceVersion=0");
//! reflector.handle_head(now, list.id, Head::new(200))?;
//! reflector.handle_body(now, list.id, br#"{"metadata":{"resourceVersion":"7"},"#, &mut store)?;
//! reflector.handle_body(now, list.id, br#""items":[{"metadata":{"name":"web"}}]}"#, &mut store)?;
//! reflector.handle_end(now, list.id, &mut store)?;
//! let watch = reflector.poll_call(now, &mut ids).unwrap();
//! assert!(watch.watch && watch.request.path.contains("resourceVersion=7"));
//! # Ok::<(), sanskube::error::Misuse>(())
//! ```

mod config;
mod failure;
mod frame;
mod initial;
mod input;
mod list;
mod pace;
mod recover;
mod store;
mod watch;

use core::time::Duration;

pub use config::{Config, Recovery};
pub use failure::{Cause, Doing, Step, WatchError};
pub use store::ReflectorStore;

use crate::backoff::{BackoffWithReset, Reset, RetryWithDeadline};
use crate::limits::Limits;
use crate::object::{Decode, Shared};
use crate::rand::SplitMix64;
use crate::request::{Call, CallId, CallIds, Encoding};
use crate::resource_version::ResourceVersion;
use crate::time::{Instant, Now};
use input::Answer;
use list::{Body, List};
use pace::Pace;
use watch::Watch;

/// Without a failure for so long, a server counts as healthy (client-go, `defaultBackoffReset`).
const BACKOFF_RESET: Duration = Duration::from_secs(120);
/// Internal errors that are so far apart have nothing to do with each other (client-go, `watch`).
const INTERNAL_ERROR_RESET: Duration = Duration::from_secs(60);

/// The list-and-watch state machine of one collection.
///
/// The work of each call is linear in the bytes it is given, except for the end of a list, which hands the whole list to the store.
/// The memory is that of the objects of a list in progress, within [`Limits`].
#[derive(Debug)]
pub struct Reflector<T> {
    config: Config,
    /// What the objects decoded so far have in common.
    shared: Shared,
    random: SplitMix64,
    backoff: BackoffWithReset,
    pace: Pace,
    last_sync: ResourceVersion,
    /// Whether `last_sync` was found to be a version that cannot be listed or streamed from.
    unavailable: bool,
    /// Whether the first list came in pages although it was to come from a cache: there is none.
    paged: bool,
    synced: bool,
    round: Round,
    state: State<T>,
    cancel: Option<CallId>,
    error: Option<WatchError>,
}

/// What lasts from one list to the next.
#[derive(Debug)]
struct Round {
    internal_errors: RetryWithDeadline,
    /// When the next resync is due, once the list is complete.
    resync: Option<Instant>,
    /// Why the last resync failed; it ends the round as soon as a watch is open.
    resync_error: Option<Cause>,
    stream_retries: u32,
}

impl Round {
    const fn new(config: &Config) -> Self {
        Self {
            internal_errors: RetryWithDeadline::new(config.internal_error_retry, INTERNAL_ERROR_RESET),
            resync: None,
            resync_error: None,
            stream_retries: 0,
        }
    }
}

#[derive(Debug)]
enum State<T> {
    /// To ask for this, not before `until`.
    Waiting { until: Option<Instant>, next: Next<T> },
    /// This was asked for.
    InFlight { id: CallId, exchange: Exchange<T> },
}

#[derive(Debug)]
enum Exchange<T> {
    /// A page of a list, and how many objects there were before it.
    List {
        list: List<T>,
        before: usize,
        deadline: Instant,
        answer: Answer<Body>,
    },
    Watch {
        watch: Watch<T>,
        answer: Answer<()>,
    },
}

impl<T: Decode> Exchange<T> {
    /// When it is given up.
    fn deadline(&self, limits: &Limits) -> Instant {
        match self {
            Self::List { deadline, .. } => *deadline,
            // Nothing has come yet: perhaps there is not even a connection.
            Self::Watch { watch, answer: Answer::None } => watch.opening_deadline(limits),
            Self::Watch { watch, .. } => watch.deadline(limits.watch_grace),
        }
    }

    fn doing(&self) -> Doing {
        match self {
            Self::List { list, .. } => list.doing(),
            Self::Watch { watch, answer } => watch.doing(answer.is_open()),
        }
    }
}

/// What is to be asked for.
#[derive(Debug)]
enum Next<T> {
    Round,
    Stream,
    List(List<T>),
    Watch,
}

impl<T: Decode> Reflector<T> {
    /// A reflector that has not listed yet.
    pub fn new(config: Config) -> Self {
        Self {
            shared: Shared::default(),
            random: SplitMix64::new(config.seed),
            backoff: BackoffWithReset::new(config.backoff, BACKOFF_RESET, reset(config.recovery), Instant::ZERO),
            pace: Pace::new(),
            last_sync: ResourceVersion::NONE,
            unavailable: false,
            paged: false,
            synced: false,
            round: Round::new(&config),
            state: State::Waiting { until: None, next: Next::Round },
            cancel: None,
            error: None,
            config,
        }
    }

    /// The next call to make. None while one is in flight, while a back-off lasts, and while
    /// [`poll_cancel`](Self::poll_cancel) has something to tell.
    pub fn poll_call(&mut self, now: Now, ids: &mut CallIds) -> Option<Call> {
        let now = now.instant;
        let State::Waiting { until, next } = &mut self.state else { return None };
        if until.is_some_and(|until| until > now) || self.cancel.is_some() {
            return None;
        }
        let id = ids.next_id();
        let accept = if T::PROTOBUF { self.config.encoding } else { Encoding::Json };
        let next = match core::mem::replace(next, Next::Round) {
            Next::Round if self.config.watch_list => Next::Stream,
            Next::Round => Next::List(self.relist()),
            next => next,
        };
        let config = &self.config;
        let (from, stream) = match next {
            Next::List(list) => {
                let request = list.request(config);
                let deadline = now + config.limits.list_timeout;
                let exchange = Exchange::List { before: list.objects(), list, deadline, answer: Answer::None };
                self.state = State::InFlight { id, exchange };
                return Some(Call { id, request, watch: false, accept, deadline });
            }
            Next::Stream if self.unavailable => (ResourceVersion::NONE, true),
            Next::Stream => (self.last_sync.clone(), true),
            Next::Watch | Next::Round => (self.last_sync.clone(), false),
        };
        // Spread, so that the watches of many clients do not end together.
        let timeout = (config.limits.watch_timeout.as_secs_f64() * (1.0 + self.random.next_unit())) as u64;
        let watch = Watch::new(config, from, stream, now, timeout);
        let (request, deadline) = (watch.request(config), watch.deadline(config.limits.watch_grace));
        self.state = State::InFlight { id, exchange: Exchange::Watch { watch, answer: Answer::None } };
        Some(Call { id, request, watch: true, accept, deadline })
    }

    /// A call that the reflector has given up: whoever does the I/O may close it, and need not report on it any more.
    pub fn poll_cancel(&mut self) -> Option<CallId> {
        self.cancel.take()
    }

    /// The last failure, if it was not asked for yet. For a log or a metric; the reflector deals with it by itself.
    /// That a watch ends in good order is no failure.
    pub fn poll_error(&mut self) -> Option<WatchError> {
        self.error.take()
    }

    /// When [`handle_timeout`](Self::handle_timeout) and [`poll_call`](Self::poll_call) are to be called next, if nothing
    /// comes before. None: nothing is awaited but the next `poll_call`.
    pub fn next_deadline(&self) -> Option<Instant> {
        let state = match &self.state {
            State::Waiting { until, .. } => *until,
            State::InFlight { exchange, .. } => Some(exchange.deadline(&self.config.limits)),
        };
        [state, self.round.resync].into_iter().flatten().min()
    }

    /// The call in flight, if one is.
    pub const fn in_flight(&self) -> Option<CallId> {
        match &self.state {
            State::InFlight { id, .. } => Some(*id),
            State::Waiting { .. } => None,
        }
    }

    /// The version that the store is as of, and that a watch would be resumed from; none before the first list.
    pub fn last_sync_resource_version(&self) -> &ResourceVersion {
        &self.last_sync
    }

    /// Whether a whole list was handed to the store at least once.
    pub const fn has_synced(&self) -> bool {
        self.synced
    }

    /// From now on failures are recovered from in this way. What is already under way goes on as it is.
    pub const fn set_recovery(&mut self, recovery: Recovery) {
        self.config.recovery = recovery;
        self.backoff.set_reset(reset(recovery));
    }

    /// What the reflector was asked to do.
    pub const fn config(&self) -> &Config {
        &self.config
    }
}

/// What the time without a failure counts from, after which the back-off starts over.
const fn reset(recovery: Recovery) -> Reset {
    match recovery {
        Recovery::Prudent => Reset::SinceUse,
        Recovery::ClientGo => Reset::SinceReset,
    }
}
