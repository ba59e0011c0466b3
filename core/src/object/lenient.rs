//! Reading JSON as Go does: `null` is the zero value of whatever was expected.

use alloc::borrow::Cow;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

/// For `#[serde(deserialize_with)]`: `null` gives the default.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A string, borrowed from the input where it has no escapes; `null` is the empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl core::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl core::borrow::Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        self
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or null")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Text::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(text.into())))
    }
}

/// Something made from the elements of a list one by one, so that the list is never held.
pub(crate) trait Gather<T>: Default {
    fn add(&mut self, item: T);
}

/// What a list of `T` was made into; `null` is the empty list, a `null` in it an element without fields.
pub(crate) struct Gathered<G, T> {
    pub(crate) made: G,
    item: PhantomData<T>,
}

impl<G: Default, T> Default for Gathered<G, T> {
    fn default() -> Self {
        Self { made: G::default(), item: PhantomData }
    }
}

impl<'de, G: Gather<T>, T: Default + Deserialize<'de>> Deserialize<'de> for Gathered<G, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(ListVisitor(Self::default()))
    }
}

struct ListVisitor<G, T>(Gathered<G, T>);

impl<'de, G: Gather<T>, T: Default + Deserialize<'de>> Visitor<'de> for ListVisitor<G, T> {
    type Value = Gathered<G, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or null")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(self.0)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self::Value, A::Error> {
        while let Some(item) = list.next_element::<Option<T>>()? {
            self.0.made.add(item.unwrap_or_default());
        }
        Ok(self.0)
    }
}
