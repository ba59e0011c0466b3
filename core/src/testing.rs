//! What the tests of several stages share: an object, and numbers that only look random.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::object::Object;
use crate::resource_version::ResourceVersion;
use crate::uid::Uid;

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
}

/// Numbers that follow from a seed (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    /// A key out of twelve.
    pub(crate) fn key(&mut self) -> String {
        format!("n{}/{}", self.below(3), ["a", "b", "c", "d"][self.below(4) as usize])
    }

    /// A thing of a random key with up to three tags of five, repeats among them.
    pub(crate) fn thing(&mut self, version: u64) -> Thing {
        let key = self.key();
        let tags: Vec<&str> = (0..self.below(4)).map(|_| ["a", "b", "c", "", "bad"][self.below(5) as usize]).collect();
        thing(&key, version, &tags)
    }
}
