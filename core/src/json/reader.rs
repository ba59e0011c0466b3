//! A reader from which values are pulled one by one.

use alloc::borrow::Cow;
use alloc::string::String;

use super::number::integer;
use super::skim::Skim;
use super::text::{skip_string, string};
use super::{Unexpected, is_space};

/// Reads a JSON document that is all there.
///
/// Who calls says what must come next. `null` is the zero value of whatever that is, as Go has it: an object without members, an
/// empty list, the empty text, zero. Nothing recurses here; the caller's code is as deep as what it reads.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// How far the members of an object or the elements of an array were read.
#[derive(Debug)]
pub(crate) enum Items {
    First,
    Further,
    /// It was null.
    None,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Begins an object, or null. Its members are read by [`next_member`](Self::next_member).
    pub(crate) fn object(&mut self) -> Result<Items, Unexpected> {
        self.begin(b'{', "object")
    }

    /// The key of the next member, of which the value must be read or skipped next. None: the object has ended.
    #[inline]
    pub(crate) fn next_member(&mut self, items: &mut Items) -> Result<Option<Cow<'a, [u8]>>, Unexpected> {
        if !self.next(items, b'}')? {
            return Ok(None);
        }
        let key = self.string("key")?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected("colon"));
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Begins an array, or null. Its elements are read after each [`next_element`](Self::next_element).
    pub(crate) fn array(&mut self) -> Result<Items, Unexpected> {
        self.begin(b'[', "array")
    }

    /// Whether there is another element, which must be read or skipped next.
    #[inline]
    pub(crate) fn next_element(&mut self, items: &mut Items) -> Result<bool, Unexpected> {
        self.next(items, b']')
    }

    /// A string, borrowed where it has no escapes.
    pub(crate) fn text(&mut self) -> Result<Cow<'a, str>, Unexpected> {
        if self.peek() == Some(b'n') {
            self.literal("null")?;
            return Ok(Cow::Borrowed(""));
        }
        let text = self.string("string")?;
        self.utf8(text)
    }

    /// The text of what was just read.
    pub(crate) fn utf8(&self, text: Cow<'a, [u8]>) -> Result<Cow<'a, str>, Unexpected> {
        let text = match text {
            Cow::Borrowed(text) => core::str::from_utf8(text).ok().map(Cow::Borrowed),
            Cow::Owned(text) => String::from_utf8(text).ok().map(Cow::Owned),
        };
        text.ok_or_else(|| self.unexpected("text in UTF-8 before"))
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&mut self) -> Result<bool, Unexpected> {
        match self.peek() {
            Some(b't') => self.literal("true").map(|()| true),
            Some(b'f') => self.literal("false").map(|()| false),
            Some(b'n') => self.literal("null").map(|()| false),
            _ => Err(self.unexpected("boolean")),
        }
    }

    /// A whole number in the range of `N`.
    pub(crate) fn integer<N: TryFrom<i64> + Default>(&mut self) -> Result<N, Unexpected> {
        if self.peek() == Some(b'n') {
            return self.literal("null").map(|()| N::default());
        }
        let (number, length) = integer(&self.bytes[self.at..]).ok_or_else(|| self.unexpected("integer"))?;
        let number = number.try_into().map_err(|_| self.unexpected("integer of that range"))?;
        self.at += length;
        Ok(number)
    }

    /// Passes over any value. It is followed to its end but not looked into.
    pub(crate) fn skip(&mut self) -> Result<(), Unexpected> {
        match self.peek() {
            Some(b'{' | b'[') => {
                let end = Skim::new().end(&self.bytes[self.at..]).map_err(|_| self.unexpected("nesting so deep"))?;
                self.at += end.ok_or_else(|| self.unexpected("whole value"))?;
                Ok(())
            }
            Some(b'"') => {
                self.at = skip_string(self.bytes, self.at + 1).ok_or_else(|| self.unexpected("whole string"))?;
                Ok(())
            }
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            Some(b'-' | b'0'..=b'9') => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                self.at += self.bytes[self.at..].iter().take_while(|byte| is_part(byte)).count();
                Ok(())
            }
            _ => Err(self.unexpected("value")),
        }
    }

    /// The bytes of any value, which is skipped.
    pub(crate) fn raw(&mut self) -> Result<&'a [u8], Unexpected> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(&self.bytes[start..self.at])
    }

    /// Checks that nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), Unexpected> {
        self.peek().map_or(Ok(()), |_| Err(self.unexpected("end")))
    }

    /// How many bytes were read.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    pub(crate) const fn unexpected(&self, wanted: &'static str) -> Unexpected {
        Unexpected { wanted, at: self.at }
    }

    fn begin(&mut self, bracket: u8, wanted: &'static str) -> Result<Items, Unexpected> {
        match self.peek() {
            Some(byte) if byte == bracket => {
                self.at += 1;
                Ok(Items::First)
            }
            Some(b'n') => self.literal("null").map(|()| Items::None),
            _ => Err(self.unexpected(wanted)),
        }
    }

    #[inline]
    fn next(&mut self, items: &mut Items, bracket: u8) -> Result<bool, Unexpected> {
        // Behind a null nothing is looked at, white space neither: it does not belong to the value.
        let next = if matches!(items, Items::None) { return Ok(false) } else { self.peek() };
        match items {
            _ if next == Some(bracket) => {
                self.at += 1;
                *items = Items::None;
                return Ok(false);
            }
            Items::Further if next != Some(b',') => return Err(self.unexpected("comma or end")),
            Items::Further => self.at += 1,
            Items::First | Items::None => *items = Items::Further,
        }
        Ok(true)
    }

    #[inline]
    fn string(&mut self, wanted: &'static str) -> Result<Cow<'a, [u8]>, Unexpected> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected(wanted));
        }
        let (text, end) = string(self.bytes, self.at + 1).ok_or_else(|| self.unexpected("whole string"))?;
        self.at = end;
        Ok(text)
    }

    fn literal(&mut self, text: &'static str) -> Result<(), Unexpected> {
        if !self.bytes[self.at..].starts_with(text.as_bytes()) {
            return Err(self.unexpected(text));
        }
        self.at += text.len();
        Ok(())
    }

    /// The next byte that is not white space, where it stands.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if !is_space(byte) {
                return Some(byte);
            }
            self.at += 1;
        }
    }
}
