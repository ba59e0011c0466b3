//! Where each slot of a store stands in the buckets of an index.

use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::shrink;

/// The way from a slot to where it stands in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The hash of the bucket's value.
    pub(super) hash: u32,
    pub(super) position: u32,
}

/// The places of all slots. Nearly always a slot has one, which takes eight bytes.
pub(super) struct Places {
    first: Vec<Place>,
    /// The places of slots that have several.
    several: HashMap<u32, Vec<Place>>,
}

/// The place of a slot that has none.
const NONE: Place = Place { hash: 0, position: u32::MAX };
/// The place of a slot that has several. No bucket has so many members: there are fewer slots.
const SEVERAL: Place = Place { hash: 0, position: u32::MAX - 1 };

impl Places {
    pub(super) fn new() -> Self {
        Self { first: Vec::new(), several: HashMap::new() }
    }

    /// Adds a slot without places, and returns its number.
    pub(super) fn push_slot(&mut self) -> u32 {
        shrink::push(&mut self.first, NONE);
        self.first.len() as u32 - 1
    }

    pub(super) fn of(&self, slot: u32) -> &[Place] {
        match &self.first[slot as usize] {
            &NONE => &[],
            &SEVERAL => &self.several[&slot],
            place => core::slice::from_ref(place),
        }
    }

    /// Adds a place to those of a slot.
    pub(super) fn push(&mut self, slot: u32, place: Place) {
        let first = &mut self.first[slot as usize];
        match *first {
            NONE => *first = place,
            SEVERAL => self.several.entry(slot).or_default().push(place),
            one => {
                *first = SEVERAL;
                self.several.insert(slot, alloc::vec![one, place]);
            }
        }
    }

    /// Removes the last place of a slot.
    pub(super) fn pop(&mut self, slot: u32) -> Option<Place> {
        let first = &mut self.first[slot as usize];
        match *first {
            NONE => None,
            SEVERAL => {
                let places = self.several.get_mut(&slot)?;
                let last = places.pop();
                if places.is_empty() {
                    *first = NONE;
                    self.several.remove(&slot);
                    if let Some(capacity) = shrink::target(self.several.len(), self.several.capacity()) {
                        self.several.shrink_to(capacity);
                    }
                }
                last
            }
            one => {
                *first = NONE;
                Some(one)
            }
        }
    }

    /// Notes that a slot stands elsewhere in a bucket.
    pub(super) fn set_position(&mut self, slot: u32, place: Place, position: u32) {
        let first = &mut self.first[slot as usize];
        let places = match *first {
            SEVERAL => self.several.get_mut(&slot).map(Vec::as_mut_slice),
            _ => Some(core::slice::from_mut(first)),
        };
        let place = places.into_iter().flatten().find(|other| **other == place);
        place.expect("every member of a bucket has its place").position = position;
    }

    /// Removes a slot without places. The last slot, if it is another one, takes over its number; then returns the old one of that.
    pub(super) fn swap_remove(&mut self, slot: u32) -> Option<u32> {
        self.first.swap_remove(slot as usize);
        shrink::vec(&mut self.first);
        // The last number is now the length.
        let last = self.first.len() as u32;
        if let Some(places) = self.several.remove(&last) {
            self.several.insert(slot, places);
        }
        (last != slot).then_some(last)
    }

    /// How many places there are at least: those of slots that have several count as two.
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.several.len()
    }

    /// The memory of all this, likewise.
    pub(super) fn bytes(&self) -> usize {
        let several = self.several.len() * 2 * size_of::<Place>();
        self.first.capacity() * size_of::<Place>() + self.several.allocation_size() + several
    }

    /// Makes room for so many further slots.
    pub(super) fn reserve(&mut self, slots: usize) {
        self.first.reserve_exact(slots);
    }
}
