//! Drives sanskube's state machines with plain threads.
//!
//! A [`Driver`] owns the sockets, one timer and the calls in flight, and nothing else: every decision (what to ask, when to
//! try again, when to give up) is made by the [`Machine`](sanskube::machine::Machine) that it drives. Short calls share a bounded pool of threads; each watch has a
//! thread of its own.

mod clock;
mod driver;
mod transport;

pub use clock::Clock;
pub use driver::{Driver, Stopper};
pub use transport::Server;
