//! A bounded memory that forgets what was not touched for longest.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use hashbrown::HashMap;

/// Values by text, at most so many.
#[derive(Debug)]
pub(super) struct Lru<V> {
    bound: usize,
    values: HashMap<Arc<str>, (u64, V)>,
    /// The keys by when they were touched last.
    touched: BTreeMap<u64, Arc<str>>,
    clock: u64,
}

impl<V> Lru<V> {
    /// Remembers `bound` values, at least one.
    pub(super) fn new(bound: usize) -> Self {
        Self { bound: bound.max(1), values: HashMap::new(), touched: BTreeMap::new(), clock: 0 }
    }

    /// How many values are remembered.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The value of a key, which is made if it is not there.
    pub(super) fn touch(&mut self, key: &str, make: impl FnOnce() -> V) -> &mut V {
        self.clock += 1;
        let key: Arc<str> = match self.values.get_key_value(key) {
            Some((key, (last, _))) => {
                self.touched.remove(last);
                Arc::clone(key)
            }
            None => {
                if self.values.len() >= self.bound
                    && let Some((_, oldest)) = self.touched.pop_first()
                {
                    self.values.remove(&oldest);
                }
                key.into()
            }
        };
        self.touched.insert(self.clock, Arc::clone(&key));
        let (touched, value) = self.values.entry(key).or_insert_with(|| (0, make()));
        *touched = self.clock;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_touched_for_longest_is_forgotten() {
        let mut lru = Lru::new(2);
        for (key, seen) in [("a", 0), ("b", 0), ("a", 1), ("c", 0), ("a", 2), ("b", 0), ("c", 0)] {
            let count = lru.touch(key, || 0);
            assert_eq!(*count, seen, "{key}");
            *count += 1;
            assert!(lru.len() <= 2 && lru.touched.len() == lru.values.len());
        }
    }
}
