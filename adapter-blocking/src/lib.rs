//! Drives sanskube's state machines with plain threads.
//!
//! A [`Driver`] owns the sockets, one timer and the calls in flight, and nothing else: every decision (what to ask, when to
//! try again, when to give up) is made by the [`Machine`](sanskube::machine::Machine) that it drives. Short calls share a bounded pool of threads; each watch has a
//! thread of its own.
//!
//! A controller of one's own is a function; a [`Runner`] watches for it, caches, queues, calls it on threads, and tries again what failed:
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use sanskube::client::Api;
//! use sanskube::controller::{Controller, When};
//! use sanskube_blocking::{Client, Runner, Server};
//!
//! let runner = Runner::new(&Client::new(Server::new("http://127.0.0.1:8080"), 4))?;
//! let maps = runner.watch::<ConfigMap>(Api::<ConfigMap>::all());
//! runner.add(Controller::new("maps", maps.watch()), |key, maps, _client| {
//!     println!("{key} {}", if maps.get(&key).is_some() { "is there" } else { "is gone" });
//!     Ok(When::Changed)
//! })?;
//! runner.run();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The examples have more of it: `namespace_quotas` two kinds, one mapped to the other, and server-side apply; `config_map_exporter` a finalizer, a second look
//! after a while, and an orderly stop; `own_type` a type of one's own. `sanskube-smol` has the same with `async`, and a guide that serves both.

mod changes;
#[cfg(feature = "cli")]
pub mod cli;
mod client;
mod connection;
mod crew;
mod driver;
mod event;
mod exchange;
mod jobs;
mod pool;
mod rest;
mod runner;
#[cfg(feature = "status")]
pub mod status;
mod transport;

pub use changes::Changes;
pub use client::{Client, Watching};
pub use driver::{Driver, Stopper, Waker};
pub use runner::Runner;
pub use sanskube_access as access;
pub use sanskube_access::{Clock, Server};
