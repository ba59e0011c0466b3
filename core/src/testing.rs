//! What the tests of several stages share: random input (the same seed, the same input), and an object.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::uid::Uid;

use crate::rand::SplitMix64;

/// A generator with what tests draw.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Whether something of so many per cent happens.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the things.
    pub(crate) fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len() as u64) as usize]
    }

    /// Up to `most` of the pieces, joined.
    pub(crate) fn text(&mut self, pieces: &[&str], most: u64) -> String {
        (0..self.below(most + 1)).map(|_| *self.pick(pieces)).collect()
    }

    /// A key out of twelve.
    pub(crate) fn key(&mut self) -> String {
        format!("n{}/{}", self.below(3), self.pick(&["a", "b", "c", "d"]))
    }

    /// A thing of a random key with up to three tags of five, repeats among them.
    pub(crate) fn thing(&mut self, version: u64) -> Thing {
        let key = self.key();
        let tags: Vec<&str> = (0..self.below(4)).map(|_| *self.pick(&["a", "b", "c", "", "bad"])).collect();
        thing(&key, version, &tags)
    }
}

/// A small object with a list of tags.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thing {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: u64,
    pub(crate) version: u64,
    pub(crate) tags: Vec<String>,
}

/// The thing of this key (`namespace/name`), uid 1.
pub(crate) fn thing(key: &str, version: u64, tags: &[&str]) -> Thing {
    let (namespace, name) = key.split_once('/').unwrap();
    Thing {
        namespace: namespace.into(),
        name: name.into(),
        uid: 1,
        version,
        tags: tags.iter().map(|&tag| tag.into()).collect(),
    }
}

impl Object for Thing {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn uid(&self) -> Uid {
        Uid::new(&format!("uid-{}", self.uid))
    }

    fn resource_version(&self) -> ResourceVersion {
        ResourceVersion::new(&format!("{}", self.version))
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Appends a number of protobuf.
fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A field of protobuf that holds a text or a message.
pub(crate) fn field(number: u32, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut field = Vec::new();
    push_varint(u64::from(number) << 3 | 2, &mut field);
    push_varint(bytes.as_ref().len() as u64, &mut field);
    field.extend_from_slice(bytes.as_ref());
    field
}

/// A field of protobuf that holds a number.
pub(crate) fn number_field(number: u32, value: i64) -> Vec<u8> {
    let mut field = Vec::new();
    push_varint(u64::from(number) << 3, &mut field);
    push_varint(value.cast_unsigned(), &mut field);
    field
}

/// A message of protobuf with magic and envelope, as API servers send it.
pub(crate) fn envelope(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version), field(2, kind)].concat();
    [crate::protobuf::MAGIC.to_vec(), field(1, type_meta), field(2, message), field(3, ""), field(4, "")].concat()
}
