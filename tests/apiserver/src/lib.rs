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
//!
//! # Testing a controller with it
//!
//! A controller that leaves its I/O to a function is tested without thread or port. Time stands still unless the test moves it, and
//! the same calls give the same bytes:
//!
//! ```
//! use sanskube_apiserver::{ApiServer, Config, Now, Request, Response};
//! use serde_json::json;
//! const MAPS: &str = "/api/v1/namespaces/default/configmaps";
//!
//! /// The controller under test: labels every config map with how many keys it has. An error is the status of a write that failed.
//! fn reconcile(send: &mut impl FnMut(Request) -> Response) -> Result<(), u16> {
//!     let list = send(Request::get(MAPS)).json().ok_or(0u16)?;
//!     list["items"].as_array().into_iter().flatten().try_for_each(|map| {
//!         let keys = map["data"].as_object().map_or(0, |data| data.len()).to_string();
//!         let patch = json!({ "metadata": { "labels": { "keys": keys } } }).to_string();
//!         let target = format!("{MAPS}/{}", map["metadata"]["name"].as_str().unwrap());
//!         let request = Request::new("PATCH", &target).with_body("application/merge-patch+json", patch);
//!         Some(send(request).status).filter(|status| *status != 200).map_or(Ok(()), Err)
//!     })
//! }
//!
//! let now = Now { monotonic: Default::default(), wall: "2026-01-01T00:00:00Z".parse().unwrap() };
//! let mut api = ApiServer::new(Config::default(), now);
//! api.faults_mut().fail_next("PATCH", "configmaps/a", 409);
//! let mut send = |request| api.handle_request(now, &request).response().unwrap();
//! let map = json!({ "metadata": { "name": "a" }, "data": { "x": "1", "y": "2" } }).to_string();
//! send(Request::new("POST", MAPS).with_body("application/json", map));
//! assert_eq!(reconcile(&mut send), Err(409)); // It notices a conflict,
//! assert_eq!(reconcile(&mut send), Ok(())); // and does better the next time.
//! assert_eq!(send(Request::get(&format!("{MAPS}/a"))).json().unwrap()["metadata"]["labels"]["keys"], "2");
//! ```
//!
//! Any other is given a port of this machine, and the test looks at what it does without going through HTTP:
//!
//! ```
//! use sanskube_apiserver::{Request, Server, ServerConfig};
//!
//! let server = Server::start(ServerConfig::default()).unwrap();
//! println!("a controller for {} is started here", server.url());
//! let pods = server.with_api(|api, now| api.handle_request(now, &Request::get("/api/v1/pods")));
//! assert_eq!(pods.response().unwrap().json().unwrap()["kind"], "PodList");
//! ```
//!
//! # What is served, and what is not
//!
//! Namespaces, pods (status, binding, eviction), replica sets and replication controllers (status, scale), config
//! maps, events (core/v1 and events.k8s.io/v1), leases, nodes and resource quotas (counts, without scopes), with discovery,
//! tables, partial metadata, protobuf, YAML, gzip, the three patches and server-side apply. And whatever a
//! CustomResourceDefinition defines, in all its versions, with status, scale and printed columns: its schema is told to clients and not
//! enforced, nothing is pruned or defaulted, and versions are not converted. Not served, and refused
//! when asked for: CBOR, admission and conversion webhooks, RBAC rules, disruption budgets, quotas on compute
//! resources, exec and its like, logs.

mod apply;
mod body;
mod change;
mod config;
mod context;
mod controllers;
mod create;
mod decode;
mod definitions;
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
mod replica;
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

pub use change::Change;
pub use config::{Config, Token};
pub use http::{Bad, Incoming, RequestReader, Server, ServerConfig};
pub use protobuf::encode as encode_protobuf;
pub use request::{Request, Response};
pub use server::{ApiServer, Reply, Stats};
pub use time::Now;
pub use watch::{WatchId, WatchState};
