//! The labels of an object.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::lenient::Text;

/// A set of labels, sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels(Box<[(Box<str>, Box<str>)]>);

impl Labels {
    /// The value of the label `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        Some(&self.0[at].1)
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The labels, by rising key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }
}

impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for Labels {
    /// Of several values for one key the last one counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let mut labels: Vec<(Box<str>, Box<str>)> = labels.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        // The sort is stable, so after the reversal the last of equal keys comes first and stays.
        labels.reverse();
        labels.sort_by(|a, b| a.0.cmp(&b.0));
        labels.dedup_by(|later, kept| later.0 == kept.0);
        Self(labels.into())
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
