//! A frame of a watch, and the object in it.

use super::config::Config;
use super::list::decode_whole;
use crate::error::Malformed;
use crate::object::{Common, Decode};
use crate::wire::{Change, TypeText, WatchEvent};

/// A frame, in what it is written in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame<'a> {
    Json(&'a [u8]),
    Protobuf(&'a [u8]),
}

/// What a frame tells.
#[derive(Debug)]
pub(super) enum News<'a, T> {
    /// An object changed.
    Object(Change, T),
    /// Something that is not about an object.
    Other(WatchEvent<'a>),
    /// It is of another kind than what was asked for, and passed over.
    OtherKind,
}

impl<'a> Frame<'a> {
    /// Reads the frame, and the object if it tells of one.
    pub(super) fn read<T: Decode>(self, config: &Config, common: &mut Common<'_>) -> Result<News<'a, T>, Malformed> {
        let event = match self {
            Self::Json(line) => {
                if let Some((change, object)) = read_in_place(line, config, common) {
                    return Ok(News::Object(change, object));
                }
                WatchEvent::decode(line)?
            }
            Self::Protobuf(frame) => WatchEvent::decode_protobuf(frame)?,
        };
        Ok(match event {
            WatchEvent::Object { change, json } => {
                let TypeText { api_version, kind } = TypeText::peek(json)?;
                if !is_kind_of(config, &api_version, &kind) {
                    return Ok(News::OtherKind);
                }
                News::Object(change, decode_whole(json, config, common)?)
            }
            WatchEvent::Message { change, api_version, kind, message } => {
                if !is_kind_of(config, api_version, kind) {
                    return Ok(News::OtherKind);
                }
                News::Object(change, T::decode_protobuf(message, &config.resource, common)?)
            }
            WatchEvent::Bookmark { type_meta, .. } if !is_kind_of(config, &type_meta.api_version, &type_meta.kind) => {
                News::OtherKind
            }
            event => News::Other(event),
        })
    }
}

/// An object that changed, decoded where it stands in its line: its end is where it was decoded to. None where the line is not as API servers
/// write it, or not as it should be.
fn read_in_place<T: Decode>(line: &[u8], config: &Config, common: &mut Common<'_>) -> Option<(Change, T)> {
    let (change, start) = WatchEvent::peek_object(line)?;
    let bytes = &line[start..];
    let TypeText { api_version, kind } = TypeText::peek(bytes).ok()?;
    if !is_kind_of(config, &api_version, &kind) {
        return None;
    }
    let (object, length) = T::decode_first(bytes, &config.resource, common).ok()?;
    WatchEvent::is_end(&bytes[length..]).then_some((change, object))
}

/// Whether an object that is of this type, as far as it says, may be one that was asked for. Others are passed over.
fn is_kind_of(config: &Config, api_version: &str, kind: &str) -> bool {
    let resource = &config.resource;
    (kind.is_empty() || *kind == *resource.kind) && (api_version.is_empty() || resource.is_api_version(api_version))
}
