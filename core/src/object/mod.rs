//! Objects of the API: what every stage may ask of one, and the small views that the built-in controllers cache.
//!
//! Stores, informers and queues take any [`Object`]. There are four ways to have one:
//!
//! * the views of this crate, which keep what a controller needs and no more;
//! * [`MetadataOnly`], for collections of which only the metadata matters, or of which the type is not known;
//! * the types of the `k8s-openapi` crate, with the feature of that name;
//! * a type of one's own, with as many fields as one needs:
//!
//! ```
//! use sanskube::object::{Decode, Meta, Object, Resource};
//! use sanskube::resource_version::ResourceVersion;
//! use sanskube::uid::Uid;
//!
//! #[derive(serde::Deserialize)]
//! struct CronTab {
//!     metadata: Meta,
//!     spec: Spec,
//! }
//!
//! #[derive(serde::Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Spec {
//!     cron_spec: String,
//! }
//!
//! impl Object for CronTab {
//!     fn namespace(&self) -> &str {
//!         self.metadata.namespace()
//!     }
//!     fn name(&self) -> &str {
//!         self.metadata.name()
//!     }
//!     fn uid(&self) -> Uid {
//!         self.metadata.uid.clone()
//!     }
//!     fn resource_version(&self) -> ResourceVersion {
//!         self.metadata.resource_version.clone()
//!     }
//! }
//!
//! let resource = Resource {
//!     group: "stable.example.com".into(),
//!     version: "v1".into(),
//!     plural: "crontabs".into(),
//!     kind: "CronTab".into(),
//! };
//! let json = br#"{"metadata":{"namespace":"shop","name":"nightly"},"spec":{"cronSpec":"0 3 * * *","image":"scrub"}}"#;
//! let tab = CronTab::decode(json, &resource)?;
//! assert_eq!(tab.key().as_str(), "shop/nightly");
//! assert_eq!(tab.spec.cron_spec, "0 3 * * *");
//! # Ok::<(), sanskube::error::Malformed>(())
//! ```

pub mod field_selector;
mod labels;
pub(crate) mod lenient;
mod map_text;
mod meta;
mod metadata_only;
#[cfg(feature = "k8s-openapi")]
mod openapi;
mod owned;
mod owner;
mod pod;
mod replica_set;
mod resource;
pub mod selector;
mod shared;
pub mod validation;

use alloc::boxed::Box;

use serde::de::DeserializeOwned;

pub use labels::Labels;
pub(crate) use labels::LastAnswer;
pub use meta::Meta;
pub use metadata_only::MetadataOnly;
pub use owned::{Controlled, ControllerRef};
pub use owner::OwnerReference;
pub use pod::{Phase, Pod, Restarts};
pub use replica_set::{Condition, ReplicaSet, ReplicaSetKind, ReplicaSetStatus};
pub use resource::Resource;
pub(crate) use resource::push_segment;
pub use shared::{Common, Shared};

use crate::error::{Malformed, Refused};
use crate::json::Reader;
use crate::key::Key;
use crate::resource_version::ResourceVersion;
use crate::uid::Uid;

/// Something with Kubernetes metadata: a view of this crate, a `k8s_openapi` type, a type of the user's own.
pub trait Object {
    /// `metadata.namespace`; empty for a cluster-scoped object.
    fn namespace(&self) -> &str;

    /// `metadata.name`.
    fn name(&self) -> &str;

    /// `metadata.uid`; the empty uid where there is none.
    fn uid(&self) -> Uid;

    /// `metadata.resourceVersion`.
    fn resource_version(&self) -> ResourceVersion;

    /// The key that the object is stored and queued by unless the user gives another key function.
    ///
    /// Mirrors client-go `tools/cache/store.go`, `MetaNamespaceKeyFunc`.
    fn key(&self) -> Key {
        Key::new(self.namespace(), self.name())
    }

    /// Whether the other is known to be the same in every field, so that one can stand for both. An informer then keeps the one that
    /// it has when a list brings it again, instead of holding two of each object until the list is whole.
    ///
    /// `false` where nobody says otherwise; a type that implements `PartialEq` can say `self == other`.
    fn is_same(&self, _other: &Self) -> bool
    where
        Self: Sized,
    {
        false
    }
}

/// Changes an object before it is stored, to drop what is not needed, or refuses it. Key, uid and version must stay.
///
/// Mirrors client-go `tools/cache/delta_fifo.go`, `TransformFunc`.
pub type Transform<T> = Box<dyn Fn(T) -> Result<T, Refused> + Send + Sync>;

/// An object that can be read from the bytes an API server sends.
///
/// Implemented for every [`Object`] that is `serde::Deserialize`.
pub trait Decode: Object + Sized {
    /// Reads one object from its JSON. `resource` is what was asked for: the items of a list do not say their kind.
    ///
    /// # Errors
    /// The bytes are not JSON, or a field that the type knows has another type.
    fn decode(json: &[u8], resource: &Resource) -> Result<Self, Malformed>;

    /// Reads the object that the bytes begin with, and tells how many of them it takes. What follows it is not looked at.
    ///
    /// A view of this crate takes from `common` what it has in common with objects that were read before.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode); or the end of the object is not among the bytes.
    fn decode_first(bytes: &[u8], resource: &Resource, _common: &mut Common<'_>) -> Result<(Self, usize), Malformed> {
        let mut reader = Reader::new(bytes);
        let json = reader.raw().map_err(|e| Malformed::new("object", e))?;
        Self::decode(json, resource).map(|object| (object, reader.position()))
    }

    /// Whether [`decode_protobuf`](Self::decode_protobuf) reads such objects. Those of another type are asked for in JSON alone.
    const PROTOBUF: bool = false;

    /// Reads one object from its protobuf message, taken out of its envelope. `common` is as for [`decode_first`](Self::decode_first).
    ///
    /// # Errors
    /// The bytes are not such a message, or a field that the type knows has another type; or the type is not read from protobuf.
    fn decode_protobuf(_message: &[u8], _resource: &Resource, _common: &mut Common<'_>) -> Result<Self, Malformed> {
        Err(Malformed::new("object", "this type is read from JSON alone"))
    }
}

impl<T: Object + DeserializeOwned> Decode for T {
    fn decode(json: &[u8], _resource: &Resource) -> Result<Self, Malformed> {
        serde_json::from_slice(json).map_err(|e| Malformed::new("object", e))
    }
}
