//! The informer: a collection kept in a store, and handlers told of what changes in it.
//!
//! Mirrors client-go `tools/cache/shared_informer.go` and `controller.go`.

mod backlog;
mod cache;
mod change;
mod handler;
mod handlers;
mod process;

pub use cache::Cache;
pub use change::Change;
pub use handler::{Filter, HandlerId, HandlerOptions};
pub use process::{Recreated, StoreChange, process_deltas};

#[cfg(test)]
mod tests;
