//! A controller writes only what is its own to write.

use std::rc::Rc;

use sanskube::request::Method;
use serde_json::Value;

use super::known::SyncView;
use super::objects::{Pod, Set};
use super::{Changed, Changes, Check, Violation};
use crate::world::Exchange;

const RULE: &str = "a controller writes only what is its own";

impl Check {
    /// Judges what a request of a controller has done.
    pub(crate) fn check_writes(&self, exchange: &Exchange, changes: &Changes<'_>) -> Result<(), Violation> {
        let path = exchange.request.path.split('?').next().unwrap_or_default();
        let wrong = |what: &dyn std::fmt::Display| {
            Err(Violation::new(RULE, format_args!("{:?} of {:?}: {what}", exchange.request, exchange.client)))
        };
        let resource = path.split("/namespaces/").nth(1).and_then(|rest| rest.split('/').nth(1)).unwrap_or_default();
        let may_write = match exchange.request.method {
            Method::Get => changes.pods.is_empty() && changes.sets.is_empty(),
            Method::Post => ["pods", "events", "leases"].contains(&resource),
            Method::Delete => resource == "pods",
            Method::Patch => ["pods", "events"].contains(&resource),
            Method::Put => resource == "leases" || resource == "replicasets" && path.ends_with("/status"),
        };
        if !may_write {
            return wrong(&"it has no business there");
        }
        if resource == "pods" && !self.names_its_pod(exchange, path) {
            return wrong(&"it does not say which pod it means");
        }
        if changes.pods.is_empty() && changes.sets.is_empty() {
            return Ok(());
        }
        let sent = self.known.sent(exchange.client, exchange.call);
        let Some(sync) = sent.and_then(|sent| sent.sync.as_ref()) else {
            return wrong(&"no sync is under way that it could belong to");
        };
        let Some(set) = self.sets.at(&sync.key, sync.sets) else {
            return wrong(&format_args!("its sync of {} knew of no such set", sync.key));
        };
        let written = match exchange.request.method {
            Method::Post | Method::Delete => self.known.written_before(exchange.client, sync),
            _ => 0,
        };
        if written > sync.pods {
            let what = format_args!(
                "{:?} of {:?} for {}, whose last batch came to {written}, by a cache at {}",
                exchange.request, exchange.client, sync.key, sync.pods
            );
            return Err(Violation::new("no batch of pods is begun before the one before it is seen", what));
        }
        for change in &changes.sets {
            self.check_status(exchange, change, sync, set)?;
        }
        for change in &changes.pods {
            match exchange.request.method {
                Method::Post => self.check_creation(exchange, change, sync, set)?,
                Method::Delete => self.check_deletion(exchange, change, sync, set)?,
                _ => self.check_claim(exchange, change, sync, set)?,
            }
        }
        Ok(())
    }

    /// What is asked of a pod names its uid, and a deletion its version, too: a namesake, or one that has been given away, is not meant.
    fn names_its_pod(&self, exchange: &Exchange, path: &str) -> bool {
        let body: Value = serde_json::from_slice(&exchange.request.body).unwrap_or_default();
        let (uid, version) = match exchange.request.method {
            Method::Patch => (&body["metadata"]["uid"], None),
            Method::Delete => (&body["preconditions"]["uid"], Some(&body["preconditions"]["resourceVersion"])),
            _ => return true,
        };
        let key = path.split("/namespaces/").nth(1).unwrap_or_default().replacen("/pods/", "/", 1);
        let had = |pod: &Pod| {
            *uid == pod.metadata.uid && version.is_none_or(|version| *version == pod.metadata.resource_version)
        };
        self.pods.was(&key, had)
    }

    /// A claim changes the controller of a pod and nothing else: it adopts an orphan that the set selects, or releases one of its own that it does
    /// not, as the cache showed it. Before it adopts, it asks the server whether the set is still there, whatever the cache shows.
    fn check_claim(
        &self,
        exchange: &Exchange,
        change: &Changed<Pod>,
        sync: &Rc<SyncView>,
        set: &Set,
    ) -> Result<(), Violation> {
        let uid = set.metadata.uid.as_str();
        let known = self.pods.at(&change.key, sync.pods);
        let fits = match (&change.before, &change.after, known) {
            (Some(before), Some(after), Some(known)) => {
                let same = before.metadata.labels == after.metadata.labels
                    && before.metadata.finalizers == after.metadata.finalizers
                    && before.metadata.is_deleting() == after.metadata.is_deleting()
                    && before.metadata.owners_but(uid).eq(after.metadata.owners_but(uid))
                    && before.metadata.uid == known.metadata.uid;
                let adopts = before.metadata.is_orphan()
                    && after.metadata.set() == Some(uid)
                    && known.metadata.is_orphan()
                    && set.selects(known)
                    && !known.metadata.is_deleting();
                let asked = sync.asked.get().and_then(|version| self.sets.at(&sync.key, version));
                let lives = asked.is_some_and(|set| set.metadata.uid == uid && !set.metadata.is_deleting());
                let adopts = adopts && lives;
                let releases = before.metadata.set() == Some(uid)
                    && after.metadata.is_orphan()
                    && known.metadata.set() == Some(uid)
                    && !set.selects(known);
                same && (adopts || releases) && !set.metadata.is_deleting()
            }
            // The last finalizer or grace is none of its business.
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let what = format_args!("{:?}, by a cache that showed {known:?}: {change:?}", exchange.request);
        Err(Violation::new("a claim adopts orphans that are selected and releases what is not", what))
    }

    /// A status never claims a generation that its sync did not see, and changes nothing else.
    fn check_status(
        &self,
        exchange: &Exchange,
        change: &Changed<Set>,
        sync: &SyncView,
        set: &Set,
    ) -> Result<(), Violation> {
        let (Some(before), Some(after)) = (&change.before, &change.after) else {
            return Err(Violation::new(RULE, format_args!("{:?} has made or ended a set", exchange.request)));
        };
        let (old, new) = (&before.metadata, &after.metadata);
        let touched = old.uid != new.uid
            || old.generation != new.generation
            || old.labels != new.labels
            || old.finalizers != new.finalizers
            || before.spec.replicas != after.spec.replicas;
        let claimed = after.status.observed_generation;
        if !touched && claimed == set.metadata.generation && set.metadata.uid == new.uid && change.key == sync.key {
            return Ok(());
        }
        let what = format_args!(
            "{:?} claims generation {claimed} of {} by a cache that showed {} of {}; or touches more: {change:?}",
            exchange.request, change.key, set.metadata.generation, sync.key
        );
        Err(Violation::new("a status claims just the generation that its sync saw", what))
    }
}
