//! The uid of an object: what tells it from a namesake that lived before or after it.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt::{self, Write};
use core::hash::{Hash, Hasher};

/// The `metadata.uid` of an object.
///
/// API servers make UUIDs, but the API only promises a string; a canonical UUID takes 16 bytes and no allocation here,
/// anything else is kept as text. Uids compare, order and print as their text.
#[derive(Clone)]
pub struct Uid(Repr);

#[derive(Clone)]
enum Repr {
    Uuid([u8; 16]),
    Text(Arc<str>),
}

impl Uid {
    /// The uid with this text.
    pub fn new(text: &str) -> Self {
        Self(parse_uuid(text).map_or_else(|| Repr::Text(text.into()), Repr::Uuid))
    }

    /// Whether the uid is the empty text, which the API never gives.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Repr::Text(text) if text.is_empty())
    }
}

/// Where the hyphens of a UUID stand, counted in its text.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Reads a UUID in the one form that this module writes: 36 characters, lower case, hyphens in place.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; 16];
    let mut digits = 0;
    for (at, &c) in text.iter().enumerate() {
        if HYPHENS.contains(&at) {
            if c != b'-' {
                return None;
            }
            continue;
        }
        let value = match c {
            b'0'..=b'9' => c - b'0',
            b'a'..=b'f' => c - b'a' + 10,
            _ => return None,
        };
        bytes[digits / 2] = bytes[digits / 2] << 4 | value;
        digits += 1;
    }
    Some(bytes)
}

/// Writes a UUID in that form. It has always the same length, so it takes no allocation.
fn uuid_text(bytes: &[u8; 16]) -> heapless::String<36> {
    let mut text = heapless::String::new();
    for (at, byte) in bytes.iter().enumerate() {
        let hyphen = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
        write!(text, "{hyphen}{byte:02x}").expect("a UUID has 36 characters");
    }
    text
}

impl PartialEq for Uid {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Uuid(a), Repr::Uuid(b)) => a == b,
            (Repr::Text(a), Repr::Text(b)) => a == b,
            // A text that reads as a UUID is never kept as text.
            _ => false,
        }
    }
}

impl Eq for Uid {}

impl Hash for Uid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Uuid(bytes) => bytes.hash(state),
            Repr::Text(text) => text.hash(state),
        }
    }
}

impl PartialOrd for Uid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Uid {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            // Lower-case hexadecimal digits order as the bytes they stand for.
            (Repr::Uuid(a), Repr::Uuid(b)) => a.cmp(b),
            (Repr::Text(a), Repr::Text(b)) => a.cmp(b),
            (Repr::Uuid(a), Repr::Text(b)) => uuid_text(a).as_str().cmp(b),
            (Repr::Text(a), Repr::Uuid(b)) => (**a).cmp(uuid_text(b).as_str()),
        }
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Text(text) => f.write_str(text),
            Repr::Uuid(bytes) => f.write_str(&uuid_text(bytes)),
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&Uid> for String {
    fn from(uid: &Uid) -> Self {
        uid.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "7d1c0f5e-0000-4000-8000-0000000000a1";

    #[test]
    fn a_uuid_takes_no_allocation_and_prints_as_it_was() {
        let uid = Uid::new(UUID);
        assert!(matches!(uid.0, Repr::Uuid(_)));
        assert_eq!(uid.to_string(), UUID);
    }

    #[test]
    fn other_texts_are_kept_to_the_letter() {
        for text in ["", "uid-a", "7D1C0F5E-0000-4000-8000-0000000000A1", "7d1c0f5e00004000800000000000000000a1"] {
            let uid = Uid::new(text);
            assert!(matches!(uid.0, Repr::Text(_)), "{text}");
            assert_eq!(uid.to_string(), text);
        }
    }

    #[test]
    fn uids_order_as_their_text() {
        let mut texts = [UUID, "uid-a", "7d1c", "7d1c0f5e-0000-4000-8000-0000000000a0", "", "8"];
        let mut uids: alloc::vec::Vec<Uid> = texts.iter().map(|t| Uid::new(t)).collect();
        texts.sort_unstable();
        uids.sort();
        assert!(uids.iter().map(ToString::to_string).eq(texts));
    }
}
