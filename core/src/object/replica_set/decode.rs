//! Reading a set: what the controller looks at, and the rest as it came.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::{ReplicaSet, ReplicaSetKind, ReplicaSetStatus};
use crate::error::Malformed;
use crate::object::labels::Labels;
use crate::object::lenient::{Text, nullable};
use crate::object::selector::{LabelSelector, Selector};
use crate::object::{Decode, Resource};

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
