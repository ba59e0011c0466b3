//! What things cost, counted by the allocator.
#![allow(unsafe_code)]

mod counting;
#[allow(dead_code)]
#[path = "../reflector/peer.rs"]
mod peer;
mod pods;
mod queue;
mod relist;
mod store;
mod stream;
