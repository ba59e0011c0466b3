//! A watch event: one line of a watch.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use serde::Deserialize;

use super::status::Status;
use crate::error::Malformed;
use crate::json::{self, Reader, Unexpected};
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

impl Change {
    /// What an event of this type tells of; none if it is not a change.
    pub(super) fn of_type(event_type: &str) -> Option<Self> {
        match event_type {
            "ADDED" => Some(Self::Added),
            "MODIFIED" => Some(Self::Modified),
            "DELETED" => Some(Self::Deleted),
            _ => None,
        }
    }
}

/// The annotation of a bookmark that marks the end of a streaming list.
pub(super) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// An event of a watch. Objects are left as the bytes they came in.
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
    /// An object changed, and is written in protobuf.
    Message {
        /// How.
        change: Change,
        /// `apiVersion` of the object.
        api_version: &'a str,
        /// `kind` of the object.
        kind: &'a str,
        /// The object's message.
        message: &'a [u8],
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
            Self::Object { change, json: bytes } | Self::Message { change, message: bytes, .. } => {
                write!(f, "{change:?}({} bytes)", bytes.len())
            }
            Self::Bookmark { resource_version, .. } => write!(f, "Bookmark({resource_version})"),
            Self::Error(status) => write!(f, "Error({status})"),
            Self::OtherError => f.write_str("OtherError"),
            Self::Unknown { resource_version } => write!(f, "Unknown({resource_version})"),
        }
    }
}

impl<'a> WatchEvent<'a> {
    /// The change and where its object begins, in a line that tells them in the order of API servers: type, then object. For whoever finds the
    /// end of the object by decoding it; behind it [`is_end`](Self::is_end) must hold, or else the line is to be [decoded](Self::decode).
    pub(crate) fn peek_object(line: &[u8]) -> Option<(Change, usize)> {
        let reader = &mut Reader::new(line);
        let mut members = reader.object().ok()?;
        reader.next_member(&mut members).ok()?.filter(|key| **key == *b"type")?;
        let change = Change::of_type(&reader.text().ok()?)?;
        reader.next_member(&mut members).ok()?.filter(|key| **key == *b"object")?;
        Some((change, reader.position()))
    }

    /// Whether this is all that may stand behind an object in a line.
    pub(crate) fn is_end(rest: &[u8]) -> bool {
        json::trim(rest) == b"}"
    }

    /// Reads one line.
    ///
    /// # Errors
    /// The line is not JSON of an event or a status, or a bookmark has no version.
    pub fn decode(line: &'a [u8]) -> Result<Self, Malformed> {
        let event = EventText::read(line).map_err(|e| Malformed::new("watch event", e))?;
        if event.event_type.is_empty() && event.kind == "Status" {
            return Status::decode(line).map(Self::Error);
        }
        let json = match event.object {
            b"" | b"null" => return Err(Malformed::new("watch event", "it has no object")),
            json => core::str::from_utf8(json).map_err(|e| Malformed::new("watch event", e))?.as_bytes(),
        };
        if let Some(change) = Change::of_type(&event.event_type) {
            return Ok(Self::Object { change, json });
        }
        Ok(match &*event.event_type {
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
                        .get(INITIAL_EVENTS_END)
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
#[derive(Default)]
struct EventText<'a> {
    event_type: Cow<'a, str>,
    object: &'a [u8],
    kind: Cow<'a, str>,
}

impl<'a> EventText<'a> {
    fn read(line: &'a [u8]) -> Result<Self, Unexpected> {
        let reader = &mut Reader::new(line);
        let mut event = Self::default();
        if json::trim(line).first() != Some(&b'{') {
            return Err(reader.unexpected("object"));
        }
        let mut members = reader.object()?;
        while let Some(key) = reader.next_member(&mut members)? {
            let again = match &*key {
                b"type" => !core::mem::replace(&mut event.event_type, reader.text()?).is_empty(),
                b"object" => !core::mem::replace(&mut event.object, reader.raw()?).is_empty(),
                b"kind" => !core::mem::replace(&mut event.kind, reader.text()?).is_empty(),
                _ => {
                    reader.skip()?;
                    false
                }
            };
            if again {
                return Err(reader.unexpected("member for the first time before"));
            }
        }
        reader.end()?;
        Ok(event)
    }
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
        let TypeText { api_version, kind } = TypeText::peek(json)?;
        Ok(Self { api_version: api_version.into_owned(), kind: kind.into_owned() })
    }
}

/// [`TypeMeta`], borrowed from the object.
#[derive(Debug)]
pub(crate) struct TypeText<'a> {
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
}

impl<'a> TypeText<'a> {
    /// As [`TypeMeta::peek`].
    pub(crate) fn peek(json: &'a [u8]) -> Result<Self, Malformed> {
        Self::read(&mut Reader::new(json)).map_err(|e| Malformed::new("object", e))
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Unexpected> {
        let (mut api_version, mut kind) = (None, None);
        let mut members = reader.object()?;
        while api_version.is_none() || kind.is_none() {
            let Some(key) = reader.next_member(&mut members)? else { break };
            match &*key {
                b"apiVersion" => api_version = Some(reader.text()?),
                b"kind" => kind = Some(reader.text()?),
                _ => reader.skip()?,
            }
        }
        Ok(Self { api_version: api_version.unwrap_or_default(), kind: kind.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests;
