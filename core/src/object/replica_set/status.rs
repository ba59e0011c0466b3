//! The status of a set.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Serializer;

use crate::object::lenient::nullable;
use crate::object::meta::time;
use crate::time::Timestamp;

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

    /// What is not as it was, in words; empty if all is.
    pub fn differences<'a>(&'a self, old: &'a Self) -> impl fmt::Display + 'a {
        Differences { old, new: self }
    }
}

struct Differences<'a> {
    old: &'a ReplicaSetStatus,
    new: &'a ReplicaSetStatus,
}

impl fmt::Display for Differences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old, new } = self;
        let numbers = |status: &ReplicaSetStatus| {
            [
                ("replicas", i64::from(status.replicas)),
                ("fully labeled", status.fully_labeled_replicas.into()),
                ("ready", status.ready_replicas.into()),
                ("available", status.available_replicas.into()),
                ("terminating", status.terminating_replicas.unwrap_or(0).into()),
                ("generation", status.observed_generation),
            ]
        };
        let mut separator = "";
        for ((name, old), (_, new)) in numbers(old).into_iter().zip(numbers(new)) {
            if old != new {
                write!(f, "{separator}{name} {old} → {new}")?;
                separator = ", ";
            }
        }
        if old.conditions != new.conditions {
            write!(f, "{separator}conditions")?;
        }
        Ok(())
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
