//! The body of a list, item by item.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use super::frame::reuse;
use super::scanner::Scanner;
use crate::error::{DecodeError, Full, Malformed};
use crate::limits::Limits;
use crate::object::lenient::{Text, nullable};
use crate::resource_version::ResourceVersion;

/// What a list says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// In an element of `items`.
    Item,
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
        if self.handed_out {
            self.handed_out = false;
            reuse(&mut self.item);
        }
        let bytes = *piece;
        // Where what was scanned but not kept begins.
        let mut start = 0;
        let mut next = 0;
        while next < bytes.len() {
            if self.place == Place::Item {
                next += self.scanner.skip(&bytes[next..]);
            }
            let Some(&byte) = bytes.get(next) else { break };
            let at = next;
            next += 1;
            let structural = self.scanner.step(byte)?;
            match self.place {
                Place::Rest(member) => {
                    self.place = self.member(member, byte, structural);
                    if self.place == (Place::BeforeItem { needed: false }) {
                        self.keep_rest(&bytes[start..=at])?;
                    }
                }
                Place::BeforeItem { .. } if byte.is_ascii_whitespace() => {}
                Place::BeforeItem { needed } if structural && byte == b']' => {
                    if needed {
                        return Err(Malformed::new("list", "an item is missing").into());
                    }
                    self.place = Place::Rest(Member::Value);
                    start = at;
                }
                Place::BeforeItem { .. } if structural && matches!(byte, b',' | b'}') => {
                    return Err(Malformed::new("list", "an item is missing").into());
                }
                Place::BeforeItem { .. } => {
                    self.place = Place::Item;
                    start = at;
                }
                // The scanner has already left the array where the byte is its end.
                Place::Item if structural && ends_item(byte, self.scanner.depth()) => {
                    let last = byte != b',';
                    self.place = if last { Place::Rest(Member::Value) } else { Place::BeforeItem { needed: true } };
                    if last {
                        self.keep_rest(&[byte])?;
                    }
                    *piece = &bytes[at + 1..];
                    let tail = &bytes[start..at];
                    if self.item.is_empty() {
                        self.check_item(tail.len())?;
                        return Ok(Some(tail));
                    }
                    self.keep_item(tail)?;
                    self.handed_out = true;
                    return Ok(Some(&self.item));
                }
                Place::Item => {}
            }
        }
        *piece = &[];
        match self.place {
            Place::Rest(_) => self.keep_rest(&bytes[start..])?,
            Place::BeforeItem { .. } => {}
            Place::Item => self.keep_item(&bytes[start..])?,
        }
        Ok(None)
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
            (Member::Key(n), _) if !self.scanner.is_in_string() && byte.is_ascii_whitespace() => Member::Key(n),
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

/// Whether a byte ends an element of `items`; `depth` is that after the byte.
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
