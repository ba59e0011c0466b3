//! A map of strings as it was sent.

use alloc::borrow::Cow;

use crate::json::{Reader, Unexpected};
use crate::protobuf::Fields;

/// Labels in the bytes that they came in, which are looked at when they are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum MapText<'a> {
    /// A JSON object, or null.
    Json(&'a [u8]),
    /// Fields of a message, of which those with the number are the entries.
    Protobuf { number: u32, fields: &'a [u8] },
}

impl Default for MapText<'_> {
    fn default() -> Self {
        Self::Protobuf { number: 1, fields: &[] }
    }
}

impl<'a> MapText<'a> {
    /// The bytes. Maps that are written alike are equal.
    pub(super) const fn bytes(self) -> &'a [u8] {
        match self {
            Self::Json(bytes) | Self::Protobuf { fields: bytes, .. } => bytes,
        }
    }

    /// Tells each key and its value in the order they were sent, for as long as `tell` wants to know more.
    pub(super) fn each(self, mut tell: impl FnMut(Cow<'a, str>, Cow<'a, str>) -> bool) -> Result<(), Unexpected> {
        match self {
            Self::Json(json) => {
                let reader = &mut Reader::new(json);
                let mut members = reader.object()?;
                while let Some(key) = reader.next_member(&mut members)? {
                    let key = reader.utf8(key)?;
                    if !tell(key, reader.text()?) {
                        return Ok(());
                    }
                }
            }
            Self::Protobuf { number, fields } => {
                let mut fields = Fields::new(fields);
                while let Some((field, entry)) = fields.next()? {
                    if field != number {
                        continue;
                    }
                    let (key, value) = entry.message()?.entry()?;
                    if !tell(Cow::Borrowed(key.checked()?), Cow::Borrowed(value.checked()?)) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}
