//! The changes that one handler has not taken yet.

use alloc::collections::VecDeque;

use hashbrown::HashMap;

use super::change::Change;
use crate::delta::Deletion;
use crate::key::Key;
use crate::shrink;

/// Changes in the order they were made. Up to a limit each stands on its own. Past it the changes of a key are merged into what they
/// come to: then a handler that never takes anything has at most two of each key (a deletion, and what came after it), and
/// of a key that came and went meanwhile none.
pub(super) struct Backlog<T> {
    /// What was merged away is a hole.
    entries: VecDeque<Option<(Key, Change<T>)>>,
    holes: usize,
    /// The number of the first entry; they are numbered in the order they came.
    first: u64,
    /// While changes are merged: the last entry of each key.
    last: Option<HashMap<Key, u64>>,
    /// How many of the changes are additions of the initial list.
    initial: usize,
    /// Whether something was merged or left out.
    merged: bool,
    limit: usize,
}

/// What two changes of one object come to.
enum Merged<T> {
    One(Change<T>),
    Nothing,
    /// The later one cannot be told together with the earlier one.
    Both(Change<T>, Change<T>),
}

impl<T> Backlog<T> {
    /// A backlog whose changes are merged when there are more than `limit`.
    pub(super) fn new(limit: usize) -> Self {
        Self { entries: VecDeque::new(), holes: 0, first: 0, last: None, initial: 0, merged: false, limit }
    }

    /// The number of changes.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.holes
    }

    /// The number of additions of the initial list.
    pub(super) fn initial(&self) -> usize {
        self.initial
    }

    /// Whether changes were merged or left out since this was last asked.
    pub(super) fn take_merged(&mut self) -> bool {
        core::mem::take(&mut self.merged)
    }

    /// Appends a change. `known` tells whether the object of a deletion was stored: past the limit others are dropped, since
    /// there is no bound to how many a server may tell of.
    pub(super) fn push(&mut self, key: Key, change: Change<T>, known: bool) {
        if self.last.is_none() && self.len() >= self.limit {
            self.index();
        }
        let Some(last) = &mut self.last else { return self.append(key, change) };
        let Some(number) = last.get(&key) else {
            if known || !matches!(change, Change::Delete(_)) {
                self.append(key, change);
            } else {
                self.merged = true;
            }
            return;
        };
        let at = (number - self.first) as usize;
        let (_, earlier) = self.entries[at].take().expect("the last entry of a key is no hole");
        self.initial -= usize::from(is_initial(&earlier));
        let merged = merge(earlier, change);
        self.merged |= !matches!(merged, Merged::Both(..));
        match merged {
            Merged::One(change) => {
                self.initial += usize::from(is_initial(&change));
                self.entries[at] = Some((key, change));
            }
            Merged::Both(earlier, later) => {
                self.initial += usize::from(is_initial(&earlier));
                self.entries[at] = Some((key.clone(), earlier));
                self.append(key, later);
            }
            Merged::Nothing => {
                last.remove(&key);
                self.holes += 1;
                if self.holes > shrink::WORTHWHILE && self.holes > self.entries.len() / 2 {
                    self.entries.retain(Option::is_some);
                    self.holes = 0;
                    shrink::queue(&mut self.entries);
                    self.index();
                }
            }
        }
    }

    /// Takes the oldest change.
    pub(super) fn pop(&mut self) -> Option<(Key, Change<T>)> {
        while let Some(entry) = self.entries.pop_front() {
            self.first += 1;
            shrink::queue(&mut self.entries);
            let Some((key, change)) = entry else {
                self.holes -= 1;
                continue;
            };
            self.initial -= usize::from(is_initial(&change));
            if self.entries.is_empty() {
                self.last = None;
            } else if let Some(last) = &mut self.last
                && last.get(&key).is_some_and(|&number| number < self.first)
            {
                last.remove(&key);
            }
            return Some((key, change));
        }
        self.last = None;
        None
    }

    fn append(&mut self, key: Key, change: Change<T>) {
        if let Some(last) = &mut self.last {
            last.insert(key.clone(), self.first + self.entries.len() as u64);
        }
        self.initial += usize::from(is_initial(&change));
        self.entries.push_back(Some((key, change)));
    }

    /// Starts to merge, or counts anew after holes were closed. Costs a step for each change.
    fn index(&mut self) {
        let keys = (self.first..).zip(&self.entries);
        self.last = Some(keys.filter_map(|(number, entry)| Some((entry.as_ref()?.0.clone(), number))).collect());
    }
}

fn is_initial<T>(change: &Change<T>) -> bool {
    matches!(change, Change::Add { initial: true, .. })
}

fn merge<T>(earlier: Change<T>, later: Change<T>) -> Merged<T> {
    use Change::{Add, Delete, Update};
    Merged::One(match (earlier, later) {
        (Add { initial, .. }, Update { new: object, .. } | Add { object, .. }) => Add { object, initial },
        (Update { old, .. }, Update { new, .. } | Add { object: new, .. }) => Update { old, new },
        (Add { .. }, Delete(_)) => return Merged::Nothing,
        (Update { .. }, Delete(deletion)) | (Delete(Deletion::Missed(_)), Delete(deletion)) => Delete(deletion),
        (Delete(observed @ Deletion::Observed(_)), Delete(_)) => Delete(observed),
        (earlier @ Delete(_), later) => return Merged::Both(earlier, later),
    })
}
