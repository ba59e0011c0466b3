//! The rule for objects that were created anew under an old name.

use std::collections::BTreeMap;

use sanskube::object::Object;
use serde_json::{Value, json};

use super::recorded::{Objects, Recorded};

/// Another uid than what is stored is a deletion and an addition; in client-go it is an update.
pub(super) const RECREATED: &str = "an-object-created-anew-is-deleted-and-added";

/// What is stored, by key: the names of the objects.
pub(super) type Stored = BTreeMap<String, Value>;

/// Changes what client-go tells of to what is wanted instead, and says whether there was anything to change.
///
/// `stored` is what was stored before; `initial` is what additions of that moment are flagged with.
pub(super) fn split(
    told: &mut Vec<Value>,
    objects: &Objects,
    key: impl Fn(&Recorded) -> String,
    mut stored: Stored,
    initial: bool,
) -> bool {
    let uid = |name: &Value| objects.object(name).uid();
    let missed = |key: &str, old: &Value| json!({"on": "delete", "tombstone": {"key": key, "obj": old}});
    let mut changed = false;
    let mut split = Vec::with_capacity(told.len());
    for change in told.drain(..) {
        let is_deletion = change["on"] == "delete";
        let Some(name) = ["obj", "new"].iter().find_map(|field| change.get(field)) else {
            stored.remove(change["tombstone"]["key"].as_str().unwrap_or_default());
            split.push(change);
            continue;
        };
        let key = key(&objects.object(name));
        let old = if is_deletion { stored.remove(&key) } else { stored.insert(key.clone(), name.clone()) };
        match old.filter(|old| change["on"] != "add" && uid(old) != uid(name)) {
            Some(old) => {
                changed = true;
                split.push(missed(&key, &old));
                if !is_deletion {
                    split.push(json!({"on": "add", "obj": name, "initial": initial}));
                }
            }
            None => split.push(change),
        }
    }
    *told = split;
    changed
}
