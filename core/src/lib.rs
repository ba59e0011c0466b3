//! Kubernetes controllers without I/O inside.
//!
//! A controller as a state machine: bytes and time go in, HTTP requests come out. Nothing here opens a socket, reads a
//! clock, draws a random number or starts a thread, and nothing needs `std`.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![warn(clippy::alloc_instead_of_core, clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

extern crate alloc;

pub mod backoff;
pub mod delta;
#[doc = include_str!("differences.md")]
pub mod differences {}
pub mod error;
pub mod informer;
mod json;
pub mod key;
pub mod limits;
pub mod machine;
pub mod manager;
pub mod object;
pub mod rand;
pub mod recorder;
pub mod reflector;
pub mod replicaset;
pub mod request;
pub mod resource_version;
mod shrink;
pub mod store;
#[cfg(test)]
mod testing;
pub mod time;
pub mod uid;
pub mod wire;
pub mod workqueue;
