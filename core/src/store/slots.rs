//! The objects of a store, each in a slot that a small number addresses.
//!
//! Slots are dense: the last one moves into the place of one that is removed, so walking them touches nothing else and
//! memory falls with the number of objects. The table from key to slot holds the number alone; the key is in the slot.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::key::Key;
use crate::shrink;

/// One object and the key it is stored by.
#[derive(Debug)]
pub(super) struct Slot<T> {
    pub(super) key: Key,
    pub(super) object: Arc<T>,
}

/// What an allocation takes beside its content so that it can be shared: two counts.
const SHARED: usize = 2 * size_of::<usize>();

/// All objects. Every operation costs a constant on average, whatever the number of objects.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    by_key: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The length of all keys together.
    key_bytes: usize,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), by_key: HashTable::new(), hasher: DefaultHashBuilder::default(), key_bytes: 0 }
    }

    /// The slot of a key.
    pub(super) fn find(&self, key: &str) -> Option<u32> {
        self.by_key.find(self.hasher.hash_one(key), |&slot| self.slots[slot as usize].key.as_str() == key).copied()
    }

    /// Makes room for so many further slots.
    pub(super) fn reserve(&mut self, slots: usize) {
        self.slots.reserve_exact(slots);
    }

    /// Appends a slot for a key that has none, and returns its number.
    pub(super) fn push(&mut self, key: Key, object: Arc<T>) -> u32 {
        let number = u32::try_from(self.slots.len()).expect("2^32 objects do not fit into memory");
        let Self { slots, by_key, hasher, key_bytes } = self;
        *key_bytes += key.as_str().len();
        let hash = hasher.hash_one(key.as_str());
        shrink::push(slots, Slot { key, object });
        by_key.insert_unique(hash, number, |&slot| hasher.hash_one(slots[slot as usize].key.as_str()));
        number
    }

    /// Puts another object into a slot and returns the one that was there.
    pub(super) fn exchange(&mut self, slot: u32, object: Arc<T>) -> Arc<T> {
        core::mem::replace(&mut self.slots[slot as usize].object, object)
    }

    /// Removes a slot. The last slot, if it is another one, takes over its number.
    pub(super) fn swap_remove(&mut self, slot: u32) -> Slot<T> {
        self.set_number(slot, None);
        // One fewer than a number that fitted.
        let last = self.slots.len() as u32 - 1;
        if last != slot {
            self.set_number(last, Some(slot));
        }
        let removed = self.slots.swap_remove(slot as usize);
        let Self { slots, by_key, hasher, key_bytes } = self;
        *key_bytes -= removed.key.as_str().len();
        if let Some(capacity) = shrink::target(by_key.len(), by_key.capacity()) {
            by_key.shrink_to(capacity, |&slot| hasher.hash_one(slots[slot as usize].key.as_str()));
        }
        shrink::vec(slots);
        removed
    }

    /// Makes the table say another number for the key in `slot`, or forget the key.
    fn set_number(&mut self, slot: u32, number: Option<u32>) {
        let hash = self.hasher.hash_one(self.slots[slot as usize].key.as_str());
        let entry = self.by_key.find_entry(hash, |&other| other == slot).expect("every slot is in the table");
        match number {
            Some(number) => *entry.into_mut() = number,
            None => drop(entry.remove()),
        }
    }

    pub(super) fn slot(&self, slot: u32) -> &Slot<T> {
        &self.slots[slot as usize]
    }

    pub(super) fn iter(&self) -> core::slice::Iter<'_, Slot<T>> {
        self.slots.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The memory of slots, table, keys and records, without what records hold elsewhere.
    pub(super) fn bytes(&self) -> usize {
        let shared = SHARED + size_of::<T>() + SHARED;
        self.slots.capacity() * size_of::<Slot<T>>()
            + self.by_key.allocation_size()
            + self.slots.len() * shared
            + self.key_bytes
    }
}
