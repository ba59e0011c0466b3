//! The ReplicaSet and its elder, the ReplicationController, as one view.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::labels::Labels;
use super::lenient::{Text, nullable};
use super::meta::{Meta, time};
use super::resource::Resource;
use super::selector::{LabelSelector, Selector, SelectorError};
use super::{Decode, Object};
use crate::error::Malformed;
use crate::key::Key;
use crate::resource_version::ResourceVersion;
use crate::time::Timestamp;
use crate::uid::Uid;

/// Which of the two kinds a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplicaSetKind {
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `v1` ReplicationController.
    ReplicationController,
}

impl ReplicaSetKind {
    /// The collection that sets of this kind live in.
    pub fn resource(self) -> &'static Resource {
        static SETS: Resource = Resource::REPLICA_SETS;
        static CONTROLLERS: Resource = Resource::REPLICATION_CONTROLLERS;
        match self {
            Self::ReplicaSet => &SETS,
            Self::ReplicationController => &CONTROLLERS,
        }
    }
}

/// A view of a ReplicaSet or ReplicationController.
///
/// Beside what the controller looks at it keeps the JSON of `metadata` (without `managedFields`) and of `spec` as it came, since the
/// whole object is sent back with a new status and pods are made from the template: fields that this build does not know survive.
pub struct ReplicaSet {
    kind: ReplicaSetKind,
    meta: Meta,
    replicas: i32,
    min_ready_seconds: i32,
    selector: Result<Selector, SelectorError>,
    template_labels: Labels,
    status: ReplicaSetStatus,
    raw_metadata: Box<RawValue>,
    raw_spec: Box<RawValue>,
}

impl ReplicaSet {
    /// Which of the two kinds.
    pub fn kind(&self) -> ReplicaSetKind {
        self.kind
    }

    /// What is known of `metadata`.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// `spec.replicas`: the wanted number of pods. Absent is 1, as the API server defaults it; a negative number, which the API server
    /// refuses, is 0.
    pub fn replicas(&self) -> usize {
        usize::try_from(self.replicas).unwrap_or(0)
    }

    /// `spec.minReadySeconds`: how long a pod must have been ready to count as available, in seconds.
    pub fn min_ready_seconds(&self) -> i32 {
        self.min_ready_seconds
    }

    /// `spec.selector`: [nothing](Selector::nothing) where it is absent, everything where it is empty.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn selector(&self) -> Result<&Selector, &SelectorError> {
        self.selector.as_ref()
    }

    /// The labels of the template.
    pub fn template_labels(&self) -> &Labels {
        &self.template_labels
    }

    /// `status`.
    pub fn status(&self) -> &ReplicaSetStatus {
        &self.status
    }

    /// The JSON of `spec` as it came.
    pub fn raw_spec(&self) -> &RawValue {
        &self.raw_spec
    }

    /// The JSON of the whole object with another status.
    ///
    /// The order of the fields is Go's.
    pub fn to_json_with_status(&self, status: &ReplicaSetStatus) -> Vec<u8> {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Whole<'a> {
            kind: &'a str,
            api_version: &'a str,
            metadata: &'a RawValue,
            spec: &'a RawValue,
            status: &'a ReplicaSetStatus,
        }

        let resource = self.kind.resource();
        let whole = Whole {
            kind: &resource.kind,
            api_version: &resource.api_version(),
            metadata: &self.raw_metadata,
            spec: &self.raw_spec,
            status,
        };
        serde_json::to_vec(&whole).expect("a struct of texts, numbers and JSON has a JSON form")
    }
}

impl Object for ReplicaSet {
    fn namespace(&self) -> &str {
        self.meta.namespace()
    }

    fn name(&self) -> &str {
        self.meta.name()
    }

    fn uid(&self) -> Uid {
        self.meta.uid.clone()
    }

    fn resource_version(&self) -> ResourceVersion {
        self.meta.resource_version.clone()
    }

    fn key(&self) -> Key {
        self.meta.key.clone()
    }
}

impl fmt::Debug for ReplicaSet {
    /// Kind, key and version, never more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.kind, self.meta)
    }
}

/// `status` of a set.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetStatus {
    /// Active pods.
    #[serde(deserialize_with = "nullable")]
    pub replicas: i32,
    /// Active pods that have all labels of the template.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub fully_labeled_replicas: i32,
    /// Active pods that are ready.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub ready_replicas: i32,
    /// Active pods that have been ready for `minReadySeconds`.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub available_replicas: i32,
    /// Pods that are being deleted. Absent is not zero: a ReplicationController does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating_replicas: Option<i32>,
    /// The generation of the spec that the other fields are about.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// What else is to be said, at most one of each type.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl ReplicaSetStatus {
    /// The first condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// An entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// `type`.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub status: String,
    /// When `status` changed last.
    #[serde(deserialize_with = "time", serialize_with = "write_time")]
    pub last_transition_time: Option<Timestamp>,
    /// Why, in one word.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, for people.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Fields that this build does not know, which a condition of somebody else's may have.
    #[serde(flatten)]
    pub others: serde_json::Map<String, serde_json::Value>,
}

fn write_time<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(time),
        None => serializer.serialize_none(),
    }
}

impl Decode for ReplicaSet {
    fn decode(json: &[u8], resource: &Resource) -> Result<Self, Malformed> {
        decode(json, resource).map_err(|e| Malformed::new("replica set", e))
    }
}

fn decode(json: &[u8], resource: &Resource) -> Result<ReplicaSet, serde_json::Error> {
    let wire: Wire<'_> = serde_json::from_slice(json)?;
    let metadata = wire.metadata.map_or("{}", RawValue::get);
    let spec = wire.spec.map_or("{}", RawValue::get);
    let kind = if resource.plural == Resource::REPLICATION_CONTROLLERS.plural {
        ReplicaSetKind::ReplicationController
    } else {
        ReplicaSetKind::ReplicaSet
    };
    let selector = match kind {
        ReplicaSetKind::ReplicaSet => {
            let spec: SelectorWire<LabelSelector> = serde_json::from_str(spec)?;
            Selector::try_from(spec.selector.as_ref())
        }
        // A plain map of labels, which upstream takes for the matchLabels of a label selector
        // (pkg/controller/replication/conversion.go).
        ReplicaSetKind::ReplicationController => {
            let spec: SelectorWire<Labels> = serde_json::from_str(spec)?;
            spec.selector.as_ref().map_or_else(|| Ok(Selector::nothing()), Selector::validated_from_labels)
        }
    };
    let numbers: SpecWire = serde_json::from_str(spec)?;
    Ok(ReplicaSet {
        kind,
        meta: serde_json::from_str(metadata)?,
        replicas: numbers.replicas.unwrap_or(1),
        min_ready_seconds: numbers.min_ready_seconds,
        selector,
        template_labels: numbers.template.metadata.labels,
        status: wire.status,
        raw_metadata: without_managed_fields(metadata)?,
        raw_spec: RawValue::from_string(spec.into())?,
    })
}

/// A set as it stands in JSON.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Wire<'a> {
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
    #[serde(deserialize_with = "nullable")]
    status: ReplicaSetStatus,
}

/// What the two kinds have in common in their spec.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpecWire {
    replicas: Option<i32>,
    #[serde(deserialize_with = "nullable")]
    min_ready_seconds: i32,
    #[serde(deserialize_with = "nullable")]
    template: TemplateWire,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct SelectorWire<T> {
    #[serde(default = "Option::default")]
    selector: Option<T>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct TemplateWire {
    #[serde(deserialize_with = "nullable")]
    metadata: TemplateMetaWire,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct TemplateMetaWire {
    labels: Labels,
}

/// The fields of an object in their order, each as it came.
struct Fields<'a>(Vec<(Text<'a>, &'a RawValue)>);

fn without_managed_fields(metadata: &str) -> Result<Box<RawValue>, serde_json::Error> {
    let mut fields: Fields<'_> = serde_json::from_str(metadata)?;
    fields.0.retain(|(name, _)| **name != *"managedFields");
    serde_json::value::to_raw_value(&fields)
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(&**name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
