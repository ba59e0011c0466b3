//! The owner of an object.

use alloc::boxed::Box;

use serde::Deserialize;

use super::lenient::{Text, nullable};
use crate::uid::Uid;

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerReference {
    /// `apiVersion` of the owner, such as `apps/v1`.
    pub api_version: Box<str>,
    /// `kind` of the owner.
    pub kind: Box<str>,
    /// Name of the owner.
    pub name: Box<str>,
    /// Uid of the owner.
    pub uid: Uid,
    /// Whether the owner is the managing controller; at most one owner is.
    pub controller: bool,
    /// Whether a foreground deletion of the owner waits for this object.
    pub block_owner_deletion: bool,
}

/// An owner reference as it stands in JSON.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OwnerReferenceWire<'a> {
    #[serde(borrow)]
    api_version: Text<'a>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    uid: Text<'a>,
    #[serde(deserialize_with = "nullable")]
    pub(super) controller: bool,
    #[serde(deserialize_with = "nullable")]
    block_owner_deletion: bool,
}

impl From<&OwnerReferenceWire<'_>> for OwnerReference {
    fn from(wire: &OwnerReferenceWire<'_>) -> Self {
        Self {
            api_version: (*wire.api_version).into(),
            kind: (*wire.kind).into(),
            name: (*wire.name).into(),
            uid: Uid::new(&wire.uid),
            controller: wire.controller,
            block_owner_deletion: wire.block_owner_deletion,
        }
    }
}
