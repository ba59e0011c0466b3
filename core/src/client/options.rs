//! What an operation can be told.

use alloc::string::String;

use serde::Serialize;
use serde_json::Value;

use crate::error::Malformed;
use crate::object::{Decode, Resource};
use crate::resource_version::ResourceVersion;
use crate::uid::Uid;
use crate::wire::TypeMeta;

/// Which objects to list or watch. Nothing set: all, as they are now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Only objects with such labels, in the API's syntax.
    pub label_selector: String,
    /// Only objects with such fields, in the API's syntax.
    pub field_selector: String,
    /// At most so many; zero for all. The rest is asked for with the list's `continue_token`.
    pub limit: u32,
    /// Where the page before ended.
    pub continue_token: String,
    /// The version to begin at: for a list, at least this new; for a watch, what came after it. See API concepts, "Resource versions".
    pub resource_version: ResourceVersion,
}

/// How to delete an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// How many seconds the object gets to end; none for its own default.
    pub grace_period_seconds: Option<u32>,
    /// What happens to the objects that it owns; none for the default of its kind.
    pub propagation: Option<Propagation>,
    /// Only the object with this uid.
    pub uid: Option<Uid>,
    /// Only the object at this version.
    pub resource_version: Option<ResourceVersion>,
}

/// What happens to the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// What a deletion has led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted<T> {
    /// The server says that it is done.
    Done,
    /// The object as it is now, or was last: it may still have to end (grace period, finalizers).
    Object(T),
}

impl<T: Decode> Deleted<T> {
    pub(super) fn decode(json: &[u8], resource: &Resource) -> Result<Self, Malformed> {
        if TypeMeta::peek(json)?.kind == "Status" {
            Ok(Self::Done)
        } else {
            T::decode(json, resource).map(Self::Object)
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeleteWire<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_period_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    propagation_policy: Option<Propagation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preconditions: Option<PreconditionsWire<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PreconditionsWire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<&'a str>,
}

impl DeleteOptions {
    /// Only if it is still this object, whatever else has its name by now.
    pub fn of_uid(uid: Uid) -> Self {
        Self { uid: Some(uid), ..Self::default() }
    }

    pub(super) fn write(&self) -> Result<alloc::vec::Vec<u8>, super::Error> {
        let uid = self.uid.as_ref().map(String::from);
        let version = self.resource_version.as_ref().map(|version| alloc::format!("{version}"));
        let preconditions = (uid.is_some() || version.is_some())
            .then_some(PreconditionsWire { uid: uid.as_deref(), resource_version: version.as_deref() });
        super::operation::write(&DeleteWire {
            api_version: "v1",
            kind: "DeleteOptions",
            grace_period_seconds: self.grace_period_seconds,
            propagation_policy: self.propagation,
            preconditions,
        })
    }
}

/// A change to an object, in one of the four ways that API servers take.
///
/// Mirrors apimachinery `pkg/types/patch.go`.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// Server-side apply: these fields are the field manager's own, with these values. See API concepts, "Server-Side Apply".
    Apply {
        /// The fields, as an object.
        object: Value,
        /// Whether to take fields from other managers.
        force: bool,
    },
    /// A JSON patch (RFC 6902): a list of operations.
    Json(Value),
    /// A merge patch (RFC 7386): `null` removes, lists are replaced.
    Merge(Value),
    /// A strategic merge patch: lists are merged by their keys. Not for custom resources.
    Strategic(Value),
}
