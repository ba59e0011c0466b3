//! What things cost, counted by the allocator.
#![allow(unsafe_code)]
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_types,
    reason = "each thread counts for itself, and tells what it counted"
)]

mod counting;
#[allow(dead_code)]
#[path = "../reflector/peer.rs"]
mod peer;
mod pods;
mod queue;
mod relist;
mod store;
mod stream;
