//! A cluster inside one thread: the API server, a kubelet, controllers and the network between them, with virtual time.
//!
//! Everything that is real is the code that ships: the controllers are machines of the core, the server is
//! the in-memory API server. What is pretended is time, which moves only by [`World::step`], and the network, which
//! delays what passes through it by a seeded amount. The same seed gives the same run.

pub mod check;
mod client;
mod digest;
mod disturb;
pub mod explore;
mod member;
mod network;
mod serve;
mod setting;
pub mod sim;
mod world;

pub use client::{ClientId, Clock, Line};
pub use member::{Member, Observer, View};
pub use network::Network;
pub use world::{Exchange, Happening, World};
