//! The owner of an object.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use serde::Deserialize;

use super::lenient::{Text, nullable};
use crate::json::{Reader, Unexpected};
use crate::protobuf::Fields;
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

/// An owner reference as it is read by the built-in views.
#[derive(Default)]
pub(super) struct OwnerReferenceText<'a> {
    api_version: Cow<'a, str>,
    kind: Cow<'a, str>,
    name: Cow<'a, str>,
    uid: Cow<'a, str>,
    controller: bool,
    block_owner_deletion: bool,
}

impl<'a> OwnerReferenceText<'a> {
    /// Reads a list of owners, of which the first with `controller: true` is picked.
    pub(super) fn read_controller(reader: &mut Reader<'a>) -> Result<Option<Self>, Unexpected> {
        let mut controller = None;
        let mut owners = reader.array()?;
        while reader.next_element(&mut owners)? {
            let owner = Self::read(reader)?;
            if controller.is_none() && owner.controller {
                controller = Some(owner);
            }
        }
        Ok(controller)
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }

    /// Whether it is this owner.
    pub(super) fn is(&self, owner: &OwnerReference) -> bool {
        owner.uid == Uid::new(&self.uid)
            && *owner.name == *self.name
            && *owner.kind == *self.kind
            && *owner.api_version == *self.api_version
            && (owner.controller, owner.block_owner_deletion) == (self.controller, self.block_owner_deletion)
    }

    /// Reads the message `metav1.OwnerReference`.
    pub(super) fn read_protobuf(mut fields: Fields<'a>) -> Result<Self, Unexpected> {
        let mut owner = Self::default();
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => owner.kind = Cow::Borrowed(value.text()?),
                3 => owner.name = Cow::Borrowed(value.text()?),
                4 => owner.uid = Cow::Borrowed(value.text()?),
                5 => owner.api_version = Cow::Borrowed(value.text()?),
                6 => owner.controller = value.boolean()?,
                7 => owner.block_owner_deletion = value.boolean()?,
                _ => {}
            }
        }
        Ok(owner)
    }

    /// Whether this owner is the managing controller.
    pub(super) fn is_controller(&self) -> bool {
        self.controller
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Unexpected> {
        let mut owner = Self::default();
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            match &*key {
                b"apiVersion" => owner.api_version = reader.text()?,
                b"kind" => owner.kind = reader.text()?,
                b"name" => owner.name = reader.text()?,
                b"uid" => owner.uid = reader.text()?,
                b"controller" => owner.controller = reader.boolean()?,
                b"blockOwnerDeletion" => owner.block_owner_deletion = reader.boolean()?,
                _ => reader.skip()?,
            }
        }
        Ok(owner)
    }
}

impl From<&OwnerReferenceText<'_>> for OwnerReference {
    fn from(text: &OwnerReferenceText<'_>) -> Self {
        Self {
            api_version: (*text.api_version).into(),
            kind: (*text.kind).into(),
            name: (*text.name).into(),
            uid: Uid::new(&text.uid),
            controller: text.controller,
            block_owner_deletion: text.block_owner_deletion,
        }
    }
}
