//! Kubernetes controllers without I/O inside.
//!
//! A controller as a state machine: bytes and time go in, HTTP requests come out. Nothing here opens a socket, reads a
//! clock, draws a random number or starts a thread, and nothing needs `std`. An adapter does: `sanskube-blocking` with threads and
//! ureq, `sanskube-smol` with async-io, or a few lines of one's own.
//!
//! # The road a byte takes
//!
//! ```text
//! HTTP bytes ─► wire ─► reflector ─► delta ─► store ─► informer ─► workqueue ─► replicaset ─► HTTP requests
//!               frames  list, watch  what was objects  who is to   which key    what to do       │
//!               events  resume,      learned  indexes  be told     comes next   about it         │
//!               lists   back off                                                                 │
//!                    └──────────────────────── outcomes come back as input ◄─────────────────────┘
//! ```
//!
//! One module is one stage, and a stage never uses a later one. Each is usable alone: an informer without a queue, a queue without an
//! informer. The words are those of Kubernetes and client-go.
//!
//! | to … | look at |
//! |---|---|
//! | run the ReplicaSet controller | [`manager`] |
//! | watch a collection, have a cache | [`machine::Watcher`], [`informer`] |
//! | write an adapter | [`machine`], [`request`] |
//! | cache a type of one's own | [`object`] |
//! | know why something was done | [`manager::Trace`], [`replicaset::Decision`] |
//! | know every bound | [`limits`] |
//! | know where this is not as Kubernetes, and why | [`differences`] |
//!
//! # The contract
//!
//! * A whole machine has two verbs: [`handle_input`](machine::Machine::handle_input) takes one input, and
//!   [`poll_output`](machine::Machine::poll_output) gives outputs until it says to wait. Stages use `handle_*`, `poll_*` and plain getters.
//! * Time comes in as [`Now`](time::Now), both clocks at once. Every deadline lives here; an adapter only waits.
//! * What a server may answer in the ordinary course of things (404, 409, 410, 429, a cut connection) is an input with a meaning. Errors are three, by
//!   blame: [`Malformed`](error::Malformed) (the peer), [`Misuse`](error::Misuse) (the caller), [`Full`](error::Full) (a bound).
//! * Work per call is bounded. No input, whatever its bytes, panics, overflows, loops, or grows memory past [`Limits`](limits::Limits).
//! * The same inputs and the same seed give the same outputs, bit for bit.
//!
//! # Not in scope
//!
//! Sockets, TLS and credentials (the adapters), admission and validation (the API server), other controllers than ReplicaSets' and
//! ReplicationControllers' (write your own on the same stages).
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![warn(clippy::alloc_instead_of_core, clippy::std_instead_of_alloc, clippy::std_instead_of_core)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod backoff;
pub mod client;
pub mod controller;
pub mod delta;
#[doc = include_str!("differences.md")]
pub mod differences {}
pub mod election;
pub mod error;
pub mod few;
pub mod informer;
mod json;
pub mod key;
#[cfg(feature = "kubeconfig")]
pub mod kubeconfig;
pub mod limits;
pub mod machine;
pub mod manager;
pub mod metrics;
pub mod object;
mod protobuf;
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
