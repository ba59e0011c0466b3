//! The objects of a streaming list, until it is whole.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::error::Full;
use crate::key::Key;
use crate::object::Object;
use crate::shrink;

/// What was told so far of the objects that there were before a watch.
///
/// An API server tells each of them once and by rising key, so that they are gathered as they come, and put in order at the end if they
/// were not.
#[derive(Debug)]
pub(super) struct Initial<T> {
    objects: Vec<Arc<T>>,
    /// What was told to be gone, and how many objects were told before.
    gone: Vec<(Key, usize)>,
    bound: usize,
}

impl<T: Object> Initial<T> {
    /// Gathers up to `bound` objects ([`Limits::list_objects`](crate::limits::Limits::list_objects)).
    pub(super) const fn new(bound: usize) -> Self {
        Self { objects: Vec::new(), gone: Vec::new(), bound }
    }

    /// Takes an object that was told, be it for the first time or changed.
    pub(super) fn push(&mut self, object: Arc<T>) -> Result<(), Full> {
        shrink::push(&mut self.objects, object);
        self.check()
    }

    /// Takes the news that an object is gone.
    pub(super) fn remove(&mut self, key: Key) -> Result<(), Full> {
        self.gone.push((key, self.objects.len()));
        self.check()
    }

    /// The objects, each once as it was told last, by rising key.
    pub(super) fn into_objects(self) -> Vec<Arc<T>> {
        let Self { mut objects, gone, .. } = self;
        if !gone.is_empty() {
            let gone: HashMap<Key, usize> = gone.into_iter().collect();
            let mut told = 0..;
            objects.retain(|object| {
                let nth = told.next();
                gone.get(&object.key()).is_none_or(|told_before| nth >= Some(*told_before))
            });
        }
        if !objects.is_sorted_by(|a, b| a.key() < b.key()) {
            // The sort is stable: of one object the last one comes last, and stays.
            objects.sort_by_key(|object| object.key());
            objects.dedup_by(|later, kept| {
                let same = later.key() == kept.key();
                if same {
                    core::mem::swap(later, kept);
                }
                same
            });
        }
        objects
    }

    fn check(&self) -> Result<(), Full> {
        if self.objects.len() + self.gone.len() > self.bound {
            return Err(Full { limit: "list_objects", bound: self.bound });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::testing::{Random, Thing, thing};

    fn objects(initial: Initial<Thing>) -> Vec<String> {
        initial.into_objects().iter().map(|object| format!("{}@{}", object.key(), object.version)).collect()
    }

    #[test]
    fn what_was_told_last_counts_in_whatever_order_it_was_told() {
        let mut initial = Initial::new(100);
        for (key, version) in [("n/b", 1), ("n/a", 2), ("n/b", 3), ("n/c", 4)] {
            initial.push(Arc::new(thing(key, version, &[]))).unwrap();
        }
        initial.remove(Key::explicit("n/c")).unwrap();
        initial.remove(Key::explicit("n/never")).unwrap();
        initial.remove(Key::explicit("n/a")).unwrap();
        initial.push(Arc::new(thing("n/a", 9, &[]))).unwrap();
        assert_eq!(objects(initial), ["n/a@9", "n/b@3"]);
    }

    #[test]
    fn any_news_leave_what_a_map_would_hold() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let (mut initial, mut map) = (Initial::new(1000), alloc::collections::BTreeMap::new());
            for version in 0..random.below(40) {
                let object = random.thing(version);
                let key = object.key();
                if random.percent(20) {
                    map.remove(&key);
                    initial.remove(key).unwrap();
                } else {
                    map.insert(key, version);
                    initial.push(Arc::new(object)).unwrap();
                }
            }
            let expected: Vec<String> = map.iter().map(|(key, version)| format!("{key}@{version}")).collect();
            assert_eq!(objects(initial), expected, "seed {seed}");
        }
    }

    #[test]
    fn what_is_told_has_a_bound() {
        let mut initial = Initial::new(2);
        initial.push(Arc::new(thing("n/a", 1, &[]))).unwrap();
        initial.remove(Key::explicit("n/a")).unwrap();
        assert!(initial.remove(Key::explicit("n/a")).is_err());
    }
}
