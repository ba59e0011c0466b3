//! Objects of the API: what every stage may ask of one, and the small views that the built-in controllers cache.

pub mod field_selector;
mod labels;
mod lenient;
mod meta;
mod owner;
mod resource;
pub mod selector;
pub mod validation;

use alloc::boxed::Box;

use serde::de::DeserializeOwned;

pub use labels::Labels;
pub use meta::Meta;
pub use owner::OwnerReference;
pub use resource::Resource;
pub(crate) use resource::push_segment;

use crate::error::{Malformed, Refused};
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
}

impl<T: Object + DeserializeOwned> Decode for T {
    fn decode(json: &[u8], _resource: &Resource) -> Result<Self, Malformed> {
        serde_json::from_slice(json).map_err(|e| Malformed::new("object", e))
    }
}
