//! Exhaustive exploration: every order in which things can happen in a small world.
//!
//! The world is that of the simulation, real manager and real API server, but the next thing is not the one that is due: whatever may happen next
//! is tried. What may happen in a state is
//!
//! * the next watch event is given to the controller, of each watch by itself;
//! * a request takes effect at the server;
//! * an answer arrives;
//! * the garbage collector acts, or a timer of the controller runs out;
//! * a user does something, as long as users may;
//! * something goes wrong, as long as it may: an answer or a request is lost, a watch breaks, events are missed, the controller crashes and another
//!   begins with nothing.
//!
//! States that differ only in what tells things apart (names, uids, versions) and in what decides when something is done are one, so each is gone on
//! from once; `canonical` says why they have the same futures. In every state the checks
//! of the simulation hold, and from every state what happens without users and faults comes to an end in which the cluster is as it should be
//! (`Graph`).
//!
//! There is no kubelet: pods are made and go at once. There is one controller at a time; its first list is one step, it records no events, and
//! gives no call up by itself.

mod canonical;
mod choice;
mod graph;
mod plain;
mod scene;
mod search;
mod tokens;

pub use choice::{Choice, Fault, User};

pub use scene::Scene;
pub use search::{Explored, Failure, explore};

/// How large a world is explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How many pods each set wants: `a` and, if there is one, `b`.
    pub sets: Vec<u8>,
    /// How many deeds of users there are at most.
    pub users: u8,
    /// How much goes wrong at most.
    pub faults: u8,
    /// How many sets are worked on at once at most.
    pub syncs: usize,
    /// How many choices deep it goes; what lies deeper is not looked at.
    pub depth: u32,
}
