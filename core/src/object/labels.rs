//! The labels of an object.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::lenient::Text;
use super::map_text::MapText;
use crate::json::Unexpected;

/// A set of labels, sorted by key. Cloning is cheap (one shared allocation).
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Labels(Option<Arc<Packed>>);

/// One label or more.
#[derive(PartialEq, Eq, Hash)]
struct Packed {
    /// Keys and values in turn, one behind the other.
    text: Box<str>,
    /// Where each key and each value ends.
    ends: Box<[u32]>,
}

impl Packed {
    fn len(&self) -> usize {
        self.ends.len() / 2
    }

    fn pair(&self, nth: usize) -> (&str, &str) {
        let end = |nth: usize| self.ends[nth] as usize;
        let start = nth.checked_sub(1).map_or(0, |before| end(2 * before + 1));
        let (middle, end) = (end(2 * nth), end(2 * nth + 1));
        (&self.text[start..middle], &self.text[middle..end])
    }
}

impl Labels {
    /// The value of the label `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let packed = self.0.as_deref()?;
        let (mut low, mut high) = (0, packed.len());
        while low < high {
            let middle = low.midpoint(high);
            let (other, value) = packed.pair(middle);
            match other.cmp(key) {
                Ordering::Equal => return Some(value),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |packed| packed.len())
    }

    /// The labels, by rising key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|packed| (0..packed.len()).map(|nth| packed.pair(nth)))
    }

    /// Whether the two are one allocation, and so equal. Equal sets may be two.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        matches!((&self.0, &other.0), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }

    /// Whether another set shares the allocation.
    pub(super) fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|packed| Arc::strong_count(packed) > 1)
    }

    /// Reads a map of strings.
    pub(super) fn from_text(text: MapText<'_>) -> Result<Self, Unexpected> {
        let mut labels = Vec::new();
        text.each(|key, value| {
            labels.push((key, value));
            true
        })?;
        Ok(labels.into_iter().collect())
    }

    /// Whether these labels are what stands in a map of strings.
    pub(super) fn is_written(&self, text: MapText<'_>) -> bool {
        let mut own = self.iter();
        let (mut count, mut all) = (0, true);
        let read = text.each(|key, value| {
            count += 1;
            // API servers sort them, so that it is nearly always the next one.
            let is_next = own.next().is_some_and(|(k, v)| k == key && v == value);
            all = is_next || self.get(&key) == Some(&*value);
            all
        });
        read.is_ok() && all && count == self.len()
    }
}

/// The answer to a question that depends on a label set alone, for the set that was asked about last. Most pods of a set share theirs.
#[derive(Debug, Default)]
pub(crate) struct LastAnswer(Option<(Labels, bool)>);

impl LastAnswer {
    /// The answer for these labels; `ask` is only called for others than the last time.
    pub(crate) fn get(&mut self, labels: &Labels, ask: impl FnOnce(&Labels) -> bool) -> bool {
        match &self.0 {
            Some((last, answer)) if last.is_same(labels) => *answer,
            _ => self.0.insert((labels.clone(), ask(labels))).1,
        }
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Labels {
    /// Of several values for one key the last one counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let mut labels: Vec<(K, V)> = labels.into_iter().collect();
        // The sort is stable, so after the reversal the last of equal keys comes first and stays.
        labels.reverse();
        labels.sort_by(|a, b| a.0.as_ref().cmp(b.0.as_ref()));
        labels.dedup_by(|later, kept| later.0.as_ref() == kept.0.as_ref());
        let (mut text, mut ends) = (String::new(), Vec::with_capacity(2 * labels.len()));
        for part in labels.iter().flat_map(|(key, value)| [key.as_ref(), value.as_ref()]) {
            text.push_str(part);
            ends.push(u32::try_from(text.len()).expect("an object has less than 4 GiB"));
        }
        let packed = || Arc::new(Packed { text: text.into(), ends: ends.into() });
        Self((!labels.is_empty()).then(packed))
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(LabelsVisitor)
    }
}

struct LabelsVisitor;

impl<'de> Visitor<'de> for LabelsVisitor {
    type Value = Labels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings or null")
    }

    fn visit_none<E>(self) -> Result<Labels, E> {
        Ok(Labels::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Labels, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
        let mut labels: Vec<(Text<'de>, Text<'de>)> = Vec::new();
        while let Some(entry) = map.next_entry()? {
            labels.push(entry);
        }
        Ok(labels.iter().map(|(key, value)| (&**key, &**value)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_by_key_and_the_last_duplicate_counts() {
        let labels: Labels = serde_json::from_str(r#"{"tier":"front","app":"old","zone":null,"app":"web"}"#).unwrap();
        assert_eq!(labels.get("app"), Some("web"));
        assert_eq!(labels.get("zone"), Some(""));
        assert_eq!(labels.get("none"), None);
        assert!(labels.iter().map(|(k, _)| k).eq(["app", "tier", "zone"]));
        assert_eq!(serde_json::from_str::<Labels>("null").unwrap(), Labels::default());
        assert!(serde_json::from_str::<Labels>(r#"{"a":1}"#).is_err());
    }
}
