//! Drives sanskube's state machines with plain threads.
//!
//! A [`Driver`] owns the sockets, one timer and the calls in flight, and nothing else: every decision (what to ask, when to
//! try again, when to give up) is made by the [`Machine`](sanskube::machine::Machine) that it drives. Short calls share a bounded pool of threads; each watch has a
//! thread of its own.

mod changes;
#[cfg(feature = "cli")]
pub mod cli;
mod client;
mod connection;
mod crew;
mod driver;
mod event;
mod exchange;
mod jobs;
mod pool;
mod rest;
mod runner;
#[cfg(feature = "status")]
pub mod status;
mod transport;

pub use changes::Changes;
pub use client::{Client, Watching};
pub use driver::{Driver, Stopper, Waker};
pub use runner::Runner;
pub use sanskube_access as access;
pub use sanskube_access::{Clock, Server};
