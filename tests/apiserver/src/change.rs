//! What has changed, for those who look at the server from outside it.

use crate::server::ApiServer;
use crate::store::Event;

/// A change of one object, as the history remembers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// The version that the change has made.
    pub version: u64,
    /// The namespace of the object, empty if it has none.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The object as it is now, or was last if it is deleted: JSON without `kind` and `apiVersion`.
    pub json: &'a [u8],
    /// Whether the object is no more.
    pub deleted: bool,
}

impl<'a> Change<'a> {
    fn of(event: &'a Event) -> Self {
        let object = &*event.object;
        Self {
            version: event.rv,
            namespace: &object.key.namespace,
            name: &object.key.name,
            json: &object.json,
            deleted: event.deleted,
        }
    }
}

impl ApiServer {
    /// What has happened to the objects of a resource (its plural name) after a version, in order, as far back as the history goes. For tests
    /// and simulations that follow the truth: no fault touches it, and nothing is converted.
    pub fn changes_after(&self, resource: &str, version: u64) -> impl Iterator<Item = Change<'_>> {
        let table = self.tables_of(resource).first().map(|table| self.store.table(*table));
        table.into_iter().flat_map(move |table| table.events_after(version)).map(Change::of)
    }
}
