//! The kinds that are served now.

use std::sync::{Arc, LazyLock};

use super::{DEFINITIONS, Kind, NAMESPACES, Sub, TABLES, kinds};
use crate::request::{Place, Route};

/// The kinds that are built in, and after them those of CustomResourceDefinitions.
///
/// Cheap to clone, so that a request keeps the kinds it began with.
#[derive(Debug, Clone)]
pub(crate) struct Kinds {
    list: Vec<Arc<Kind>>,
    next_id: u32,
}

impl Kinds {
    pub(crate) fn built_in() -> Arc<Self> {
        static BUILT_IN: LazyLock<Arc<Kinds>> = LazyLock::new(|| {
            let mut kinds = Kinds { list: Vec::new(), next_id: 0 };
            kinds::built_in().into_iter().for_each(|kind| kinds.push(kind));
            Arc::new(kinds)
        });
        Arc::clone(&BUILT_IN)
    }

    fn push(&mut self, kind: Kind) {
        self.list.push(Arc::new(Kind { id: self.next_id, ..kind }));
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// Serves the kinds of a definition, instead of those it had. They get its table, or one of their own.
    pub(crate) fn define(&mut self, kinds: Vec<Kind>) -> usize {
        let Some(first) = kinds.first() else { return DEFINITIONS };
        let table = self.table_of(&first.group, &first.resource).unwrap_or_else(|| self.free_table());
        self.list.retain(|k| k.table != table);
        kinds.into_iter().for_each(|kind| self.push(Kind { table, ..kind }));
        table
    }

    /// Serves the kinds of a table no more.
    pub(crate) fn withdraw(&mut self, table: usize) {
        self.list.retain(|k| k.table != table);
    }

    /// The table of a definition's objects, if the definition is in effect.
    pub(crate) fn table_of(&self, group: &str, resource: &str) -> Option<usize> {
        self.list.iter().find(|k| k.custom.is_some() && k.group == group && k.resource == resource).map(|k| k.table)
    }

    fn free_table(&self) -> usize {
        let free = (TABLES..).find(|table| self.list.iter().all(|k| k.table != *table));
        free.expect("there are fewer kinds than numbers")
    }

    /// The kinds that can be asked for.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.list.iter().filter(|k| k.is_served())
    }

    /// The kind in whose form the objects of a table are stored.
    pub(crate) fn stored(&self, table: usize) -> Arc<Kind> {
        self.list.iter().find(|k| k.table == table).expect("a table is used only while its kind is there").clone()
    }

    /// One kind for each table.
    pub(crate) fn all_stored(&self) -> Vec<Arc<Kind>> {
        let mut all = self.list.clone();
        all.sort_by_key(|k| k.table);
        all.dedup_by_key(|k| k.table);
        all
    }

    /// The groups, sorted, but for the core group.
    pub(crate) fn groups(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.iter().map(|k| k.group.as_str()).filter(|g| !g.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The versions of a group, those that clients prefer first.
    pub(crate) fn versions(&self, group: &str) -> Vec<&str> {
        let mut versions: Vec<&str> = Vec::new();
        for kind in self.iter().filter(|k| k.group == group) {
            if !versions.contains(&kind.version.as_str()) {
                versions.push(&kind.version);
            }
        }
        versions.sort_by_cached_key(|v| std::cmp::Reverse(super::custom::priority(v)));
        versions
    }

    /// Finds what a decoded path names.
    pub(crate) fn route(&self, path: &str) -> Route {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let (group, version, mut rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Route::NotServed,
        };
        if !self.iter().any(|k| k.group == group) {
            return Route::NotServed;
        }
        if let Some((&"", head)) = rest.split_last() {
            rest = head;
        }
        let watch = rest.first() == Some(&"watch");
        if watch {
            rest = &rest[1..];
        }
        let of_namespace = |word: &str| self.list[NAMESPACES].subresources.iter().any(|s| s.name() == word);
        let (namespace, resource, rest) = match rest {
            ["namespaces", namespace, resource, rest @ ..] if !of_namespace(resource) => (*namespace, *resource, rest),
            [resource, rest @ ..] => ("", *resource, rest),
            [] => return Route::Nowhere,
        };
        let found = self.iter().find(|k| k.group == group && k.version == version && k.resource == resource);
        let Some(kind) = found else {
            return Route::Nowhere;
        };
        if !kind.namespaced && !namespace.is_empty() {
            return Route::Nowhere;
        }
        let (name, sub) = match rest {
            [] => ("", None),
            [name] => (*name, None),
            [name, sub] => match Sub::ALL.iter().find(|s| s.name() == *sub && kind.has(**s)) {
                Some(s) => (*name, Some(*s)),
                None => return Route::Nowhere,
            },
            _ => return Route::Nowhere,
        };
        if kind.namespaced && namespace.is_empty() && !name.is_empty() {
            return Route::Nowhere;
        }
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Route::Resource(Place { kind: kind.clone(), namespace, name, sub, watch })
    }
}
