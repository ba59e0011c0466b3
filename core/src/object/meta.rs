//! The metadata of an object, as far as a controller needs it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer};

use super::labels::Labels;
use super::lenient::{Text, nullable};
use super::owner::{OwnerReference, OwnerReferenceWire};
use crate::json::{Reader, Unexpected};
use crate::key::Key;
use crate::protobuf::Fields;
use crate::resource_version::ResourceVersion;
use crate::time::Timestamp;
use crate::uid::Uid;

/// What the built-in views keep of `metadata`.
///
/// Annotations, finalizers, managed fields and owners that are not the controller are skipped without being built.
#[derive(Clone, PartialEq, Eq)]
pub struct Meta {
    /// Namespace and name.
    pub key: Key,
    /// `uid`.
    pub uid: Uid,
    /// `resourceVersion`.
    pub resource_version: ResourceVersion,
    /// `generation`: grows with each change of the spec.
    pub generation: i64,
    /// `creationTimestamp`.
    pub creation: Option<Timestamp>,
    /// `deletionTimestamp`: the object is terminating.
    pub deletion: Option<Timestamp>,
    /// `labels`.
    pub labels: Labels,
    /// The first owner with `controller: true`, as apimachinery's `GetControllerOf` picks it.
    pub controller: Option<Box<OwnerReference>>,
}

impl Meta {
    /// Namespace; empty for a cluster-scoped object.
    pub fn namespace(&self) -> &str {
        self.key.namespace()
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// Whether the managing controller is the object with this uid (apimachinery `IsControlledBy`).
    pub fn is_controlled_by(&self, uid: &Uid) -> bool {
        self.controller.as_ref().is_some_and(|owner| owner.uid == *uid)
    }
}

/// What an [`Object`](super::Object) that has a `meta` says of itself by it.
macro_rules! object_by_meta {
    () => {
        fn namespace(&self) -> &str {
            self.meta.namespace()
        }

        fn name(&self) -> &str {
            self.meta.name()
        }

        fn uid(&self) -> $crate::uid::Uid {
            self.meta.uid.clone()
        }

        fn resource_version(&self) -> $crate::resource_version::ResourceVersion {
            self.meta.resource_version.clone()
        }

        fn key(&self) -> $crate::key::Key {
            self.meta.key.clone()
        }
    };
}
pub(super) use object_by_meta;

impl fmt::Debug for Meta {
    /// Key and version, never more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key, self.resource_version)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = MetaWire::deserialize(deserializer)?;
        Ok(Self {
            key: Key::new(&wire.namespace, &wire.name),
            uid: Uid::new(&wire.uid),
            resource_version: ResourceVersion::new(&wire.resource_version),
            generation: wire.generation,
            creation: wire.creation_timestamp,
            deletion: wire.deletion_timestamp,
            controller: wire.owner_references.iter().find(|owner| owner.controller).map(|owner| Box::new(owner.into())),
            labels: wire.labels,
        })
    }
}

/// Metadata as it stands in JSON.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MetaWire<'a> {
    #[serde(borrow)]
    namespace: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    uid: Text<'a>,
    #[serde(borrow)]
    resource_version: Text<'a>,
    #[serde(deserialize_with = "nullable")]
    generation: i64,
    #[serde(deserialize_with = "time")]
    creation_timestamp: Option<Timestamp>,
    #[serde(deserialize_with = "time")]
    deletion_timestamp: Option<Timestamp>,
    labels: Labels,
    #[serde(borrow, deserialize_with = "nullable")]
    owner_references: Vec<OwnerReferenceWire<'a>>,
}

/// For `#[serde(deserialize_with)]`: a `metav1.Time`; `null` and the zero time of Go are none.
pub(in crate::object) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    parse_time(&Text::deserialize(deserializer)?).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
}

fn parse_time(text: &str) -> Option<Option<Timestamp>> {
    match text {
        "" | "0001-01-01T00:00:00Z" => Some(None),
        text => Timestamp::parse(text).map(Some),
    }
}

/// The same of a reader.
pub(super) fn read_time(reader: &mut Reader<'_>) -> Result<Option<Timestamp>, Unexpected> {
    let text = reader.text()?;
    parse_time(&text).ok_or_else(|| reader.unexpected("RFC 3339 time before"))
}

/// The same of a message `metav1.Time`: whole seconds. Without a field it is the zero time of Go.
///
/// Mirrors apimachinery `pkg/apis/meta/v1/time_proto.go`, `Unmarshal`, which ignores the nanoseconds.
pub(super) fn read_proto_time(mut fields: Fields<'_>) -> Result<Option<Timestamp>, Unexpected> {
    let mut seconds = (!fields.rest().is_empty()).then_some(0);
    while let Some((number, value)) = fields.next()? {
        if number == 1 {
            seconds = Some(value.integer()?);
        }
    }
    Ok(seconds.filter(|seconds| *seconds != GO_ZERO).map(Timestamp::from_seconds))
}

/// The zero time of Go, the beginning of the year 1, in seconds since the epoch.
const GO_ZERO: i64 = -62_135_596_800;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_controller_is_the_owner_and_null_is_nothing() {
        let json = r#"{"namespace":"shop","name":"a","uid":"u","resourceVersion":"5","generation":null,
            "creationTimestamp":null,"deletionTimestamp":"2026-03-14T09:26:53Z","labels":null,"annotations":{"x":"y"},
            "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"1"},
            {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"2","controller":true,"blockOwnerDeletion":null}]}"#;
        let meta: Meta = serde_json::from_str(json).unwrap();
        assert_eq!(alloc::format!("{meta:?}"), "shop/a@5");
        assert!(meta.is_controlled_by(&Uid::new("2")));
        assert!(!meta.is_controlled_by(&Uid::new("1")));
        assert_eq!((meta.generation, meta.creation, meta.labels.len()), (0, None, 0));
        assert!(meta.deletion.is_some());
    }

    #[test]
    fn a_field_of_another_type_is_an_error() {
        for json in [r#"{"name":5}"#, r#"{"labels":[]}"#, r#"{"generation":"1"}"#, r#"{"creationTimestamp":"noon"}"#] {
            assert!(serde_json::from_str::<Meta>(json).is_err(), "{json}");
        }
    }
}
