//! A list that nearly always has one element.

use alloc::vec::{self, Vec};
use core::fmt;

/// Elements in their order. The first one takes no allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct Few<T> {
    first: Option<T>,
    /// None without a first one.
    others: Vec<T>,
}

impl<T> Few<T> {
    /// Appends an element.
    pub fn push(&mut self, element: T) {
        match self.first {
            None => self.first = Some(element),
            Some(_) => self.others.push(element),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The elements in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.others)
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, others: Vec::new() }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut few = Self::default();
        few.extend(elements);
        few
    }
}

impl<T> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        elements.into_iter().for_each(|element| self.push(element));
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = core::iter::Chain<core::option::IntoIter<T>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.others)
    }
}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_order() {
        for count in 0..4 {
            let few: Few<i32> = (0..count).collect();
            assert_eq!((few.len(), few.is_empty()), (count as usize, count == 0));
            assert!(few.iter().copied().eq(0..count));
            assert_eq!(few.others.capacity() > 0, count > 1);
            assert!(few.into_iter().eq(0..count));
        }
    }
}
