//! What objects of a collection have in common, kept once.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::labels::Labels;
use super::map_text::MapText;
use super::owner::{OwnerReference, OwnerReferenceText};
use crate::json::Unexpected;
use crate::key::Key;
use crate::shrink;

/// Label sets, owners and names that objects decoded before have, for those that are decoded next.
///
/// In a cluster they repeat: the pods of a set have its labels and its owner reference, and hundreds share a node. Whoever decodes many
/// objects holds one of these and gives it to [`Decode::decode_first`](super::Decode::decode_first) in a [`Common`]. What no object has any more is freed
/// while further objects are decoded, so that at most as much is held in vain as is in use.
#[derive(Default)]
pub struct Shared {
    labels: Interner<Labels>,
    owners: Interner<Arc<OwnerReference>>,
    names: Interner<Arc<Box<str>>>,
    hasher: DefaultHashBuilder,
}

impl Shared {
    /// The labels that were sent.
    pub(super) fn labels(&mut self, text: MapText<'_>) -> Result<Labels, Unexpected> {
        if text.bytes().is_empty() {
            return Ok(Labels::default());
        }
        let hash = self.hasher.hash_one(text.bytes());
        self.labels.get(hash, |labels| labels.is_written(text), || Labels::from_text(text))
    }

    /// The owner that was read.
    pub(super) fn owner(&mut self, text: &OwnerReferenceText<'_>) -> Arc<OwnerReference> {
        let hash = self.hasher.hash_one(text);
        let made = self.owners.get(hash, |owner| text.is(owner), || Ok(Arc::new(text.into())));
        made.expect("making it cannot fail")
    }

    /// A name; none for the empty text.
    pub(super) fn name(&mut self, text: &str) -> Option<Arc<Box<str>>> {
        if text.is_empty() {
            return None;
        }
        let made = self.names.get(self.hasher.hash_one(text), |name| ***name == *text, || Ok(Arc::new(text.into())));
        Some(made.expect("making it cannot fail"))
    }
}

/// What an object that is decoded can take from objects that are there already: what they have in common, and its key if it is stored.
pub struct Common<'a> {
    pub(super) shared: &'a mut Shared,
    keys: &'a dyn Fn(&str) -> Option<Key>,
}

impl<'a> Common<'a> {
    /// What is shared, where no object is stored.
    pub fn new(shared: &'a mut Shared) -> Self {
        Self::with_keys(shared, &|_| None)
    }

    /// What is shared, and how to find a stored key by its text.
    pub fn with_keys(shared: &'a mut Shared, keys: &'a dyn Fn(&str) -> Option<Key>) -> Self {
        Self { shared, keys }
    }

    /// The key of the object `name` in `namespace`.
    pub(super) fn key(&self, namespace: &str, name: &str) -> Key {
        Key::known_or_new(namespace, name, self.keys)
    }
}

impl fmt::Debug for Common<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

impl fmt::Debug for Shared {
    /// How much there is, never what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("labels", &self.labels.entries.len())
            .field("owners", &self.owners.entries.len())
            .field("names", &self.names.entries.len())
            .finish()
    }
}

/// A handle to something that is counted.
trait Counted: Clone {
    /// Whether there is another handle to it.
    fn is_used(&self) -> bool;
}

impl<T> Counted for Arc<T> {
    fn is_used(&self) -> bool {
        Self::strong_count(self) > 1
    }
}

impl Counted for Labels {
    fn is_used(&self) -> bool {
        self.is_shared()
    }
}

/// Handles, each to another thing, found by a hash that is told.
struct Interner<H> {
    entries: HashTable<(u64, H)>,
    /// After how many more questions what is unused is freed.
    left: usize,
}

/// Entries below which freeing what is unused is not worth the walk.
const FEW: usize = 32;

impl<H> Default for Interner<H> {
    fn default() -> Self {
        Self { entries: HashTable::new(), left: FEW }
    }
}

impl<H: Counted> Interner<H> {
    /// The thing of which `is_it` holds, made if there is none. Costs a constant on average.
    fn get(
        &mut self,
        hash: u64,
        is_it: impl Fn(&H) -> bool,
        make: impl FnOnce() -> Result<H, Unexpected>,
    ) -> Result<H, Unexpected> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.sweep();
        }
        if let Some((_, found)) = self.entries.find(hash, |(other, handle)| *other == hash && is_it(handle)) {
            return Ok(found.clone());
        }
        let made = make()?;
        self.entries.insert_unique(hash, (hash, made.clone()), |(hash, _)| *hash);
        Ok(made)
    }

    /// Frees what is unused.
    fn sweep(&mut self) {
        self.entries.retain(|(_, handle)| handle.is_used());
        if let Some(capacity) = shrink::target(self.entries.len(), self.entries.capacity()) {
            self.entries.shrink_to(capacity, |(hash, _)| *hash);
        }
        self.left = self.entries.len().max(FEW);
    }
}

impl Hash for OwnerReferenceText<'_> {
    fn hash<S: core::hash::Hasher>(&self, state: &mut S) {
        // The uid tells one owner from another; what else differs is compared.
        self.uid().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn labels_that_are_written_alike_are_kept_once() {
        let mut shared = Shared::default();
        let json = br#"{"app":"web","tier":"fr\u006fnt","zone":null}"#;
        let (first, second) =
            (shared.labels(MapText::Json(json)).unwrap(), shared.labels(MapText::Json(json)).unwrap());
        assert_eq!(first.get("tier"), Some("front"));
        assert!(first.is_same(&second));
        assert_eq!(shared.labels.entries.len(), 1);
        assert!(shared.labels(MapText::Json(b"{}")).unwrap().is_empty());
        assert!(shared.labels(MapText::Json(b"null")).unwrap().is_empty());
        assert!(shared.labels(MapText::Json(br#"{"app":1}"#)).is_err());
        assert!(shared.labels(MapText::Json(b"[]")).is_err());
    }

    #[test]
    fn labels_in_another_order_are_equal_all_the_same() {
        let mut shared = Shared::default();
        let sorted = shared.labels(MapText::Json(br#"{"a":"1","b":"2"}"#)).unwrap();
        let unsorted = br#"{"b":"2","a":"1"}"#;
        assert_eq!(shared.labels(MapText::Json(unsorted)).unwrap(), sorted);
        assert!(
            shared.labels(MapText::Json(unsorted)).unwrap().is_same(&shared.labels(MapText::Json(unsorted)).unwrap())
        );
        assert_eq!(shared.labels(MapText::Json(br#"{"a":"0","b":"2","a":"1"}"#)).unwrap(), sorted);
    }

    #[test]
    fn what_is_unused_is_freed_as_objects_come_and_go() {
        let mut shared = Shared::default();
        let held: Vec<_> = (0..1000).map(|n| shared.name(&alloc::format!("node-{n}"))).collect();
        assert_eq!(shared.names.entries.len(), 1000);
        drop(held);
        let mut last = None;
        for n in 0..3000 {
            last = shared.name(&alloc::format!("other-{n}"));
        }
        assert!(shared.names.entries.len() <= 2 * FEW, "{}", shared.names.entries.len());
        assert!(Arc::ptr_eq(&last.unwrap(), &shared.name("other-2999").unwrap()));
        assert!(shared.name("").is_none());
    }
}
