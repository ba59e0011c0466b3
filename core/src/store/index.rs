//! One index of a store: which slots hold an object with a given value.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::places::{Place, Places};
use crate::error::Refused;
use crate::shrink;

/// Tells the values that an object is found by in an index: any number of them, also none, also the empty text. A value
/// told twice counts once. The same object must always give the same values.
///
/// Mirrors client-go `tools/cache/index.go`, `IndexFunc`.
pub type IndexFunction<T> = Box<dyn Fn(&T, &mut dyn FnMut(&str)) -> Result<(), Refused> + Send + Sync>;

/// The values of one index, each with the slots that have it. A value that no slot has takes no memory.
pub(super) struct Index<T> {
    pub(super) name: Box<str>,
    pub(super) function: IndexFunction<T>,
    buckets: HashTable<Bucket>,
    places: Places,
    hasher: DefaultHashBuilder,
    /// The length of all values together.
    value_bytes: usize,
}

/// The slots that have one value.
struct Bucket {
    value: Box<str>,
    hash: u32,
    members: Vec<u32>,
}

impl<T> Index<T> {
    pub(super) fn new(name: &str, function: IndexFunction<T>) -> Self {
        Self {
            name: name.into(),
            function,
            buckets: HashTable::new(),
            places: Places::new(),
            hasher: DefaultHashBuilder::default(),
            value_bytes: 0,
        }
    }

    /// Makes room for so many further slots.
    pub(super) fn reserve(&mut self, slots: usize) {
        self.places.reserve(slots);
    }

    /// Takes in the object of a slot that was just appended.
    pub(super) fn push(&mut self, object: &T) -> Result<(), Refused> {
        let slot = self.places.push_slot();
        self.fill(slot, object)
    }

    /// Takes in the object that a slot holds now. If the function fails the slot is in no bucket.
    pub(super) fn update(&mut self, slot: u32, object: &T) -> Result<(), Refused> {
        match self.is_unchanged(slot, object) {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.clear(slot);
                self.fill(slot, object)
            }
            Err(e) => {
                self.clear(slot);
                Err(e)
            }
        }
    }

    /// Follows [`Slots::swap_remove`](super::slots::Slots::swap_remove).
    pub(super) fn swap_remove(&mut self, slot: u32) {
        self.clear(slot);
        let Some(old) = self.places.swap_remove(slot) else { return };
        for place in self.places.of(slot) {
            find_mut(&mut self.buckets, *place, old).members[place.position as usize] = slot;
        }
    }

    /// The slots with a value, in an order that only depends on the operations so far.
    pub(super) fn members<'a>(&'a self, value: &str) -> impl ExactSizeIterator<Item = u32> + use<'a, T> {
        let hash = hash(&self.hasher, value);
        let bucket = self.buckets.find(spread(hash), |bucket| *bucket.value == *value);
        bucket.map_or(&[][..], |bucket| &bucket.members).iter().copied()
    }

    /// The values that some slot has, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        self.buckets.iter().map(|bucket| &*bucket.value)
    }

    /// About the memory of the index, which is exact but for vectors with room to spare.
    pub(super) fn bytes(&self) -> usize {
        let members = self.places.len() * size_of::<u32>();
        self.buckets.allocation_size() + self.value_bytes + members + self.places.bytes()
    }

    /// Whether the function tells the values that the slot is found by now, in the same order.
    fn is_unchanged(&self, slot: u32, object: &T) -> Result<bool, Refused> {
        let mut places = self.places.of(slot).iter();
        let mut same = true;
        (self.function)(object, &mut |value| {
            same = same
                && places.next().is_some_and(|place| {
                    let is_it = |bucket: &Bucket| bucket.holds(*place, slot) && *bucket.value == *value;
                    self.buckets.find(spread(place.hash), is_it).is_some()
                });
        })?;
        Ok(same && places.next().is_none())
    }

    /// Puts a slot that is in no bucket into those that the function tells.
    fn fill(&mut self, slot: u32, object: &T) -> Result<(), Refused> {
        let Self { function, buckets, places, hasher, value_bytes, .. } = self;
        let result = function(object, &mut |value| {
            let hash = hash(hasher, value);
            let is_it = |bucket: &Bucket| *bucket.value == *value;
            let bucket = match buckets.entry(spread(hash), is_it, |bucket| spread(bucket.hash)) {
                Entry::Occupied(bucket) => bucket.into_mut(),
                Entry::Vacant(place) => {
                    *value_bytes += value.len();
                    place.insert(Bucket { value: value.into(), hash, members: Vec::with_capacity(1) }).into_mut()
                }
            };
            // Only this slot is being filled, so if it is in the bucket already it came last.
            if bucket.members.last() == Some(&slot) {
                return;
            }
            places.push(slot, Place { hash, position: bucket.members.len() as u32 });
            shrink::push(&mut bucket.members, slot);
        });
        if result.is_err() {
            self.clear(slot);
        }
        result
    }

    /// Takes a slot out of all its buckets, and buckets that empty out of the index.
    fn clear(&mut self, slot: u32) {
        while let Some(place) = self.places.pop(slot) {
            let bucket = find_mut(&mut self.buckets, place, slot);
            bucket.members.swap_remove(place.position as usize);
            shrink::vec(&mut bucket.members);
            if let Some(moved) = bucket.members.get(place.position as usize) {
                let last = Place { position: bucket.members.len() as u32, ..place };
                self.places.set_position(*moved, last, place.position);
            } else if bucket.members.is_empty()
                && let Ok(empty) = self.buckets.find_entry(spread(place.hash), |bucket| bucket.members.is_empty())
            {
                self.value_bytes -= empty.remove().0.value.len();
            }
        }
        if let Some(capacity) = shrink::target(self.buckets.len(), self.buckets.capacity()) {
            self.buckets.shrink_to(capacity, |bucket| spread(bucket.hash));
        }
    }
}

impl Bucket {
    /// Whether a place of a slot leads here. The table also shows buckets of other hashes that agree in a few bits.
    fn holds(&self, place: Place, slot: u32) -> bool {
        self.hash == place.hash && self.members.get(place.position as usize) == Some(&slot)
    }
}

/// The bucket that a place of a slot leads to. Where two buckets have the same hash and the slot at the same position, either: the
/// slot's places lead to both.
fn find_mut(buckets: &mut HashTable<Bucket>, place: Place, slot: u32) -> &mut Bucket {
    let found = buckets.find_mut(spread(place.hash), |bucket| bucket.holds(place, slot));
    found.expect("every place leads to a bucket")
}

/// The half of a hash that is kept.
fn hash(hasher: &DefaultHashBuilder, value: &str) -> u32 {
    (hasher.hash_one(value) >> 32) as u32
}

/// A hash for the table, which looks at the lowest and the highest bits, from the half that is kept.
const fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
