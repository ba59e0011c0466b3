//! The envelope of an object: what says its kind.

use super::MAGIC;
use super::fields::Fields;
use crate::json::Unexpected;

/// An object or list whose kind is known and whose message is still to be read.
///
/// Mirrors apimachinery `pkg/runtime/generated.proto`, `Unknown` and `TypeMeta`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    /// The message.
    pub(crate) raw: &'a [u8],
}

/// The numbers of the fields of an envelope.
const TYPE_META: u32 = 1;
pub(crate) const RAW: u32 = 2;
const CONTENT_ENCODING: u32 = 3;
const CONTENT_TYPE: u32 = 4;

impl<'a> Envelope<'a> {
    /// Reads an envelope with the magic bytes in front of it.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Unexpected> {
        let message = bytes.strip_prefix(MAGIC).ok_or_else(|| Unexpected::new("magic of protobuf", 0))?;
        let mut envelope = Self::default();
        let mut fields = Fields::new(message);
        while let Some((number, value)) = fields.next()? {
            match number {
                RAW => envelope.raw = value.bytes()?,
                TYPE_META..=CONTENT_TYPE => envelope.read_rest(number, value.bytes()?)?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    /// Reads a field that is not the message.
    pub(crate) fn read_rest(&mut self, number: u32, bytes: &'a [u8]) -> Result<(), Unexpected> {
        match number {
            TYPE_META => {
                let mut fields = Fields::new(bytes);
                while let Some((number, value)) = fields.next()? {
                    match number {
                        1 => self.api_version = value.text()?,
                        2 => self.kind = value.text()?,
                        _ => {}
                    }
                }
            }
            // The message is then not protobuf, or not as it was.
            CONTENT_ENCODING if !bytes.is_empty() => return Err(Unexpected::new("message without an encoding", 0)),
            CONTENT_TYPE if !matches!(bytes, b"" | b"application/vnd.kubernetes.protobuf") => {
                return Err(Unexpected::new("message in protobuf", 0));
            }
            _ => {}
        }
        Ok(())
    }
}
