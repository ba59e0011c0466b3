//! The body of a list, item by item.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use super::frame::reuse;
use super::scanner::Scanner;
use crate::error::{DecodeError, Full, Malformed};
use crate::json::{Skim, is_space};
use crate::limits::Limits;
use crate::object::lenient::{Text, nullable};
use crate::resource_version::ResourceVersion;

/// What a list says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// `kind`, such as `PodList`.
    pub kind: String,
    /// `metadata.resourceVersion`.
    pub resource_version: ResourceVersion,
    /// `metadata.continue`: the token for the next page; empty where this is the last one.
    pub continue_token: String,
    /// `metadata.remainingItemCount`, where the server tells it.
    pub remaining_item_count: Option<i64>,
}

/// Takes a list apart while it comes: the elements of the top-level `items` one by one, wherever `metadata` stands.
///
/// Holds at most one item that lies across pieces ([`Limits::object_bytes`]) and what there is beside the items
/// ([`Limits::answer_bytes`]). An item that lies in one piece is not copied. The work is linear in the bytes taken.
///
/// An item is only cut out here: whether it is JSON its decoder says. All the rest is checked by [`finish`](Self::finish).
/// Mirrors API concepts, "Collections" and "Retrieving large results sets in chunks".
#[derive(Debug)]
pub struct ListBody {
    item_bound: usize,
    rest_bound: usize,
    scanner: Scanner,
    /// Follows an item that is an object or an array.
    skim: Skim,
    place: Place,
    /// The list without the elements of `items`.
    rest: Vec<u8>,
    /// The beginning of an item whose end has not come.
    item: Vec<u8>,
    /// Whether `item` is a whole item that was handed out by the last call.
    handed_out: bool,
}

/// Where in the list the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Beside the items.
    Rest(Member),
    /// In `items`, before an element; whether one must come.
    BeforeItem { needed: bool },
    /// In an element of `items` that is an object or an array.
    Item,
    /// In another element, which ends where the next comma or bracket stands.
    Scalar,
    /// In `items`, behind an element.
    AfterItem,
}

/// Where in the members of the top-level object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    /// Before or in a key, of which so many bytes are those of `items`.
    Key(usize),
    /// Before or in a key that is another one.
    OtherKey,
    /// After the key `items`.
    Items,
    /// After another key.
    Value,
}

const ITEMS: &[u8] = b"items";

impl ListBody {
    /// Takes a list within `limits`.
    pub const fn new(limits: &Limits) -> Self {
        Self {
            item_bound: limits.object_bytes,
            rest_bound: limits.answer_bytes,
            scanner: Scanner::new(),
            skim: Skim::new(),
            place: Place::Rest(Member::Value),
            rest: Vec::new(),
            item: Vec::new(),
            handed_out: false,
        }
    }

    /// The bytes of the next item; `piece` is moved past what was taken. None: the piece is used up.
    ///
    /// # Errors
    /// A bound was hit, or brackets do not match. The answer must be given up.
    pub fn next_item<'a, 'p: 'a>(&'a mut self, piece: &mut &'p [u8]) -> Result<Option<&'a [u8]>, DecodeError> {
        self.find_item(piece)?;
        match self.place {
            Place::Item => self.end_of_item(piece),
            Place::Scalar => self.end_of_scalar(piece),
            _ => Ok(None),
        }
    }

    /// What a piece holds from the next item on, if that begins in it and is an object or an array; `piece` is moved there. For whoever
    /// finds the end of an item by decoding it: [`take_item`](Self::take_item) says where that was, and
    /// [`next_item`](Self::next_item) that it was not found.
    ///
    /// # Errors
    /// As for [`next_item`](Self::next_item).
    pub fn peek_item<'p>(&mut self, piece: &mut &'p [u8]) -> Result<Option<&'p [u8]>, DecodeError> {
        self.find_item(piece)?;
        let begins = self.place == Place::Item && self.item.is_empty() && !piece.is_empty();
        Ok(begins.then_some(*piece))
    }

    /// Takes the item that was [peeked](Self::peek_item) at, of so many bytes.
    ///
    /// # Errors
    /// It is larger than the bound. The answer must be given up.
    pub fn take_item(&mut self, piece: &mut &[u8], length: usize) -> Result<(), Full> {
        self.check_item(length)?;
        *piece = piece.get(length..).unwrap_or_default();
        self.place = Place::AfterItem;
        Ok(())
    }

    /// Moves `piece` to the next item, or to the rest of the one that was begun, or to its end.
    fn find_item(&mut self, piece: &mut &[u8]) -> Result<(), DecodeError> {
        if self.handed_out {
            self.handed_out = false;
            reuse(&mut self.item);
        }
        let bytes = *piece;
        // Where what is kept begins.
        let mut start = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if matches!(self.place, Place::BeforeItem { .. }) && !matches!(byte, b',' | b'}' | b']') && !is_space(byte)
            {
                self.skim = Skim::new();
                self.place = if matches!(byte, b'{' | b'[') { Place::Item } else { Place::Scalar };
            }
            if matches!(self.place, Place::Item | Place::Scalar) {
                *piece = &bytes[at..];
                return Ok(());
            }
            let structural = self.scanner.step(byte)?;
            match self.place {
                Place::Rest(member) => {
                    self.place = self.member(member, byte, structural);
                    if self.place == (Place::BeforeItem { needed: false }) {
                        self.keep_rest(&bytes[start..=at])?;
                    }
                }
                _ if is_space(byte) => {}
                Place::BeforeItem { needed: false } | Place::AfterItem if byte == b']' => {
                    self.place = Place::Rest(Member::Value);
                    start = at;
                }
                Place::AfterItem if byte == b',' => self.place = Place::BeforeItem { needed: true },
                Place::AfterItem => return Err(Malformed::new("list", "a comma is missing").into()),
                _ => return Err(Malformed::new("list", "an item is missing").into()),
            }
        }
        *piece = &[];
        if matches!(self.place, Place::Rest(_)) {
            self.keep_rest(&bytes[start..])?;
        }
        Ok(())
    }

    fn end_of_item<'a, 'p: 'a>(&'a mut self, piece: &mut &'p [u8]) -> Result<Option<&'a [u8]>, DecodeError> {
        let Some(length) = self.skim.end(piece)? else {
            self.keep_item(core::mem::take(piece))?;
            return Ok(None);
        };
        let (tail, rest) = piece.split_at(length);
        *piece = rest;
        self.place = Place::AfterItem;
        Ok(Some(self.hand_out(tail)?))
    }

    fn end_of_scalar<'a, 'p: 'a>(&'a mut self, piece: &mut &'p [u8]) -> Result<Option<&'a [u8]>, DecodeError> {
        let bytes = *piece;
        for (at, &byte) in bytes.iter().enumerate() {
            let structural = self.scanner.step(byte)?;
            // The scanner has already left the array where the byte is its end.
            if structural && ends_item(byte, self.scanner.depth()) {
                let last = byte != b',';
                self.place = if last { Place::Rest(Member::Value) } else { Place::BeforeItem { needed: true } };
                if last {
                    self.keep_rest(&[byte])?;
                }
                *piece = &bytes[at + 1..];
                return Ok(Some(self.hand_out(&bytes[..at])?));
            }
        }
        *piece = &[];
        self.keep_item(bytes)?;
        Ok(None)
    }

    /// The item of which this is the end, or the whole.
    fn hand_out<'a, 'p: 'a>(&'a mut self, tail: &'p [u8]) -> Result<&'a [u8], Full> {
        if self.item.is_empty() {
            self.check_item(tail.len())?;
            return Ok(tail);
        }
        self.keep_item(tail)?;
        self.handed_out = true;
        Ok(&self.item)
    }

    /// What the list says of itself, once its body has ended well.
    ///
    /// # Errors
    /// What stands beside the items is not the JSON of a list, or the list is not whole.
    pub fn finish(self) -> Result<ListMeta, Malformed> {
        let wire: ListWire<'_> = serde_json::from_slice(&self.rest).map_err(|e| Malformed::new("list", e))?;
        if !wire.items {
            return Err(Malformed::new("list", "it has no items"));
        }
        Ok(ListMeta {
            kind: wire.kind.0.into_owned(),
            resource_version: ResourceVersion::new(&wire.metadata.resource_version),
            continue_token: wire.metadata.continue_token.0.into_owned(),
            remaining_item_count: wire.metadata.remaining_item_count,
        })
    }

    /// Follows the members of the top-level object to the array under `items`.
    fn member(&self, member: Member, byte: u8, structural: bool) -> Place {
        let depth = self.scanner.depth();
        Place::Rest(match (member, byte) {
            (_, b'{' | b',') if structural && depth == 1 => Member::Key(0),
            (Member::Key(5), b':') if structural && depth == 1 => Member::Items,
            (Member::Key(_) | Member::OtherKey, b':') if structural && depth == 1 => Member::Value,
            (Member::Items, b'[') if structural && depth == 2 => return Place::BeforeItem { needed: false },
            // The quotes of the key are not part of it, and what stands outside of them is white space.
            (Member::Key(n), b'"') if depth == 1 && (structural || n == ITEMS.len()) => Member::Key(n),
            (Member::Key(n), _) if !self.scanner.is_in_string() && is_space(byte) => Member::Key(n),
            (Member::Key(n), _) if ITEMS.get(n) == Some(&byte) => Member::Key(n + 1),
            (Member::Key(_), _) => Member::OtherKey,
            (other, _) => other,
        })
    }

    fn keep_rest(&mut self, bytes: &[u8]) -> Result<(), Full> {
        if bytes.len() > self.rest_bound - self.rest.len() {
            return Err(Full { limit: "answer_bytes", bound: self.rest_bound });
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    fn keep_item(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.check_item(self.item.len() + bytes.len())?;
        self.item.extend_from_slice(bytes);
        Ok(())
    }

    const fn check_item(&self, size: usize) -> Result<(), Full> {
        if size > self.item_bound {
            return Err(Full { limit: "object_bytes", bound: self.item_bound });
        }
        Ok(())
    }
}

/// Whether a byte ends an element of `items` that is neither object nor array; `depth` is that after the byte.
const fn ends_item(byte: u8, depth: u32) -> bool {
    matches!((byte, depth), (b',', 2) | (b']' | b'}', 1))
}

/// A list as it stands in JSON, once the elements of its items are cut out.
#[derive(Deserialize)]
struct ListWire<'a> {
    #[serde(borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    metadata: ListMetaWire<'a>,
    /// Whether there are items at all.
    #[serde(default, deserialize_with = "empty_items")]
    items: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMetaWire<'a> {
    #[serde(borrow)]
    resource_version: Text<'a>,
    #[serde(borrow, rename = "continue")]
    continue_token: Text<'a>,
    remaining_item_count: Option<i64>,
}

/// `null` or an array without elements; anything else was not recognised as items and must not pass as none.
fn empty_items<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    struct Empty;
    impl<'de> Visitor<'de> for Empty {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of items or null")
        }

        fn visit_none<E>(self) -> Result<bool, E> {
            Ok(true)
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
            deserializer.deserialize_seq(self)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
            match items.next_element::<serde::de::IgnoredAny>()? {
                None => Ok(true),
                Some(_) => Err(serde::de::Error::custom("the items are not where they were looked for")),
            }
        }
    }
    deserializer.deserialize_option(Empty)
}

#[cfg(test)]
mod tests;
