//! An object of which only the metadata is kept.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::{Text, nullable};
use super::meta::object_by_meta;
use super::owner::OwnerReferenceWire;
use super::{Decode, Labels, Meta, Object, OwnerReference, Resource};
use crate::error::Malformed;

/// The metadata of an object of any kind; spec, status and managed fields are skipped without being built.
///
/// The same for a server that sends whole objects and for one that was asked for `PartialObjectMetadata` alone (API
/// concepts, "Metadata-only fetches"). Annotations can be large; a [`Transform`](super::Transform) can drop what is not needed.
#[derive(Clone, PartialEq, Eq)]
pub struct MetadataOnly {
    /// What all views keep.
    pub meta: Meta,
    /// `annotations`.
    pub annotations: Labels,
    /// `finalizers`.
    pub finalizers: Box<[Box<str>]>,
    /// `ownerReferences`, all of them.
    pub owners: Box<[OwnerReference]>,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
}

/// What [`Meta`] leaves out.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rest<'a> {
    annotations: Labels,
    #[serde(borrow, deserialize_with = "nullable")]
    finalizers: Vec<Text<'a>>,
    #[serde(borrow, deserialize_with = "nullable")]
    owner_references: Vec<OwnerReferenceWire<'a>>,
}

impl Decode for MetadataOnly {
    fn decode(json: &[u8], _resource: &Resource) -> Result<Self, Malformed> {
        let malformed = |e| Malformed::new("metadata", e);
        let metadata = serde_json::from_slice::<Wire<'_>>(json).map_err(malformed)?.metadata.get();
        let rest: Rest<'_> = serde_json::from_str(metadata).map_err(malformed)?;
        Ok(Self {
            meta: serde_json::from_str(metadata).map_err(malformed)?,
            annotations: rest.annotations,
            finalizers: rest.finalizers.iter().map(|text| (**text).into()).collect(),
            owners: rest.owner_references.iter().map(OwnerReference::from).collect(),
        })
    }
}

impl Object for MetadataOnly {
    object_by_meta!();

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl fmt::Debug for MetadataOnly {
    /// Key and version, never more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meta.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uid::Uid;

    #[test]
    fn the_metadata_is_kept_and_the_rest_is_skipped() {
        let json = br#"{"kind":"Widget","spec":{"big":[1,2,3]},"metadata":{"namespace":"shop","name":"a","uid":"u",
            "resourceVersion":"7","labels":{"app":"web"},"annotations":{"note":"x\ty"},"finalizers":["keep.example.com/it"],
            "managedFields":[{"manager":"kubectl"}],"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"1"}]}}"#;
        let object = MetadataOnly::decode(json, &Resource::PODS).unwrap();
        assert_eq!(alloc::format!("{object:?}"), "shop/a@7");
        assert_eq!(object.meta.labels.get("app"), Some("web"));
        assert_eq!(object.annotations.get("note"), Some("x\ty"));
        assert_eq!(*object.finalizers, ["keep.example.com/it".into()]);
        assert_eq!(object.owners[0].uid, Uid::new("1"));
    }

    #[test]
    fn null_is_nothing_and_no_metadata_is_malformed() {
        let json = br#"{"metadata":{"name":"a","annotations":null,"finalizers":null,"ownerReferences":null}}"#;
        assert_eq!(MetadataOnly::decode(json, &Resource::PODS).unwrap().key().as_str(), "a");
        for json in [&b"{}"[..], br#"{"metadata":null}"#, br#"{"metadata":{"finalizers":[1]}}"#, b""] {
            assert!(MetadataOnly::decode(json, &Resource::PODS).is_err());
        }
    }
}
