//! An in-memory Kubernetes API server as a state machine: requests and time go in, responses and
//! watch frames come out. No thread, no port, no clock; an HTTP front is there for those who want one.
//!
//! ```text
//!  Request ─▶ route ─▶ decode ─▶ strategy (default, admit, validate) ─▶ store ─▶ render ─▶ Response
//!                                                                        │
//!                                                                     history ─▶ watch frames
//! ```
//!
//! There is one storage and one request path; what differs from kind to kind is one table of
//! kinds, and what a field is and how it merges is one schema. The answers are those of
//! kube-apiserver 1.36, as recorded; nothing of the controllers under test is used here.
//!
//! # Calling it
//!
//! * [`ApiServer::handle_request`] takes a request and gives a [`Reply`]: a response, one to be
//!   sent later, or a watch.
//! * [`ApiServer::poll_ready`] names watches that may have something to say,
//!   [`ApiServer::poll_watch`] writes it into a buffer.
//! * [`ApiServer::poll_deadline`] says when [`ApiServer::handle_timeout`] must be called next.
//!   Calling it early is harmless.
//!
//! [`Server`] wraps all this in HTTP/1.1 on one thread.

mod apply;
mod body;
mod config;
mod context;
mod controllers;
mod create;
mod decode;
mod delete;
mod discovery;
mod encode;
mod error;
pub mod faults;
mod http;
mod json;
mod kind;
mod managed;
mod media;
mod names;
mod object;
mod openapi;
mod options;
mod patch;
mod patching;
mod protobuf;
mod quantity;
mod quota;
mod read;
mod render;
mod request;
mod schema;
mod selector;
mod server;
mod store;
mod strategy;
mod subresource;
mod table;
mod time;
mod update;
mod watch;
mod yaml;

pub mod kubelet;

pub use config::{Config, Token};
pub use http::{Server, ServerConfig};
pub use request::{Request, Response};
pub use server::{ApiServer, Reply, Stats};
pub use time::Now;
pub use watch::{WatchId, WatchState};
