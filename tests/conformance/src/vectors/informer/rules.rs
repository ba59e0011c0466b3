//! Where the informer knowingly differs from client-go, and what is wanted instead.

use sanskube::informer::Recreated;
use sanskube::object::Object;
use serde_json::{Value, json};

use super::super::check::same;
use super::super::fifo::sort;
use super::super::recorded::Objects;
use super::super::recreated::{RECREATED, Stored, split};
use super::super::script::ABANDONED;
use super::player::Script;

/// A handler that is never resynced is not told of what has not changed; client-go tells it until the first resync round.
const UNCHANGED: &str = "a-handler-without-resync-is-told-of-changes-alone";
/// A handler with a filter is told of the deletion of what it knew of; in client-go the final state must pass the filter.
const FILTERED: &str = "a-filtered-handler-is-told-of-the-end-of-what-it-knew";

/// A transformer sees each object once; in client-go those of a streaming list twice.
pub(super) const TRANSFORMED_ONCE: &str = "a-transformer-sees-each-object-once";
/// Of a list with an object that the transformer refuses nothing is taken; in client-go it depends on the queue.
const REFUSED: &str = "a-list-with-a-refused-object-is-refused-as-a-whole";

/// The case with objects that were transformed once.
pub(super) fn transformed_once(case: &Value) -> (Value, bool) {
    let (mut case, mut changed) = (case.clone(), false);
    for (_, object) in case["objects"].as_object_mut().into_iter().flatten() {
        if let Some(times) = object.pointer_mut("/metadata/annotations/xfrm").filter(|times| **times == "2") {
            *times = json!("1");
            changed = true;
        }
    }
    (case, changed)
}

/// Follows what client-go has stored.
#[derive(Default)]
pub(super) struct Rules {
    stored: Stored,
    synced: bool,
    /// What is stored here, since client-go took a part of a refused list.
    own: Option<Stored>,
}

impl Rules {
    /// Changes what is wanted of an operation that gave `got` to what this project wants, and tells the rules that did.
    pub(super) fn apply(&mut self, script: &mut Script, want: &mut Value, got: &mut Value) -> Vec<&'static str> {
        let mut applied = Vec::new();
        let client_go = self.stored_of(script, want);
        if want["errors"][0]["phase"] == "store" && want["callbacks"].is_object() {
            self.own.get_or_insert_with(|| self.stored.clone());
            want["callbacks"] = Value::Null;
            applied.push(REFUSED);
        } else if let Some(own) = &mut self.own {
            tell_from(own, &script.objects, !self.synced, want);
            applied.push(REFUSED);
        }
        if let Some(own) = &self.own {
            want["store"] = own.values().cloned().collect();
            self.own = self.own.take().filter(|own| client_go.as_ref().is_some_and(|stored| stored != own));
        }
        if want["stream_abandoned"] == true {
            want["stream_abandoned"] = Value::Null;
            want["stream_stopped"] = json!(true);
            applied.push(ABANDONED);
        }
        if script.recreated == Recreated::DeleteAndAdd && self.split_recreated(script, want, got) {
            applied.push(RECREATED);
        }
        if drop_unchanged(script, want) {
            applied.push(UNCHANGED);
        }
        if add_ends(script, want, got) {
            applied.push(FILTERED);
        }
        if let Some(stored) = client_go {
            self.stored = stored;
            self.synced = want["synced"] == true;
        }
        if want["unordered"] == true {
            for side in [want, got] {
                side["callbacks"].as_object_mut().into_iter().flatten().for_each(|(_, told)| sort(told));
            }
        }
        applied
    }

    /// What client-go has stored.
    fn stored_of(&self, script: &Script, want: &Value) -> Option<Stored> {
        let key = |name: &Value| script.objects.object(name).key().to_string();
        Some(want["store"].as_array()?.iter().map(|name| (key(name), name.clone())).collect())
    }

    /// Splits updates from one uid to another. What a filter makes of the two is left to the tests of the core.
    fn split_recreated(&self, script: &Script, want: &mut Value, got: &mut Value) -> bool {
        let mut changed = false;
        for (_, told) in want["callbacks"].as_object_mut().into_iter().flatten() {
            let told = told.as_array_mut().expect("a list");
            let key = |object: &_| Object::key(object).to_string();
            changed |= split(told, &script.objects, key, self.stored.clone(), !self.synced);
        }
        for (name, _) in script.handlers.iter().filter(|(_, handler)| changed && handler.filter.is_some()) {
            for side in [&mut *want, &mut *got] {
                side["callbacks"][name] = Value::Null;
            }
        }
        changed
    }
}

/// Tells the changes from what is stored here instead of those from what client-go has stored.
fn tell_from(own: &mut Stored, objects: &Objects, initial: bool, want: &mut Value) {
    let mut after = own.clone();
    for (_, told) in want["callbacks"].as_object_mut().into_iter().flatten() {
        after = own.clone();
        told.as_array_mut().expect("a list").retain_mut(|change| {
            let object =
                ["obj", "new"].iter().find_map(|field| change.get(field)).or_else(|| change["tombstone"].get("obj"));
            let name = object.cloned().unwrap_or_default();
            let key = objects.object(&name).key().to_string();
            if change["on"] == "delete" {
                return after.remove(&key).is_some();
            }
            match after.insert(key, name.clone()) {
                Some(old) => *change = json!({"on": "update", "old": old, "new": name}),
                None => *change = json!({"on": "add", "obj": name, "initial": initial}),
            }
            true
        });
    }
    *own = after;
}

/// Drops updates that change nothing where a handler has no resync.
fn drop_unchanged(script: &Script, want: &mut Value) -> bool {
    let mut applied = false;
    for (name, handler) in &script.handlers {
        let Some(told) = want["callbacks"][name].as_array_mut() else { continue };
        if script.informer.as_ref().is_some_and(|informer| informer.resync_period(handler.id).is_zero()) {
            let before = told.len();
            told.retain(|change| {
                change["on"] != "update" || !same_version(&script.objects, &change["old"], &change["new"])
            });
            applied |= told.len() < before;
        }
    }
    applied
}

/// Where a watch is about to be resumed, takes whole rounds of resync as wanted: updates of each stored object from itself to itself, as often as the
/// period of a handler has gone by at most.
pub(super) fn resync_while_resuming(script: &Script, want: &mut Value, got: &Value) -> bool {
    let is_resuming = script.recoveries.is_resuming(script.client());
    let Some(informer) = script.informer.as_ref().filter(|_| is_resuming) else { return false };
    let mut applied = false;
    for (name, handler) in &script.handlers {
        let period = informer.resync_period(handler.id);
        let told = got["callbacks"][name].as_array().map_or(&[][..], Vec::as_slice);
        let stored = want["store"].as_array().map_or(&[][..], Vec::as_slice);
        if period.is_zero() || told.is_empty() || stored.is_empty() || !same(&want["callbacks"][name], &Value::Null) {
            continue;
        }
        let rounds = told.len() / stored.len();
        let round = |name: &Value| json!({"on": "update", "old": name, "new": name});
        let is_whole = stored.iter().all(|name| told.iter().filter(|change| **change == round(name)).count() == rounds);
        let most = script.now.instant.since(script.before).as_nanos() / period.as_nanos() + 1;
        if is_whole && told.len() == rounds * stored.len() && rounds as u128 <= most {
            want["callbacks"][name] = json!(told);
            applied = true;
        }
    }
    applied
}

fn same_version(objects: &Objects, a: &Value, b: &Value) -> bool {
    objects.object(a).resource_version() == objects.object(b).resource_version()
}

/// Adds the end of what a filtered handler knew of where the final state does not pass the filter.
fn add_ends(script: &mut Script, want: &mut Value, got: &Value) -> bool {
    let mut applied = false;
    for (name, end) in core::mem::take(&mut script.ends) {
        let label = script.handlers[&name].filter.as_deref().unwrap_or_default();
        let passes = end["obj"].is_string() && script.objects.object(&end["obj"]).label(label).is_some();
        let wanted = want["callbacks"][&name].as_array().is_some_and(|told| told.contains(&end));
        let at = got["callbacks"][&name].as_array().and_then(|told| told.iter().position(|told| *told == end));
        let (false, false, Some(at)) = (passes, wanted, at) else { continue };
        if !want["callbacks"][&name].is_array() {
            want["callbacks"][&name] = json!([]);
        }
        want["callbacks"][&name].as_array_mut().expect("a list").insert(at, end);
        applied = true;
    }
    applied
}
