//! What fuzzers and property tests run.
//!
//! A target takes any bytes and panics where something does not hold. The fuzzer's wrappers (`fuzz/` at the root of the
//! repository) and the tests here run the same bodies: the tests over the corpus of each target, which is beside this
//! folder's `src`, and over inputs that derive from it.

mod api;
mod choices;
mod controllers;
mod deltas;
mod explore;
mod flights;
mod kubeconfigs;
mod machines;
mod names;
mod objects;
mod protobuf;
mod proxies;
mod script;
mod selectors;
mod stores;
mod thing;
mod wire;
mod work_queues;

pub use api::{api_bodies, api_patches, api_protobuf, api_requests};
pub use controllers::controllers;
pub use deltas::{delta_fifo, in_order_fifo};
pub use explore::{Mutations, corpus, corpus_folder};
pub use flights::{recordings, replays};
pub use kubeconfigs::{exec_credentials, kubeconfigs};
pub use machines::{managers, protobuf_managers, reflectors};
pub use names::{names, timestamps};
pub use objects::objects;
pub use protobuf::{protobuf_events, protobuf_frames, protobuf_lists, protobuf_pods};
pub use proxies::proxies;
pub use selectors::{field_selectors, label_selectors};
pub use stores::stores;
pub use wire::{frames, lists, statuses, watch_events};
pub use work_queues::work_queues;
