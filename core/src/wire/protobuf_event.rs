//! A watch event in protobuf: one frame of a watch.

use super::event::{Change, INITIAL_EVENTS_END, TypeMeta, WatchEvent};
use super::status::Status;
use crate::error::Malformed;
use crate::json::Unexpected;
use crate::protobuf::{Envelope, Fields};
use crate::resource_version::ResourceVersion;

impl<'a> WatchEvent<'a> {
    /// Reads one frame of a watch in protobuf, without its length.
    ///
    /// Mirrors apimachinery `pkg/apis/meta/v1/generated.proto`, `WatchEvent`, and `pkg/runtime/generated.proto`, `RawExtension`.
    ///
    /// # Errors
    /// The frame is not the message of an event, or a bookmark has no version.
    pub fn decode_protobuf(frame: &'a [u8]) -> Result<Self, Malformed> {
        let (event_type, object) = read_event(frame).map_err(|e| Malformed::new("watch event", e))?;
        let malformed = |e: Unexpected| Malformed::new("object", e);
        let envelope = Envelope::read(object).map_err(malformed)?;
        let Envelope { api_version, kind, raw: message } = envelope;
        if let Some(change) = Change::of_type(event_type) {
            return Ok(Self::Message { change, api_version, kind, message });
        }
        Ok(match event_type {
            "ERROR" => Status::from_envelope(&envelope).map_or(Self::OtherError, Self::Error),
            _ => {
                let meta = BookmarkMeta::read(message).map_err(malformed)?;
                let resource_version = ResourceVersion::new(meta.resource_version);
                if event_type != "BOOKMARK" {
                    return Ok(Self::Unknown { resource_version });
                }
                if resource_version.is_none() {
                    return Err(Malformed::new("bookmark", "it has no resource version"));
                }
                Self::Bookmark {
                    type_meta: TypeMeta { api_version: api_version.into(), kind: kind.into() },
                    resource_version,
                    initial_events_end: meta.initial_events_end,
                }
            }
        })
    }
}

/// The type of an event, and its object with the envelope.
fn read_event(frame: &[u8]) -> Result<(&str, &[u8]), Unexpected> {
    let (mut event_type, mut object) = ("", &[][..]);
    let mut fields = Fields::new(frame);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => event_type = value.text()?,
            2 => {
                let mut extension = value.message()?;
                while let Some((number, value)) = extension.next()? {
                    if number == 1 {
                        object = value.bytes()?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok((event_type, object))
}

/// What is read of a bookmark's object.
#[derive(Default)]
struct BookmarkMeta<'a> {
    resource_version: &'a str,
    initial_events_end: bool,
}

impl<'a> BookmarkMeta<'a> {
    /// Reads an object of any kind: its first field is `metadata`.
    fn read(message: &'a [u8]) -> Result<Self, Unexpected> {
        let mut meta = Self::default();
        let mut fields = Fields::new(message);
        while let Some((number, value)) = fields.next()? {
            if number == 1 {
                meta.read_metadata(value.message()?)?;
            }
        }
        Ok(meta)
    }

    fn read_metadata(&mut self, mut metadata: Fields<'a>) -> Result<(), Unexpected> {
        while let Some((number, value)) = metadata.next()? {
            match number {
                6 => self.resource_version = value.text()?,
                12 => {
                    let (key, value) = value.message()?.entry()?;
                    if key.is(INITIAL_EVENTS_END) {
                        self.initial_events_end = value.is("true");
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
