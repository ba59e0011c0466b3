//! Drives sanskube's state machines on async-io, in any executor and without tokio.
//!
//! A [`Driver`] owns the sockets, one timer and the calls in flight, and nothing else: every decision (what to ask, when to
//! try again, when to give up) is made by the [`Machine`](sanskube::machine::Machine) that it drives. HTTP/1.1 is spoken by `ureq-proto`, the protocol machine
//! that the blocking adapter's `ureq` uses too, over sockets of `async-io`, which has a reactor thread of its own: the future that
//! [`Driver::run`] returns can be polled by smol, by `async-executor`, or by any other executor.
//!
//! * [`Client`] sends operations on objects.
//! * [`Runner`] runs controllers of your own, and keeps caches for whoever wants to read them.
//! * [`Driver`] drives any machine, such as the ReplicaSet controller.
//!
//! The [`guide`] begins at the beginning.

mod changes;
mod client;
mod connection;
mod driver;
mod event;
mod exchange;
pub mod guide;
mod pool;
mod runner;
mod transport;

pub use changes::Changes;
pub use client::{Client, Watching};
pub use driver::{Driver, Stopper, Waker};
pub use runner::Runner;
pub use sanskube_access as access;
pub use sanskube_access::{Clock, Server};
