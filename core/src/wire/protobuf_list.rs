//! The body of a list in protobuf, item by item.

use alloc::string::String;
use alloc::vec::Vec;

use super::frame::reuse;
use super::list::ListMeta;
use crate::error::{DecodeError, Full, Malformed};
use crate::json::Unexpected;
use crate::limits::Limits;
use crate::protobuf::{Envelope, Fields, MAGIC, RAW, Varint, split_tag};
use crate::resource_version::ResourceVersion;

/// Takes a list in protobuf apart while it comes, as [`ListBody`](super::ListBody) does one in JSON: the messages of its items one by one.
///
/// Holds at most one item that lies across pieces ([`Limits::object_bytes`]) and one field beside the items
/// ([`Limits::answer_bytes`]). An item that lies in one piece is not copied, and what is not known is not kept. The work is linear in the
/// bytes taken.
///
/// Mirrors apimachinery `pkg/runtime/serializer/protobuf/collections.go` and the lists of `generated.proto`: `metadata` is the first field
/// and `items` the second.
#[derive(Debug)]
pub struct ProtobufListBody {
    item_bound: usize,
    rest_bound: usize,
    /// How many bytes were taken.
    at: usize,
    place: Place,
    number: Varint,
    /// Where the message in the envelope ends, while it is being read.
    raw_end: Option<usize>,
    /// The beginning of a field that is kept and whose end has not come.
    kept: Vec<u8>,
    /// Whether `kept` is a whole item that was handed out by the last call.
    handed_out: bool,
    meta: Option<ListMeta>,
    kind: String,
}

/// Where in the list the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the magic bytes.
    Magic,
    /// In a tag, or before the next one.
    Tag,
    /// In the length of a field.
    Length(Field),
    /// In a number that nobody asks for.
    Number,
    /// In a field, of which so many bytes are to come.
    Field(Field, usize),
}

/// Which field it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// One of the envelope, by its number.
    Envelope(u32),
    Item,
    ListMeta,
    Other,
}

impl ProtobufListBody {
    /// Takes a list within `limits`.
    pub fn new(limits: &Limits) -> Self {
        Self {
            item_bound: limits.object_bytes,
            rest_bound: limits.answer_bytes,
            at: 0,
            place: Place::Magic,
            number: Varint::default(),
            raw_end: None,
            kept: Vec::new(),
            handed_out: false,
            meta: None,
            kind: String::new(),
        }
    }

    /// The message of the next item; `piece` is moved past what was taken. None: the piece is used up.
    ///
    /// # Errors
    /// A bound was hit, or the bytes are not those of a list. The answer must be given up.
    pub fn next_item<'a, 'p: 'a>(&'a mut self, piece: &mut &'p [u8]) -> Result<Option<&'a [u8]>, DecodeError> {
        if core::mem::take(&mut self.handed_out) {
            reuse(&mut self.kept);
        }
        loop {
            match self.place {
                Place::Field(Field::Item, left) if self.kept.is_empty() && left <= piece.len() => {
                    let (item, rest) = piece.split_at(left);
                    *piece = rest;
                    self.end_field(left);
                    return Ok(Some(item));
                }
                Place::Field(Field::Item, left) if left <= piece.len() => {
                    self.keep(left, piece);
                    self.handed_out = true;
                    return Ok(Some(&self.kept));
                }
                Place::Field(field, left) if left <= piece.len() => self.take_field(field, left, piece)?,
                _ if piece.is_empty() => return Ok(None),
                Place::Field(Field::Other, _) => self.pass(piece.len(), piece),
                Place::Field(..) => self.keep(piece.len(), piece),
                Place::Magic | Place::Tag | Place::Length(_) | Place::Number => self.take_byte(piece)?,
            }
        }
    }

    /// What the list says of itself, once its body has ended well.
    ///
    /// # Errors
    /// The list is not whole, or it is not of the kind of a list.
    pub fn finish(self) -> Result<ListMeta, Malformed> {
        let whole = self.raw_end.is_none() && self.place == Place::Tag && self.number.is_empty();
        let meta = self.meta.filter(|_| whole).ok_or_else(|| Malformed::new("list", "it is not whole"))?;
        if !self.kind.ends_with("List") {
            return Err(Malformed::new("list", format_args!("it is of kind {:?}", self.kind)));
        }
        Ok(ListMeta { kind: self.kind, ..meta })
    }

    /// Takes a byte of what stands in front of a field.
    fn take_byte(&mut self, piece: &mut &[u8]) -> Result<(), DecodeError> {
        let byte = piece[0];
        *piece = &piece[1..];
        if self.place == Place::Magic {
            if byte != MAGIC[self.at] {
                return Err(self.malformed("magic of protobuf"));
            }
            self.at += 1;
            if self.at == MAGIC.len() {
                self.place = Place::Tag;
            }
            return Ok(());
        }
        let number = self.number.push(byte, self.at).map_err(|e| Malformed::new("list", e))?;
        self.at += 1;
        let Some(number) = number else { return self.check_raw_end() };
        self.number = Varint::default();
        match self.place {
            Place::Length(field) => self.begin_field(field, number)?,
            Place::Tag => self.take_tag(number)?,
            _ => self.place = Place::Tag,
        }
        self.check_raw_end()
    }

    fn take_tag(&mut self, tag: u64) -> Result<(), DecodeError> {
        let (number, wire_type) = split_tag(tag).ok_or_else(|| self.malformed("field before"))?;
        let field = match (self.raw_end.is_some(), number) {
            (true, 1) => Field::ListMeta,
            (true, 2) => Field::Item,
            (false, 1..=4) => Field::Envelope(number),
            _ => Field::Other,
        };
        self.place = match (wire_type, field) {
            (2, field) => Place::Length(field),
            (0, Field::Other) => Place::Number,
            (1, Field::Other) => Place::Field(Field::Other, 8),
            (5, Field::Other) => Place::Field(Field::Other, 4),
            _ => return Err(self.malformed("field of a known wire type before")),
        };
        Ok(())
    }

    /// Begins a field of a length.
    fn begin_field(&mut self, field: Field, length: u64) -> Result<(), DecodeError> {
        let length = usize::try_from(length).map_err(|_| self.malformed("field of such a length"))?;
        let end = self.at.checked_add(length).ok_or_else(|| self.malformed("field of such a length"))?;
        if field == Field::Envelope(RAW) {
            if self.meta.is_some() {
                return Err(self.malformed("single list before"));
            }
            // What a list does not say of itself is empty.
            self.meta = Some(ListMeta::default());
            self.raw_end = Some(end);
            self.place = Place::Tag;
            return Ok(());
        }
        if self.raw_end.is_some_and(|raw_end| raw_end < end) {
            return Err(self.malformed("field within its message"));
        }
        let (limit, bound) = match field {
            Field::Item => ("object_bytes", self.item_bound),
            Field::Envelope(_) | Field::ListMeta => ("answer_bytes", self.rest_bound),
            Field::Other => ("", usize::MAX),
        };
        if length > bound {
            return Err(Full { limit, bound }.into());
        }
        self.place = Place::Field(field, length);
        Ok(())
    }

    /// Takes a field that is no item, of which the rest is there.
    fn take_field(&mut self, field: Field, left: usize, piece: &mut &[u8]) -> Result<(), DecodeError> {
        if field == Field::Other {
            self.pass(left, piece);
            return Ok(());
        }
        self.keep(left, piece);
        let read = match field {
            Field::Envelope(number) => self.read_envelope(number),
            _ => self.read_list_meta(),
        };
        read.map_err(|e| Malformed::new("list", e))?;
        reuse(&mut self.kept);
        Ok(())
    }

    fn read_envelope(&mut self, number: u32) -> Result<(), Unexpected> {
        let mut envelope = Envelope::default();
        envelope.read_rest(number, &self.kept)?;
        if !envelope.kind.is_empty() {
            self.kind = envelope.kind.into();
        }
        Ok(())
    }

    /// Reads a message `metav1.ListMeta`.
    fn read_list_meta(&mut self) -> Result<(), Unexpected> {
        let mut meta = ListMeta::default();
        let mut fields = Fields::new(&self.kept);
        while let Some((number, value)) = fields.next()? {
            match number {
                2 => meta.resource_version = ResourceVersion::new(value.text()?),
                3 => meta.continue_token = value.text()?.into(),
                4 => meta.remaining_item_count = Some(value.integer()?),
                _ => {}
            }
        }
        self.meta = Some(meta);
        Ok(())
    }

    /// Keeps so many bytes of the field that is being read.
    fn keep(&mut self, length: usize, piece: &mut &[u8]) {
        self.kept.extend_from_slice(&piece[..length]);
        self.pass(length, piece);
    }

    /// Passes over so many bytes of the field that is being read.
    fn pass(&mut self, length: usize, piece: &mut &[u8]) {
        *piece = &piece[length..];
        self.end_field(length);
    }

    /// So many further bytes of a field were taken.
    fn end_field(&mut self, taken: usize) {
        self.at += taken;
        if let Place::Field(field, left) = self.place {
            self.place = if left == taken { Place::Tag } else { Place::Field(field, left - taken) };
        }
        if self.place == Place::Tag && self.raw_end == Some(self.at) {
            self.raw_end = None;
        }
    }

    /// Notes that the message in the envelope has ended, which it may between two fields alone.
    fn check_raw_end(&mut self) -> Result<(), DecodeError> {
        if self.raw_end.is_some_and(|end| end <= self.at) {
            let between = match self.place {
                Place::Tag => self.number.is_empty(),
                // An empty field is taken next.
                Place::Field(_, left) => left == 0,
                _ => false,
            };
            if !between {
                return Err(self.malformed("field within its message"));
            }
            if self.place == Place::Tag {
                self.raw_end = None;
            }
        }
        Ok(())
    }

    fn malformed(&self, wanted: &'static str) -> DecodeError {
        Malformed::new("list", Unexpected::new(wanted, self.at)).into()
    }
}

#[cfg(test)]
mod tests;
