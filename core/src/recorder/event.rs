//! An event: something that happened to an object, told to people.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::object::{Object, Resource};
use crate::uid::Uid;

/// How bad an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// Nothing is wrong.
    Normal,
    /// Somebody should look.
    Warning,
}

impl EventType {
    /// The type as it is written in an event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectReference {
    /// `kind`.
    pub kind: Cow<'static, str>,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: Uid,
    /// `apiVersion`.
    pub api_version: String,
    /// The version of the object that was looked at.
    pub resource_version: String,
}

impl ObjectReference {
    /// A reference to an object of a resource.
    pub fn of(object: &impl Object, resource: &Resource) -> Self {
        Self {
            kind: resource.kind.clone(),
            namespace: String::from(object.namespace()),
            name: String::from(object.name()),
            uid: object.uid(),
            api_version: resource.api_version().into_owned(),
            resource_version: alloc::format!("{}", object.resource_version()),
        }
    }
}

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who tells it, such as `replicaset-controller`.
    pub component: Cow<'static, str>,
    /// What it happened to.
    pub object: ObjectReference,
    /// How bad it is.
    pub event_type: EventType,
    /// What happened, in one word.
    pub reason: Cow<'static, str>,
    /// What happened, for people.
    pub message: String,
}
