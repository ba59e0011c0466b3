//! The informer: a collection kept in a store, and handlers told of what changes in it.

mod change;
mod process;

pub use change::Change;
pub use process::{Recreated, process_deltas};
