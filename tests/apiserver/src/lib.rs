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
//! ```
//! use sanskube_apiserver::{ApiServer, Config, Now, Reply, Request};
//! use std::time::Duration;
//!
//! let now = Now { monotonic: Duration::ZERO, wall: "2026-01-01T00:00:00Z".parse().unwrap() };
//! let mut api = ApiServer::new(Config::default(), now);
//! // What a controller would send:
//! let maps = "/api/v1/namespaces/default/configmaps";
//! let create = Request::new("POST", maps).with_body("application/json", r#"{"metadata":{"name":"a"}}"#);
//! let Reply::Response(made) = api.handle_request(now, &create) else { panic!("a create is answered at once") };
//! assert_eq!(made.status, 201);
//! // What it would see:
//! let watch = Request::get("/api/v1/namespaces/default/configmaps?watch=1");
//! let Reply::Watch { id, .. } = api.handle_request(now, &watch) else { panic!("a watch is accepted") };
//! let mut frames = Vec::new();
//! api.poll_watch(id, now, 1 << 20, &mut frames);
//! assert!(frames.starts_with(br#"{"type":"ADDED","object":{"kind":"ConfigMap""#));
//! // And what it must bear:
//! api.faults_mut().fail_next("POST", "configmaps", 429);
//! let Reply::Response(refused) = api.handle_request(now, &create) else { panic!() };
//! assert_eq!(refused.status, 429);
//! ```
//!
//! # What is served, and what is not
//!
//! Namespaces, pods (status, binding, eviction), replica sets and replication controllers (status, scale), config
//! maps, events (core/v1 and events.k8s.io/v1), leases, nodes and resource quotas (counts), with discovery,
//! tables, partial metadata, protobuf, YAML, gzip, the three patches and server-side apply. And whatever a
//! CustomResourceDefinition defines, in all its versions, with status, scale and printed columns: its schema is told to clients and not
//! enforced, nothing is pruned or defaulted, and versions are not converted. Not served, and refused
//! when asked for: CBOR, admission and conversion webhooks, RBAC rules, disruption budgets, quotas on compute
//! resources, exec and its like, logs.

mod apply;
mod body;
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
