//! A flight recorder for sanskube: what a controller was told and did, and the same again.
//!
//! The core does no I/O and has no clock and no randomness of its own, so what it does depends on nothing but its configuration, its inputs and their
//! times. A [`FlightRecorder`] takes these down while it passes them on to the machine, with a digest of the outputs; a [`Replay`] runs
//! the same machine over them again, anywhere and offline, proves that it does the same to the bit, and lets it say why.
//!
//! A recording holds the answers of the API server as they came: lists and watches of pods and sets, leases, what was written. No header of any request is in it,
//! and so no credentials; but what is in the specs of pods is, such as the values of environment variables. Guard it like the right to read pods.
#![deny(missing_docs)]
#![warn(unreachable_pub)]

mod config;
mod digest;
mod error;
mod frame;
mod narrate;
mod page;
mod reader;
mod record;
mod recorder;
mod replay;
mod tape;
mod wire;

#[cfg(test)]
mod tests;

pub use error::{Divergence, ReadError, ReplayError};
pub use frame::VERSION;
pub use narrate::{Entry, Narrator, Picture, Row, Table, Topic};
pub use page::{PAGE_ENTRIES, Page};
pub use reader::{Ending, Reader};
pub use record::{End, OutputKind, Record, Start, Told};
pub use recorder::FlightRecorder;
pub use replay::{Done, Replay, Step, Summary};
pub use tape::Tape;
