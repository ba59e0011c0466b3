//! Taking what a delta queue hands out into the store, and telling what that changed.

use alloc::sync::Arc;

use super::change::Change;
use crate::delta::{Deletion, Delta, Popped, Tombstone};
use crate::error::Refused;
use crate::key::Key;
use crate::object::Object;
use crate::store::{Store, Written};

/// What an object is that has the name of a stored one but another uid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recreated {
    /// A deletion whose final state is unknown, and an addition.
    #[default]
    DeleteAndAdd,
    /// An update from one uid to another, as client-go has it.
    Update,
}

/// Takes changes into the store, oldest first, and hands each change of the store to `tell` with the key it is stored by.
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
    mut tell: impl FnMut(Key, Change<T>),
) -> Result<(), Refused> {
    let initial = popped.initial;
    for delta in popped.deltas {
        match delta {
            Delta::Added(object) | Delta::Updated(object) | Delta::Replaced(object) | Delta::Sync(object) => {
                let key = store.key_of(&object)?;
                let Written { old, unindexed } = store.add_shared(Arc::clone(&object))?;
                log_refused(&key, unindexed);
                tell_state(key, old, object, initial, recreated, &mut tell);
            }
            Delta::Deleted(Deletion::Observed(object)) => {
                let key = store.key_of(&object)?;
                let old = store.delete(&object)?;
                let deletion = match old {
                    Some(old) if recreated == Recreated::DeleteAndAdd && old.uid() != object.uid() => {
                        Deletion::Missed(Tombstone { key: key.clone(), object: Some(old) })
                    }
                    _ => Deletion::Observed(object),
                };
                tell(key, Change::Delete(deletion));
            }
            Delta::Deleted(Deletion::Missed(tombstone)) => {
                store.remove(tombstone.key.as_str());
                tell(tombstone.key.clone(), Change::Delete(Deletion::Missed(tombstone)));
            }
            Delta::ReplacedAll { objects, resource_version } => {
                let replaced = store.replace_shared(objects.clone(), resource_version)?;
                for (key, object) in replaced.removed {
                    tell(key.clone(), missed(key, object));
                }
                for (object, old) in objects.into_iter().zip(replaced.old) {
                    let key = store.key_of(&object)?;
                    tell_state(key, old, object, initial, recreated, &mut tell);
                }
                if let Some(refused) = replaced.unindexed {
                    log::warn!("an object of a list is missing in an index: {refused}");
                }
            }
            Delta::SyncAll => {
                for (key, object) in store.keys().zip(store.iter()) {
                    tell(key.clone(), Change::Update { old: Arc::clone(object), new: Arc::clone(object) });
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
    tell: &mut impl FnMut(Key, Change<T>),
) {
    match old {
        None => tell(key, Change::Add { object: new, initial }),
        Some(old) if recreated == Recreated::DeleteAndAdd && old.uid() != new.uid() => {
            tell(key.clone(), missed(key.clone(), old));
            tell(key, Change::Add { object: new, initial });
        }
        Some(old) => tell(key, Change::Update { old, new }),
    }
}

fn missed<T>(key: Key, object: Arc<T>) -> Change<T> {
    Change::Delete(Deletion::Missed(Tombstone { key, object: Some(object) }))
}

fn log_refused(key: &Key, refused: Option<Refused>) {
    if let Some(refused) = refused {
        log::warn!("{key} is missing in an index: {refused}");
    }
}
