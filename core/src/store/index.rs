//! One index of a store: which slots hold an object with a given value.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

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
    /// Where each slot stands in the buckets, by slot.
    places: Vec<Places>,
    hasher: DefaultHashBuilder,
}

/// The slots that have one value.
struct Bucket {
    value: Box<str>,
    members: Vec<Member>,
}

/// A slot in a bucket. No two members of an index are equal, so a member also tells its bucket from all others.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Member {
    slot: u32,
    /// Which of the slot's places leads here.
    nth: u32,
}

/// The way from a slot to where it stands in a bucket.
#[derive(Clone, Copy)]
struct Place {
    /// The hash of the bucket's value.
    hash: u64,
    position: u32,
}

/// The places of one slot: nearly always one, which then takes no allocation.
enum Places {
    None,
    One(Place),
    Several(Vec<Place>),
}

impl Places {
    fn as_slice(&self) -> &[Place] {
        match self {
            Self::None => &[],
            Self::One(place) => core::slice::from_ref(place),
            Self::Several(places) => places,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Place] {
        match self {
            Self::None => &mut [],
            Self::One(place) => core::slice::from_mut(place),
            Self::Several(places) => places,
        }
    }

    fn push(&mut self, place: Place) {
        match self {
            Self::None => *self = Self::One(place),
            Self::One(first) => *self = Self::Several(alloc::vec![*first, place]),
            Self::Several(places) => places.push(place),
        }
    }
}

impl<T> Index<T> {
    pub(super) fn new(name: &str, function: IndexFunction<T>) -> Self {
        Self {
            name: name.into(),
            function,
            buckets: HashTable::new(),
            places: Vec::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Takes in the object of a slot that was just appended.
    pub(super) fn push(&mut self, object: &T) -> Result<(), Refused> {
        let slot = self.places.len() as u32;
        self.places.push(Places::None);
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
        self.places.swap_remove(slot as usize);
        shrink::vec(&mut self.places);
        let Some(moved) = self.places.get(slot as usize) else { return };
        // The slot that took over the number was the last one, so its old number is the new length.
        let old = self.places.len() as u32;
        for (nth, place) in (0..).zip(moved.as_slice()) {
            let members = &mut find_mut(&mut self.buckets, *place, Member { slot: old, nth }).members;
            members[place.position as usize].slot = slot;
        }
    }

    /// The slots with a value, in an order that only depends on the operations so far.
    pub(super) fn members<'a>(&'a self, value: &str) -> impl ExactSizeIterator<Item = u32> + use<'a, T> {
        let hash = self.hasher.hash_one(value);
        let bucket = self.buckets.find(hash, |bucket| *bucket.value == *value);
        bucket.map_or(&[][..], |bucket| &bucket.members).iter().map(|member| member.slot)
    }

    /// The values that some slot has, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        self.buckets.iter().map(|bucket| &*bucket.value)
    }

    /// Whether the function tells the values that the slot is found by now, in the same order.
    fn is_unchanged(&self, slot: u32, object: &T) -> Result<bool, Refused> {
        let places = self.places[slot as usize].as_slice();
        let (mut nth, mut same) = (0, true);
        (self.function)(object, &mut |value| {
            same = same
                && places.get(nth as usize).is_some_and(|place| {
                    let is_it = |bucket: &Bucket| bucket.holds(*place, Member { slot, nth }) && *bucket.value == *value;
                    place.hash == self.hasher.hash_one(value) && self.buckets.find(place.hash, is_it).is_some()
                });
            nth += 1;
        })?;
        Ok(same && nth as usize == places.len())
    }

    /// Puts a slot that is in no bucket into those that the function tells.
    fn fill(&mut self, slot: u32, object: &T) -> Result<(), Refused> {
        let Self { function, buckets, places, hasher, .. } = self;
        let places = &mut places[slot as usize];
        let result = function(object, &mut |value| {
            let hash = hasher.hash_one(value);
            let is_it = |bucket: &Bucket| *bucket.value == *value;
            let bucket = match buckets.entry(hash, is_it, |bucket| hasher.hash_one(&*bucket.value)) {
                Entry::Occupied(bucket) => bucket.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(Bucket { value: value.into(), members: Vec::with_capacity(1) }).into_mut()
                }
            };
            // Only this slot is being filled, so if it is in the bucket already it came last.
            if bucket.members.last().is_some_and(|member| member.slot == slot) {
                return;
            }
            let nth = places.as_slice().len() as u32;
            places.push(Place { hash, position: bucket.members.len() as u32 });
            bucket.members.push(Member { slot, nth });
        });
        if result.is_err() {
            self.clear(slot);
        }
        result
    }

    /// Takes a slot out of all its buckets, and buckets that empty out of the index.
    fn clear(&mut self, slot: u32) {
        let places = core::mem::replace(&mut self.places[slot as usize], Places::None);
        for (nth, place) in (0..).zip(places.as_slice()) {
            let bucket = find_mut(&mut self.buckets, *place, Member { slot, nth });
            bucket.members.swap_remove(place.position as usize);
            shrink::vec(&mut bucket.members);
            if let Some(moved) = bucket.members.get(place.position as usize) {
                self.places[moved.slot as usize].as_mut_slice()[moved.nth as usize].position = place.position;
            } else if bucket.members.is_empty()
                && let Ok(empty) = self.buckets.find_entry(place.hash, |bucket| bucket.members.is_empty())
            {
                empty.remove();
            }
        }
        let hasher = &self.hasher;
        if let Some(capacity) = shrink::target(self.buckets.len(), self.buckets.capacity()) {
            self.buckets.shrink_to(capacity, |bucket| hasher.hash_one(&*bucket.value));
        }
    }
}

impl Bucket {
    fn holds(&self, place: Place, member: Member) -> bool {
        self.members.get(place.position as usize) == Some(&member)
    }
}

/// The bucket that a place of a slot leads to.
fn find_mut(buckets: &mut HashTable<Bucket>, place: Place, member: Member) -> &mut Bucket {
    buckets.find_mut(place.hash, |bucket| bucket.holds(place, member)).expect("every place leads to a bucket")
}
