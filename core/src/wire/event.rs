//! A watch event: one line of a watch.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::status::Status;
use crate::error::Malformed;
use crate::object::lenient::{Text, nullable};
use crate::resource_version::ResourceVersion;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `ADDED`
    Added,
    /// `MODIFIED`
    Modified,
    /// `DELETED`; the object is its last state.
    Deleted,
}

/// A line of a watch. Objects are left as the bytes they came in.
///
/// Mirrors apimachinery `pkg/apis/meta/v1/watch.go`, `WatchEvent`, and API concepts, "Watch bookmarks" and "Streaming lists".
#[derive(Clone, PartialEq, Eq)]
pub enum WatchEvent<'a> {
    /// An object changed.
    Object {
        /// How.
        change: Change,
        /// The object's JSON.
        json: &'a [u8],
    },
    /// `BOOKMARK`: all changes up to a version were sent.
    Bookmark {
        /// What kind of object the bookmark is made of.
        type_meta: TypeMeta,
        /// The version.
        resource_version: ResourceVersion,
        /// Whether it marks the end of a streaming list (annotation `k8s.io/initial-events-end`).
        initial_events_end: bool,
    },
    /// `ERROR`, or a status that stands in a line by itself. The stream is over.
    Error(Status),
    /// `ERROR` with an object that is no status. The stream is over.
    OtherError,
    /// An event of a type that is not known here.
    Unknown {
        /// The version of its object.
        resource_version: ResourceVersion,
    },
}

impl fmt::Debug for WatchEvent<'_> {
    /// Never an object's content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { change, json } => write!(f, "{change:?}({} bytes)", json.len()),
            Self::Bookmark { resource_version, .. } => write!(f, "Bookmark({resource_version})"),
            Self::Error(status) => write!(f, "Error({status})"),
            Self::OtherError => f.write_str("OtherError"),
            Self::Unknown { resource_version } => write!(f, "Unknown({resource_version})"),
        }
    }
}

impl<'a> WatchEvent<'a> {
    /// Reads one line.
    ///
    /// # Errors
    /// The line is not JSON of an event or a status, or a bookmark has no version.
    pub fn decode(line: &'a [u8]) -> Result<Self, Malformed> {
        let wire: EventWire<'_> = serde_json::from_slice(line).map_err(|e| Malformed::new("watch event", e))?;
        if wire.event_type.is_empty() && *wire.kind == *"Status" {
            return Status::decode(line).map(Self::Error);
        }
        let Some(object) = wire.object else {
            return Err(Malformed::new("watch event", "it has no object"));
        };
        let json = object.get().as_bytes();
        Ok(match &*wire.event_type {
            "ADDED" => Self::Object { change: Change::Added, json },
            "MODIFIED" => Self::Object { change: Change::Modified, json },
            "DELETED" => Self::Object { change: Change::Deleted, json },
            "BOOKMARK" => {
                let bookmark = BookmarkWire::decode(json)?;
                if bookmark.metadata.resource_version.is_empty() {
                    return Err(Malformed::new("bookmark", "it has no resource version"));
                }
                Self::Bookmark {
                    type_meta: TypeMeta {
                        api_version: bookmark.api_version.0.into_owned(),
                        kind: bookmark.kind.0.into_owned(),
                    },
                    resource_version: ResourceVersion::new(&bookmark.metadata.resource_version),
                    initial_events_end: bookmark
                        .metadata
                        .annotations
                        .get("k8s.io/initial-events-end")
                        .is_some_and(|value| **value == *"true"),
                }
            }
            "ERROR" => Status::decode(json).map_or(Self::OtherError, Self::Error),
            _ => {
                let object = BookmarkWire::decode(json)?;
                Self::Unknown { resource_version: ResourceVersion::new(&object.metadata.resource_version) }
            }
        })
    }
}

/// An event as it stands in JSON, and what tells a bare status.
#[derive(Deserialize)]
struct EventWire<'a> {
    #[serde(borrow, default, rename = "type")]
    event_type: Text<'a>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    kind: Text<'a>,
}

/// What is read of a bookmark's object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkWire<'a> {
    #[serde(borrow, default)]
    api_version: Text<'a>,
    #[serde(borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    metadata: BookmarkMetaWire<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BookmarkMetaWire<'a> {
    #[serde(borrow)]
    resource_version: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    annotations: BTreeMap<Text<'a>, Text<'a>>,
}

impl<'a> BookmarkWire<'a> {
    fn decode(json: &'a [u8]) -> Result<Self, Malformed> {
        serde_json::from_slice(json).map_err(|e| Malformed::new("bookmark", e))
    }
}

/// `apiVersion` and `kind` of an object; what it does not tell is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMeta {
    /// `apiVersion`
    pub api_version: String,
    /// `kind`
    pub kind: String,
}

impl TypeMeta {
    /// Reads them from an object. Stops as soon as both are known, and API servers write them first.
    ///
    /// # Errors
    /// The bytes up to there are not JSON, or one of them is not a string.
    pub fn peek(json: &[u8]) -> Result<Self, Malformed> {
        let mut found = Peek::default();
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let result = found.deserialize(&mut deserializer);
        match (result, found) {
            (_, Peek { api_version: Some(api_version), kind: Some(kind) }) => Ok(Self { api_version, kind }),
            (Ok(()), found) => {
                Ok(Self { api_version: found.api_version.unwrap_or_default(), kind: found.kind.unwrap_or_default() })
            }
            (Err(e), _) => Err(Malformed::new("object", e)),
        }
    }
}

#[derive(Default)]
struct Peek {
    api_version: Option<String>,
    kind: Option<String>,
}

impl<'de> DeserializeSeed<'de> for &mut Peek {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Peek {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while self.api_version.is_none() || self.kind.is_none() {
            let Some(key) = map.next_key::<Text<'de>>()? else { break };
            match &*key {
                "apiVersion" => self.api_version = Some(map.next_value::<Text<'de>>()?.0.into_owned()),
                "kind" => self.kind = Some(map.next_value::<Text<'de>>()?.0.into_owned()),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
