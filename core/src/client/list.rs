//! A list, or one page of it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Malformed;
use crate::object::lenient::{Text, nullable};
use crate::object::{Decode, Resource};
use crate::resource_version::ResourceVersion;

/// A list, or one page of it.
#[derive(Clone, PartialEq, Eq)]
pub struct List<T> {
    /// The objects, in the server's order.
    pub items: Vec<T>,
    /// The version that the list is of; a watch can begin here.
    pub resource_version: ResourceVersion,
    /// What to ask the next page with ([`ListOptions::continue_token`](super::ListOptions::continue_token)); empty where this is the last.
    pub continue_token: String,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    metadata: MetaWire<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    items: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MetaWire<'a> {
    #[serde(borrow)]
    resource_version: Text<'a>,
    #[serde(borrow, rename = "continue")]
    continue_token: Text<'a>,
}

impl<T: Decode> List<T> {
    pub(super) fn decode(json: &[u8], resource: &Resource) -> Result<Self, Malformed> {
        let wire: Wire<'_> = serde_json::from_slice(json).map_err(|e| Malformed::new("list", e))?;
        let items = wire.items.iter().map(|item| T::decode(item.get().as_bytes(), resource));
        Ok(Self {
            items: items.collect::<Result<_, _>>()?,
            resource_version: ResourceVersion::new(&wire.metadata.resource_version),
            continue_token: wire.metadata.continue_token.0.into_owned(),
        })
    }
}

impl<T> fmt::Debug for List<T> {
    /// How many there are, never what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List({} items @{})", self.items.len(), self.resource_version)
    }
}
