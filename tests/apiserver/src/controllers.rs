//! The two controllers without which deletion would not be deletion, the garbage collector
//! (`pkg/controller/garbagecollector`) and the namespace controller (`pkg/controller/namespace/deletion`), and the one without which
//! quotas would not count ([`crate::quota`]).
//!
//! They look again at what a write may have concerned; what they find they do through the same
//! paths a client would use. Work is queued by uid and done by [`ApiServer::handle_timeout`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::delete::DeleteOptions;
use crate::json;
use crate::kind::{DEFINITIONS, EVENTS, NAMESPACES, QUOTAS};
use crate::object::build;
use crate::quota;
use crate::server::ApiServer;
use crate::store::{Key, Obj, Object};
use crate::time::Now;

/// How many objects are looked at in one call.
const BATCH: usize = 1000;

/// What is to be looked at again.
#[derive(Debug, Default)]
pub(crate) struct Controllers {
    /// By when they are due.
    queue: VecDeque<(Duration, Arc<str>)>,
}

impl Controllers {
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.queue.front().map(|(due, _)| *due)
    }

    pub(crate) fn push(&mut self, due: Duration, uid: &Arc<str>) {
        if self.queue.back().is_none_or(|(_, last)| last != uid) {
            self.queue.push_back((due, uid.clone()));
        }
    }
}

impl ApiServer {
    /// To be called after an object was written.
    pub(crate) fn after_write(&mut self, now: Now, table: usize, object: &Arc<Object>) {
        self.wake_table(table);
        if table == DEFINITIONS {
            self.define(now, object);
        }
        self.look_at_quotas(now, table, object, false);
        if !self.has_controllers() {
            return;
        }
        if object.deleting || !object.owners.is_empty() {
            let due = now.monotonic + self.config.controllers_delay;
            self.controllers.push(due, &object.uid);
        }
    }

    /// To be called after an object was removed.
    pub(crate) fn after_remove(&mut self, now: Now, table: usize, object: &Arc<Object>) {
        self.wake_table(table);
        if table == DEFINITIONS {
            self.undefine(now, object);
        }
        self.look_at_quotas(now, table, object, true);
        if let Some(definition) = self.definition_of(&self.kinds.stored(table)).filter(|d| d.deleting) {
            let uid = definition.uid.clone();
            self.controllers.push(now.monotonic, &uid);
        }
        if !self.has_controllers() {
            return;
        }
        let due = now.monotonic + self.config.controllers_delay;
        for (dependent_table, key) in self.store.dependents(&object.uid) {
            if let Some(dependent) = self.store.get(dependent_table, &key) {
                let uid = dependent.uid.clone();
                self.controllers.push(due, &uid);
            }
        }
        // An owner may wait for it, and so may its namespace.
        for owner in &object.owners {
            self.controllers.push(due, owner);
        }
        let namespace = Key::new("", &object.key.namespace);
        if let Some(namespace) = self.store.get(NAMESPACES, &namespace)
            && namespace.fields.first().is_some_and(|phase| &**phase == "Terminating")
        {
            let uid = namespace.uid.clone();
            self.controllers.push(due, &uid);
        }
    }

    /// To be called after an object was changed: an owner that ends and that it no longer keeps from going may have waited for that
    /// (`addUnblockedOwnersToDeleteQueue`).
    pub(crate) fn after_release(&mut self, now: Now, before: &Object, after: &Object) {
        if !self.has_controllers() {
            return;
        }
        for uid in &before.owners {
            let owner = self.store.by_uid(uid).and_then(|(table, key)| self.store.get(*table, key));
            // Few owners end, and only then the objects have to be read.
            if owner.is_some_and(|owner| owner.deleting) && blocks(before, uid) && !blocks(after, uid) {
                self.controllers.push(now.monotonic + self.config.controllers_delay, uid);
            }
        }
    }

    fn look_at_quotas(&mut self, now: Now, table: usize, object: &Arc<Object>, gone: bool) {
        if self.config.quota_controller {
            for quota in quota::concerned(self, table, object, gone) {
                self.controllers.push(now.monotonic + self.config.controllers_delay, &quota.uid);
            }
        }
    }

    fn has_controllers(&self) -> bool {
        self.config.garbage_collector || self.config.namespace_controller
    }

    pub(crate) fn run_controllers(&mut self, now: Now) {
        for _ in 0..BATCH {
            let queue = &mut self.controllers.queue;
            let Some((_, uid)) = queue.pop_front_if(|(due, _)| *due <= now.monotonic) else {
                return;
            };
            match self.store.by_uid(&uid).cloned() {
                Some((DEFINITIONS, key)) => self.end_definition(now, &key),
                Some((NAMESPACES, key)) if self.config.namespace_controller => {
                    self.end_namespace(now, &key);
                }
                Some((NAMESPACES, _)) | None => {}
                Some((table, key)) => {
                    if table == QUOTAS && self.config.quota_controller {
                        quota::count(self, now, &key);
                    }
                    if self.config.garbage_collector {
                        self.collect(now, table, &key);
                    }
                }
            }
        }
    }

    /// The garbage collector's look at one object (`attemptToDeleteItem`, `attemptToOrphan`).
    fn collect(&mut self, now: Now, table: usize, key: &Key) {
        let Some(object) = self.store.get(table, key).cloned() else {
            return;
        };
        if !object.deleting {
            self.collect_dependent(now, table, key, &object);
            return;
        }
        let value = object.value();
        let finalizers = json::list(&value, &["metadata", "finalizers"]);
        if finalizers.iter().any(|f| f == "orphan") {
            let dependents = self.store.dependents(&object.uid);
            if dependents.is_empty() {
                self.drop_finalizer(now, table, key, "orphan");
                return;
            }
            for (t, k) in dependents {
                self.drop_owner(now, t, &k, &object.uid);
            }
        } else if finalizers.iter().any(|f| f == "foregroundDeletion") {
            let dependents = self.store.dependents(&object.uid);
            let blocked = dependents.iter().any(|(t, k)| self.store.get(*t, k).is_some_and(|d| blocks(d, &object.uid)));
            for (t, k) in dependents {
                self.delete_dependent(now, t, &k, &object.uid);
            }
            // With the last dependent gone it comes here again.
            if !blocked {
                self.drop_finalizer(now, table, key, "foregroundDeletion");
            }
        }
    }

    /// An object goes when all its owners are gone; while one is left, it only forgets the others.
    fn collect_dependent(&mut self, now: Now, table: usize, key: &Key, object: &Object) {
        let gone: Vec<&Arc<str>> = object.owners.iter().filter(|uid| self.store.by_uid(uid).is_none()).collect();
        if gone.is_empty() {
            return;
        }
        if gone.len() == object.owners.len() {
            let kind = self.kinds.stored(table);
            drop(self.delete_object(now, &kind, key, &DeleteOptions::background()));
            return;
        }
        for uid in gone {
            self.drop_owner(now, table, key, uid);
        }
    }

    /// Deletes a dependent of an owner that waits for it, unless it has another owner.
    fn delete_dependent(&mut self, now: Now, table: usize, key: &Key, owner: &Arc<str>) {
        let Some(dependent) = self.store.get(table, key).cloned() else {
            return;
        };
        if dependent.owners.iter().any(|uid| uid != owner && self.store.by_uid(uid).is_some()) {
            self.drop_owner(now, table, key, owner);
        } else if !dependent.deleting {
            // Only what has dependents itself needs to wait for them.
            let leaf = self.store.dependents(&dependent.uid).is_empty();
            let policy = if leaf { "Background" } else { "Foreground" };
            let options = DeleteOptions { policy: Some(policy.to_owned()), ..DeleteOptions::default() };
            let kind = self.kinds.stored(table);
            drop(self.delete_object(now, &kind, key, &options));
        }
    }

    /// Removes the reference to an owner, and looks at the owner again, which may have waited for that.
    fn drop_owner(&mut self, now: Now, table: usize, key: &Key, owner: &Arc<str>) {
        self.rewrite(now, table, key, |v| {
            let owners = json::meta_mut(v).get_mut("ownerReferences").and_then(Value::as_array_mut);
            if let Some(list) = owners {
                list.retain(|o| o.get("uid").and_then(Value::as_str) != Some(&**owner));
            }
        });
        self.controllers.push(now.monotonic + self.config.controllers_delay, owner);
    }

    fn drop_finalizer(&mut self, now: Now, table: usize, key: &Key, name: &str) {
        self.rewrite(now, table, key, |v| {
            let list = json::meta_mut(v).get_mut("finalizers").and_then(Value::as_array_mut);
            if let Some(list) = list {
                list.retain(|f| f != name);
            }
        });
    }

    /// Changes an object, and removes it if it waits for nothing any more.
    pub(crate) fn rewrite(&mut self, now: Now, table: usize, key: &Key, change: impl FnOnce(&mut Obj)) {
        let Some(old) = self.store.get(table, key).cloned() else {
            return;
        };
        let mut value = Obj::clone(&old.value());
        change(&mut value);
        let meta = json::meta_mut(&mut value);
        for list in ["finalizers", "ownerReferences"] {
            if meta.get(list).and_then(Value::as_array).is_some_and(Vec::is_empty) {
                meta.remove(list);
            }
        }
        let kind = self.kinds.stored(table);
        if build(&kind, &value, old.rv).json == old.json {
            return;
        }
        if crate::update::is_finished(&value, &kind) {
            self.remove(now, &kind, &old);
            return;
        }
        let sealed = self.seal(&kind, value);
        self.stats.writes += 1;
        let object = self.store.put(table, sealed);
        self.after_write(now, table, &object);
    }

    /// Deletes what is in a terminating namespace, and then the namespace.
    fn end_namespace(&mut self, now: Now, key: &Key) {
        let Some(namespace) = self.store.get(NAMESPACES, key).cloned() else {
            return;
        };
        if namespace.fields.first().is_none_or(|phase| &**phase != "Terminating") {
            return;
        }
        let mut left = 0;
        for kind in self.kinds.all_stored().into_iter().filter(|k| k.namespaced) {
            let table = kind.table;
            let objects = self.store.table(table).snapshot(&key.name, None, None).unwrap_or_default();
            for object in objects {
                let gone = !object.deleting
                    && self.delete_object(now, &kind, &object.key, &DeleteOptions::background()).is_ok_and(|d| d.gone);
                left += usize::from(!gone && table != EVENTS);
            }
        }
        if left == 0 {
            self.rewrite(now, NAMESPACES, key, |v| {
                let spec = json::map_mut(v, &["spec"]);
                if let Some(list) = spec.get_mut("finalizers").and_then(Value::as_array_mut) {
                    list.retain(|f| f != "kubernetes");
                }
                if json::list(spec, &["finalizers"]).is_empty() {
                    spec.remove("finalizers");
                }
            });
        }
    }
}

/// Whether a dependent keeps its owner from going.
fn blocks(dependent: &Object, owner: &str) -> bool {
    let value = dependent.value();
    json::list(&value, &["metadata", "ownerReferences"]).iter().any(|o| {
        o.get("uid").and_then(Value::as_str) == Some(owner) && o.get("blockOwnerDeletion") == Some(&Value::Bool(true))
    })
}
