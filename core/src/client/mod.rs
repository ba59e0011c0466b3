//! Operations on objects: requests as data, and what their answers mean.
//!
//! An [`Api`] names a collection and makes an [`Operation`] of each thing that can be done with it. An operation knows its request
//! and how to read the answer; somebody else carries both. The adapters do, with one method, `client.send(operation)`:
//!
//! ```
//! # #[cfg(feature = "k8s-openapi")] {
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use sanskube::client::{Api, Patch};
//!
//! let maps = Api::<ConfigMap>::in_namespace("shop");
//! let get = maps.get("prices");
//! assert_eq!(get.request().unwrap().path, "/api/v1/namespaces/shop/configmaps/prices");
//! let patch = maps.patch("prices", &Patch::Merge(serde_json::json!({"data": {"apple": "2"}})));
//! assert_eq!(format!("{:?}", patch.request().unwrap()), "PATCH /api/v1/namespaces/shop/configmaps/prices");
//! # }
//! ```
//!
//! Mirrors client-go's `rest` and `kubernetes` packages in what is sent; see API concepts, "Resource URIs" and "Patch operations".

mod api;
mod attempts;
mod error;
mod finalizer;
mod list;
mod operation;
mod options;
mod scale;
mod watch;

pub use api::Api;
pub use attempts::{Attempts, Step};
pub use error::Error;
pub use finalizer::{Finalizer, Finalizing};
pub use list::List;
pub use operation::Operation;
pub use options::{DeleteOptions, Deleted, ListOptions, Patch, Propagation};
pub use scale::Scale;
pub use watch::{Event, Events, Watch};

#[cfg(all(test, feature = "k8s-openapi"))]
mod tests;
