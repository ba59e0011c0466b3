//! The invariants: what must hold after every step, whatever has gone wrong before.
//!
//! Each rule is a file. A rule that allows for faults says which, and how much it allows: what is not explained is a violation.

mod burst;
mod cache;
mod calls;
mod creation;
mod deletion;
mod expectations;
mod handlers;
mod history;
mod known;
mod leader;
mod limits;
mod objects;
mod settled;
mod subject;
mod versions;
mod writes;

use std::any::Any;
use std::cell::Cell;
use std::fmt;

pub(crate) use cache::version_of;
pub use history::{Changed, History};
pub use known::{Known, Sent, SyncView};
pub use objects::{Metadata, Pod, Set, SetStatus};
pub use settled::{why_restless, why_unsettled};
pub(crate) use subject::adopts;

use crate::client::ClientId;
use crate::member::Member;
use crate::world::{Exchange, Happening, World};

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: &'static str,
    /// What is wrong.
    pub what: String,
}

impl Violation {
    /// A violation of a rule, in words.
    pub fn new(rule: &'static str, what: impl fmt::Display) -> Self {
        Self { rule, what: what.to_string() }
    }

    /// A panic, which is wrong wherever it comes from.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref().copied()).unwrap_or_default();
        let place = PANICKED_AT.take().map(|place| format!(", at {place}")).unwrap_or_default();
        Self::new("nothing panics", format_args!("{text}{place}"))
    }
}

thread_local! {
    /// Where the last panic of this thread came from.
    static PANICKED_AT: Cell<Option<String>> = const { Cell::new(None) };
}

/// Lets a panic be told as a violation alone, with its place: nothing is printed when it happens.
pub fn tell_panics_as_violations() {
    std::panic::set_hook(Box::new(|info| PANICKED_AT.set(info.location().map(ToString::to_string))));
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// The checks, and the truth that they compare with.
#[derive(Debug)]
pub struct Check {
    /// The truth about pods.
    pub pods: History<Pod>,
    /// The truth about sets.
    pub sets: History<Set>,
    /// What controllers knew when they asked for what.
    pub known: Known,
    limits: sanskube::limits::Limits,
    /// The version up to which the truth was read.
    read_up_to: u64,
}

/// What a step has changed, and who asked for it if a controller did.
#[derive(Debug)]
pub(crate) struct Changes<'a> {
    pub(crate) pods: Vec<Changed<Pod>>,
    pub(crate) sets: Vec<Changed<Set>>,
    pub(crate) exchange: Option<&'a Exchange>,
}

impl Check {
    /// Checks of a world that has just begun, whose controllers have these limits.
    pub fn new(limits: sanskube::limits::Limits) -> Self {
        let (pods, sets) = (History::new("pods"), History::new("replicasets"));
        Self { pods, sets, known: Known::default(), limits, read_up_to: 0 }
    }

    /// Takes what a user or a fault has done, which no rule is about. To be called after each such deed.
    pub fn read(&mut self, world: &World<Member>) {
        let (pods, sets) = self.read_truth(world);
        self.known.note_changes(&Changes { pods, sets, exchange: None });
    }

    /// What has changed since this was last asked.
    fn read_truth(&mut self, world: &World<Member>) -> (Vec<Changed<Pod>>, Vec<Changed<Set>>) {
        let version = world.api().resource_version();
        if std::mem::replace(&mut self.read_up_to, version) == version {
            return (Vec::new(), Vec::new());
        }
        (self.pods.read(world.api()), self.sets.read(world.api()))
    }

    /// Checks everything after a step.
    ///
    /// # Errors
    /// Something does not hold.
    pub fn after_step(&mut self, world: &mut World<Member>) -> Result<(), Violation> {
        let exchanges = world.take_exchanges();
        let exchange = exchanges.first().filter(|_| matches!(world.last(), Happening::Served(..)));
        let (pods, sets) = self.read_truth(world);
        let changes = Changes { pods, sets, exchange };
        if let Some(exchange) = exchange {
            self.known.note_exchange(exchange, world.api().resource_version());
            self.check_writes(exchange, &changes)?;
        }
        self.known.note_changes(&changes);
        let client = match world.last() {
            Happening::Answered(client, answer) => {
                self.known.note_answer(*client, answer);
                Some(*client)
            }
            Happening::Timeout(client) => Some(*client),
            Happening::Held(..)
            | Happening::Lost(..)
            | Happening::Nothing
            | Happening::Served(..)
            | Happening::Server => None,
        };
        if let Some(client) = client {
            self.check_client(client, world)?;
        }
        calls::check(world, &self.limits)?;
        leader::check(world)
    }

    /// Checks a controller that has just been given an input, or was started.
    ///
    /// # Errors
    /// Something does not hold.
    pub fn check_client(&mut self, client: ClientId, world: &mut World<Member>) -> Result<(), Violation> {
        self.known.note_begun(client, world, &self.pods, &self.sets, &self.limits)?;
        match world.machine(client) {
            Some(Member::Manager(manager)) => {
                burst::check_alone(client, manager)?;
                let seen = self.known.seen(client);
                cache::check(client, manager.pods(), &self.pods, &mut seen.pods)?;
                if let Some(sets) = manager.sets(sanskube::object::ReplicaSetKind::ReplicaSet) {
                    cache::check(client, sets, &self.sets, &mut seen.sets)?;
                }
                expectations::check(client, manager, self.pods.newest(), world)?;
                limits::check(client, manager, world, &self.limits)
            }
            Some(Member::Observer(observer)) => {
                let seen = self.known.seen(client);
                cache::check(client, observer.informer().store(), &self.pods, &mut seen.pods)?;
                handlers::check(client, observer, &self.limits)
            }
            None => Ok(()),
        }
    }
}
