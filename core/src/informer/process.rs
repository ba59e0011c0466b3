//! Taking what a delta queue hands out into the store, and telling what that changed.

use alloc::sync::Arc;

use super::change::Change;
use crate::delta::{Deletion, Delta, Popped, Tombstone};
use crate::error::Refused;
use crate::key::Key;
use crate::object::Object;
use crate::store::{Replacement, Store};

/// What it is when an object has the name of a stored one but another uid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recreated {
    /// A deletion whose final state is unknown, and an addition.
    #[default]
    DeleteAndAdd,
    /// An update from one uid to another, as client-go has it.
    Update,
}

/// A change to the store, and where it happened.
#[derive(Debug)]
pub struct StoreChange<T> {
    /// The key that the object is or was stored by.
    pub key: Key,
    /// What happened.
    pub change: Change<T>,
    /// What was stored by the key before.
    pub before: Option<Arc<T>>,
}

/// Takes changes into the store, oldest first, and hands each change of the store to `tell`.
///
/// A refusal by an index function is logged; the object is stored all the same.
///
/// Mirrors client-go `tools/cache/controller.go`, `processDeltas` and `processReplacedAllInfo`.
///
/// # Errors
/// The key function refused an object; changes before it were taken in, those after it are lost. A queue with the same key function
/// only lets objects of an atomic list come so far; of such a list nothing is taken in.
pub fn process_deltas<T: Object>(
    store: &mut Store<T>,
    popped: Popped<T>,
    recreated: Recreated,
    mut tell: impl FnMut(StoreChange<T>),
) -> Result<(), Refused> {
    let initial = popped.initial;
    for delta in popped.deltas {
        match delta {
            Delta::Added(object) | Delta::Updated(object) | Delta::Replaced(object) | Delta::Sync(object) => {
                let key = store.key_of(&object)?;
                let written = store.add_shared(Arc::clone(&object))?;
                log_refused(written.unindexed);
                tell_state(key, written.old, object, initial, recreated, &mut tell);
            }
            Delta::Deleted(Deletion::Observed(object)) => {
                let key = store.key_of(&object)?;
                match store.delete(&object)? {
                    Some(old) if is_recreated(&old, &object, recreated) => tell(missed(key, old)),
                    before => tell(StoreChange { key, change: Change::Delete(Deletion::Observed(object)), before }),
                }
            }
            Delta::Deleted(Deletion::Missed(tombstone)) => {
                let before = store.remove(tombstone.key.as_str());
                let key = tombstone.key.clone();
                tell(StoreChange { key, change: Change::Delete(Deletion::Missed(tombstone)), before });
            }
            Delta::ReplacedAll { objects, resource_version } => {
                let unindexed = store.replace_by_steps(objects, resource_version, |step| match step {
                    Replacement::Removed { key, object } => tell(missed(key, object)),
                    Replacement::Listed { key, old, new } => tell_state(key, old, new, initial, recreated, &mut tell),
                })?;
                log_refused(unindexed);
            }
            Delta::SyncAll => {
                for (key, object) in store.keys().zip(store.iter()) {
                    tell(updated(key.clone(), Arc::clone(object), Arc::clone(object)));
                }
            }
            Delta::Bookmark(resource_version) => store.set_resource_version(resource_version),
        }
    }
    Ok(())
}

/// Tells that the store holds `new` where it held `old`.
fn tell_state<T: Object>(
    key: Key,
    old: Option<Arc<T>>,
    new: Arc<T>,
    initial: bool,
    recreated: Recreated,
    tell: &mut impl FnMut(StoreChange<T>),
) {
    let added = |key, object| StoreChange { key, change: Change::Add { object, initial }, before: None };
    match old {
        None => tell(added(key, new)),
        Some(old) if is_recreated(&old, &new, recreated) => {
            tell(missed(key.clone(), old));
            tell(added(key, new));
        }
        Some(old) => tell(updated(key, old, new)),
    }
}

/// Whether the two must be told apart although they have one key.
fn is_recreated<T: Object>(old: &Arc<T>, new: &Arc<T>, recreated: Recreated) -> bool {
    recreated == Recreated::DeleteAndAdd && old.uid() != new.uid()
}

fn updated<T>(key: Key, old: Arc<T>, new: Arc<T>) -> StoreChange<T> {
    StoreChange { key, before: Some(Arc::clone(&old)), change: Change::Update { old, new } }
}

fn missed<T>(key: Key, object: Arc<T>) -> StoreChange<T> {
    let before = Some(Arc::clone(&object));
    let tombstone = Tombstone { key: key.clone(), object: Some(object) };
    StoreChange { key, change: Change::Delete(Deletion::Missed(tombstone)), before }
}

fn log_refused(refused: Option<Refused>) {
    if let Some(refused) = refused {
        log::warn!("a stored object is missing in an index: {refused}");
    }
}
