//! Drives sanskube's state machines with plain threads.
//!
//! A [`Driver`] owns the sockets, one timer and the calls in flight, and nothing else: every decision (what to ask, when to
//! try again, when to give up) is made by the [`Machine`](sanskube::machine::Machine) that it drives. Short calls share a bounded pool of threads; each watch has a
//! thread of its own.

#[cfg(feature = "access")]
pub mod access;
mod changes;
#[cfg(feature = "cli")]
pub mod cli;
mod client;
mod clock;
mod credentials;
mod crew;
mod driver;
mod exchange;
#[cfg(feature = "access")]
mod exec;
mod peer;
mod rest;
mod runner;
mod server;
#[cfg(feature = "status")]
pub mod status;
mod transport;

pub use changes::Changes;
pub use client::{Client, Watching};
pub use clock::Clock;
pub use credentials::Credentials;
pub use driver::{Driver, Stopper, Waker};
pub use runner::Runner;
pub use server::Server;
