//! Never a deletion while short, and only of live pods.
//!
//! When a controller deletes a pod, there are more live pods that the set owns and selects than its sync wants, but for those that had gone without its knowledge: its cache
//! of pods showed them when the sync began, as the set's or as orphans that the sync then adopted, and neither was it told by the answer to a call
//! of its own nor did the same sync end them.

use std::rc::Rc;

use super::known::SyncView;
use super::objects::{Pod, Set};
use super::{Changed, Check, Violation};
use crate::world::Exchange;

impl Check {
    pub(crate) fn check_deletion(
        &self,
        exchange: &Exchange,
        change: &Changed<Pod>,
        sync: &Rc<SyncView>,
        set: &Set,
    ) -> Result<(), Violation> {
        let uid = set.metadata.uid.as_str();
        let Some(pod) = change.before.as_ref().filter(|pod| pod.metadata.set() == Some(uid)) else {
            let what = format_args!("{:?} for {}: {change:?}", exchange.request, sync.key);
            return Err(Violation::new("a controller deletes pods of its own set", what));
        };
        // One that has ended or is being deleted counts for nobody; it is deleted by who does not know that yet.
        if !pod.is_live() {
            let shown = self.pods.at(&change.key, sync.pods);
            if shown.is_some_and(|shown| shown.metadata.uid == pod.metadata.uid && shown.is_live()) {
                return Ok(());
            }
            let what = format_args!("{:?} for {}, by a cache that showed {shown:?}", exchange.request, sync.key);
            return Err(Violation::new("a controller deletes pods that are alive as it knows", what));
        }
        let wanted = set.spec.replicas;
        let live = self.pods.all().filter(|(_, pod)| set.counts(pod)).count() + usize::from(set.selects(pod));
        let gone = |(key, known): &(&str, &Rc<Pod>)| {
            let is = self.pods.now(key).is_some_and(|now| now.metadata.uid == known.metadata.uid && set.counts(now));
            known.is_live()
                && (known.metadata.set() == Some(uid) || sync.adopted.borrow().contains(&known.metadata.uid))
                && set.selects(known)
                && !is
                && known.metadata.uid != pod.metadata.uid
                && !self.known.must_know(self.known.taken.get(&known.metadata.uid), exchange, sync)
        };
        let explained = self.pods.all_at(sync.pods).filter(gone).count();
        if live + explained > wanted {
            return Ok(());
        }
        let what = format_args!(
            "{:?} deleted {} of {}, which wants {wanted} and had {live}, while {explained} more had gone since its sync began at {} and {}",
            exchange.client, change.key, sync.key, sync.pods, sync.sets
        );
        Err(Violation::new("never a deletion while short", what))
    }
}
