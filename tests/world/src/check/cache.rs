//! The cache is a state that the server once had, and never goes back to an older one.

use sanskube::object::Object;
use sanskube::store::Store;

use super::history::History;
use super::objects::{Pod, Set};
use super::{Metadata, Violation};
use crate::client::ClientId;

const RULE: &str = "the cache is a state that the server once had, and goes only forward";

/// What has metadata.
pub(crate) trait HasMetadata {
    fn metadata(&self) -> &Metadata;
}

impl HasMetadata for Pod {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl HasMetadata for Set {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

/// The version of a store; zero if it has none yet.
pub(crate) fn version_of<T>(store: &Store<T>) -> u64 {
    let version = store.resource_version();
    if version.is_none() { 0 } else { version.to_string().parse().unwrap_or(0) }
}

/// Compares a cache with what the server had at the version that the cache has come to. `seen` is the version it had come to before.
pub(crate) fn check<T: Object, U: HasMetadata>(
    client: ClientId,
    store: &Store<T>,
    truth: &History<U>,
    seen: &mut u64,
) -> Result<(), Violation> {
    let version = version_of(store);
    if version < *seen {
        return Err(Violation::new(RULE, format_args!("{client:?} went back from version {seen} to {version}")));
    }
    *seen = version;
    let mut count = 0;
    for (key, state) in truth.all_at(version) {
        count += 1;
        let metadata = state.metadata();
        let fits = store.get(key).is_some_and(|held| {
            held.uid().to_string() == metadata.uid && held.resource_version().to_string() == metadata.resource_version
        });
        if !fits {
            let held = store.get(key).map(|held| (held.uid().to_string(), held.resource_version()));
            let what = format_args!(
                "{client:?} at version {version} has {held:?} for {key}, which was {} at {}",
                metadata.uid, metadata.resource_version
            );
            return Err(Violation::new(RULE, what));
        }
    }
    if count != store.len() {
        let keys: Vec<&str> = store.keys().map(|key| key.as_str()).collect();
        return Err(Violation::new(
            RULE,
            format_args!("{client:?} at version {version} has {keys:?}, where {count} were"),
        ));
    }
    Ok(())
}
