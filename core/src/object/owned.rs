//! Objects that can have a controller.

use super::{MetadataOnly, Object, OwnerReference, Pod, ReplicaSet};
use crate::uid::Uid;

/// Who controls an object: the one entry of `metadata.ownerReferences` with `controller: true`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerRef<'a> {
    /// `apiVersion` of the controller, such as `apps/v1`.
    pub api_version: &'a str,
    /// `kind` of the controller.
    pub kind: &'a str,
    /// Name of the controller.
    pub name: &'a str,
    /// Uid of the controller.
    pub uid: Uid,
}

impl ControllerRef<'_> {
    /// The API group of the controller; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// An object that can have a controller: what changes in it is the business of whoever looks after that.
///
/// Implemented by the views of this crate and, with the feature `k8s-openapi`, by the types of that crate.
pub trait Controlled: Object {
    /// Who controls it, if anybody does.
    ///
    /// Mirrors apimachinery `pkg/apis/meta/v1/controller_ref.go`, `GetControllerOfNoCopy`.
    fn controller(&self) -> Option<ControllerRef<'_>>;
}

impl Controlled for MetadataOnly {
    fn controller(&self) -> Option<ControllerRef<'_>> {
        self.meta.controller.as_deref().map(of_owner)
    }
}

impl Controlled for Pod {
    fn controller(&self) -> Option<ControllerRef<'_>> {
        self.controller().map(of_owner)
    }
}

impl Controlled for ReplicaSet {
    fn controller(&self) -> Option<ControllerRef<'_>> {
        self.meta().controller.as_deref().map(of_owner)
    }
}

fn of_owner(owner: &OwnerReference) -> ControllerRef<'_> {
    ControllerRef { api_version: &owner.api_version, kind: &owner.kind, name: &owner.name, uid: owner.uid.clone() }
}

#[cfg(feature = "k8s-openapi")]
impl<T> Controlled for T
where
    T: k8s_openapi::Metadata<Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta> + PartialEq,
{
    fn controller(&self) -> Option<ControllerRef<'_>> {
        let owners = self.metadata().owner_references.as_deref().unwrap_or_default();
        let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
        Some(ControllerRef {
            api_version: &owner.api_version,
            kind: &owner.kind,
            name: &owner.name,
            uid: Uid::new(&owner.uid),
        })
    }
}
