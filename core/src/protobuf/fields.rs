//! The fields of a message.

use super::varint::Varint;
use crate::json::Unexpected;

/// Reads the fields of a message one by one, in the order in which they were written.
///
/// What a field holds is not looked at before it is asked for. Nothing recurses and nothing is allocated; every step is within the bytes that
/// were given, and what ends outside of them is an error.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    /// Where the message ends in the outermost one.
    end: usize,
}

/// The value of a field.
#[derive(Clone, Debug)]
pub(crate) struct Value<'a> {
    held: Held<'a>,
    /// Where it ends.
    end: usize,
}

#[derive(Clone, Debug)]
enum Held<'a> {
    /// A string, bytes, or a message.
    Bytes(&'a [u8]),
    /// Four or eight bytes; nothing that is read is written so.
    Fixed,
    /// An integer, a boolean, or an enumeration.
    Varint(u64),
}

/// A string of which it was not checked that it is UTF-8.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Text<'a> {
    bytes: &'a [u8],
    /// Where it ends.
    end: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn is(self, text: &str) -> bool {
        self.bytes == text.as_bytes()
    }

    pub(crate) fn checked(self) -> Result<&'a str, Unexpected> {
        core::str::from_utf8(self.bytes).map_err(|_| Unexpected::new("text in UTF-8 before", self.end))
    }
}

impl<'a> Fields<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, end: bytes.len() }
    }

    /// The number and the value of the next field. None: the message has ended.
    ///
    /// Groups, which proto2 has given up and Kubernetes never used, are refused.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, Unexpected> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let (number, wire_type) = split_tag(tag).ok_or_else(|| self.unexpected("field before"))?;
        let held = match wire_type {
            0 => Held::Varint(self.varint()?),
            1 => self.take(8).map(|_| Held::Fixed)?,
            2 => {
                let length = self.varint()?;
                Held::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Held::Fixed)?,
            _ => return Err(self.unexpected("field of a known wire type before")),
        };
        Ok(Some((number, Value { held, end: self.position() })))
    }

    /// The key and the value of an entry of a map of strings; what it lacks is empty.
    pub(crate) fn entry(mut self) -> Result<(Text<'a>, Text<'a>), Unexpected> {
        let (mut key, mut value) = (Text::default(), Text::default());
        while let Some((number, text)) = self.next()? {
            match number {
                1 => key = text.unchecked_text()?,
                2 => value = text.unchecked_text()?,
                _ => {}
            }
        }
        Ok((key, value))
    }

    /// The bytes that were not read yet.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How far the outermost message was read.
    const fn position(&self) -> usize {
        self.end - self.rest.len()
    }

    pub(crate) const fn unexpected(&self, wanted: &'static str) -> Unexpected {
        Unexpected::new(wanted, self.position())
    }

    #[inline]
    fn take(&mut self, length: u64) -> Result<&'a [u8], Unexpected> {
        let taken = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (taken, rest) = taken.ok_or_else(|| self.unexpected("whole field"))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Unexpected> {
        // Nearly all tags and lengths are one byte.
        match self.rest {
            [byte @ ..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, Unexpected> {
        let mut number = Varint::default();
        loop {
            let (byte, rest) = self.rest.split_first().ok_or_else(|| self.unexpected("whole number"))?;
            let done = number.push(*byte, self.position())?;
            self.rest = rest;
            if let Some(number) = done {
                return Ok(number);
            }
        }
    }
}

/// The number and the wire type that a tag is made of; none if there is no such number.
pub(crate) fn split_tag(tag: u64) -> Option<(u32, u8)> {
    let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number))?;
    Some((number, (tag & 7) as u8))
}

impl<'a> Value<'a> {
    /// The bytes of a string, or of anything else that has a length.
    #[inline]
    pub(crate) fn bytes(self) -> Result<&'a [u8], Unexpected> {
        match self.held {
            Held::Bytes(bytes) => Ok(bytes),
            Held::Fixed | Held::Varint(_) => Err(Unexpected::new("message or text before", self.end)),
        }
    }

    /// The fields of a message.
    #[inline]
    pub(crate) fn message(self) -> Result<Fields<'a>, Unexpected> {
        let end = self.end;
        self.bytes().map(|rest| Fields { rest, end })
    }

    /// A string.
    pub(crate) fn text(self) -> Result<&'a str, Unexpected> {
        self.unchecked_text()?.checked()
    }

    /// A string that is only compared, if it is looked at at all.
    #[inline]
    pub(crate) fn unchecked_text(self) -> Result<Text<'a>, Unexpected> {
        let end = self.end;
        self.bytes().map(|bytes| Text { bytes, end })
    }

    /// An `int32` or `int64` in the range of `N`.
    pub(crate) fn integer<N: TryFrom<i64>>(self) -> Result<N, Unexpected> {
        match self.held {
            Held::Varint(number) => N::try_from(number.cast_signed()).ok(),
            Held::Bytes(_) | Held::Fixed => None,
        }
        .ok_or_else(|| Unexpected::new("integer of that range before", self.end))
    }

    /// A `bool`.
    pub(crate) fn boolean(self) -> Result<bool, Unexpected> {
        self.integer::<i64>().map(|number| number != 0)
    }
}
