//! The controller of CustomResourceDefinitions: serves their kinds, and ends them
//! (`apiextensions-apiserver` `pkg/controller/{status,establish,finalizer}`).
//!
//! A definition takes effect with the write that makes it; its conditions come with a second one. One that is deleted goes when its objects
//! are gone.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::delete::DeleteOptions;
use crate::json as path;
use crate::kind::{DEFINITIONS, Kind, custom};
use crate::server::ApiServer;
use crate::store::{Key, Obj, Object};
use crate::strategy::definition::FINALIZER;
use crate::time::{Now, rfc3339};

impl ApiServer {
    /// Serves a kind that this server does not have, such as Deployments, from the `spec` of a CustomResourceDefinition; there is no object
    /// that defines it. Its objects are kept, and nothing acts on them: it is for tests of what writes them.
    ///
    /// A kind of the same group and plural that was served so before, or by a definition, is replaced, and its objects stay. A definition
    /// that is incomplete serves nothing.
    pub fn serve_kind(&mut self, spec: &Value) {
        if let Value::Object(definition) = json!({ "spec": spec }) {
            self.serve_defined(&definition);
        }
    }

    fn serve_defined(&mut self, definition: &Obj) {
        let fresh = self.table_of(definition).is_none();
        let table = Arc::make_mut(&mut self.kinds).define(custom::kinds(definition));
        if fresh {
            self.watchers.resize(self.watchers.len().max(table + 1), Vec::new());
            self.store.clear(table);
        }
    }

    /// To be called after a definition was written.
    pub(crate) fn define(&mut self, now: Now, definition: &Object) {
        let time = rfc3339(now.wall);
        if definition.deleting {
            self.rewrite(now, DEFINITIONS, &definition.key, |v| {
                let message = "CustomResource deletion is in progress";
                set_condition(v, "Terminating", true, "InstanceDeletionInProgress", message, &time);
            });
            self.controllers.push(now.monotonic, &definition.uid);
            return;
        }
        let value = definition.value();
        let taken = self.kind_is_taken(&value);
        if !taken {
            self.serve_defined(&value);
        }
        self.rewrite(now, DEFINITIONS, &definition.key, |v| set_status(v, taken, &time));
    }

    /// The table of a definition's objects, if the definition is in effect.
    fn table_of(&self, definition: &Obj) -> Option<usize> {
        let text = |p: &[&str]| path::text(definition, p);
        self.kinds.table_of(text(&["spec", "group"]), text(&["spec", "names", "plural"]))
    }

    /// Another definition of the group has its kind already.
    fn kind_is_taken(&self, definition: &Obj) -> bool {
        let text = |p: &[&str]| path::text(definition, p);
        let (group, kind, plural) =
            (text(&["spec", "group"]), text(&["spec", "names", "kind"]), text(&["spec", "names", "plural"]));
        self.kinds.iter().any(|k| k.group == group && k.kind == kind && k.resource != plural)
    }

    /// Deletes the objects of a definition that is being deleted, and then lets it go.
    pub(crate) fn end_definition(&mut self, now: Now, key: &Key) {
        let Some(definition) = self.store.get(DEFINITIONS, key).cloned().filter(|d| d.deleting) else {
            return;
        };
        if let Some(table) = self.table_of(&definition.value()) {
            let kind = self.kinds.stored(table);
            let objects = self.store.table(table).snapshot("", None, None).unwrap_or_default();
            for object in objects.iter().filter(|o| !o.deleting) {
                drop(self.delete_object(now, &kind, &object.key, &DeleteOptions::background()));
            }
            if !self.store.table(table).objects.is_empty() {
                return;
            }
        }
        self.rewrite(now, DEFINITIONS, key, |v| {
            if let Some(list) = path::meta_mut(v).get_mut("finalizers").and_then(Value::as_array_mut) {
                list.retain(|f| f != FINALIZER);
            }
        });
    }

    /// To be called after a definition was removed: its kinds are served no more. Objects that are still there, because someone
    /// took the finalizer away, go with it.
    pub(crate) fn undefine(&mut self, now: Now, definition: &Object) {
        let Some(table) = self.table_of(&definition.value()) else {
            return;
        };
        let kind = self.kinds.stored(table);
        for object in self.store.table(table).snapshot("", None, None).unwrap_or_default() {
            self.remove(now, &kind, &object);
        }
        self.close_table(table);
        Arc::make_mut(&mut self.kinds).withdraw(table);
    }

    /// The definition of a custom kind.
    pub(crate) fn definition_of(&self, kind: &Kind) -> Option<&Arc<Object>> {
        kind.custom.as_ref()?;
        self.store.get(DEFINITIONS, &Key::new("", &format!("{}.{}", kind.resource, kind.group)))
    }
}

/// The status of a definition whose names were looked at.
fn set_status(definition: &mut Obj, taken: bool, time: &str) {
    let names = path::at(definition, &["spec", "names"]).cloned().unwrap_or_default();
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default();
    let versions = path::list(definition, &["spec", "versions"]).iter();
    let stored: Vec<Value> = versions
        .filter(|v| v.get("storage") == Some(&Value::Bool(true)))
        .filter_map(|v| v.get("name").cloned())
        .collect();
    if taken {
        let message = format!("\"{kind}\" is already in use");
        set_condition(definition, "NamesAccepted", false, "KindConflict", &message, time);
        set_condition(definition, "Established", false, "NotAccepted", "not all names are accepted", time);
    } else {
        set_condition(definition, "NamesAccepted", true, "NoConflicts", "no conflicts found", time);
        set_condition(
            definition,
            "Established",
            true,
            "InitialNamesAccepted",
            "the initial names have been accepted",
            time,
        );
    }
    let status = path::map_mut(definition, &["status"]);
    status.insert("acceptedNames".into(), if taken { json!({ "kind": "", "plural": "" }) } else { names });
    let mut list = path::list(status, &["storedVersions"]).to_vec();
    list.extend(stored.into_iter().filter(|v| !path::list(status, &["storedVersions"]).contains(v)));
    status.insert("storedVersions".into(), list.into());
}

/// Sets a condition; its time stays while its status does.
fn set_condition(definition: &mut Obj, name: &str, holds: bool, reason: &str, message: &str, time: &str) {
    let status = if holds { "True" } else { "False" };
    let conditions = path::map_mut(definition, &["status"]).entry("conditions").or_insert_with(|| json!([]));
    let Value::Array(list) = conditions else { return };
    let fresh = json!({
        "type": name, "status": status, "lastTransitionTime": time, "reason": reason, "message": message,
    });
    match list.iter_mut().find(|c| c["type"] == name) {
        Some(present) if present["status"] == status => {}
        Some(present) => *present = fresh,
        None => list.push(fresh),
    }
}
