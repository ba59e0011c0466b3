//! Never more live pods than are wanted, plus what faults explain.
//!
//! When a controller has made a pod, there are no more live pods that the set owns and selects than its sync wanted, but for those that it could not know of. It
//! cannot know of a pod that became the set's after the version to which its cache of pods had come when the sync began, unless it was told
//! so: by the answer to a call of its own, or because the same sync did it. That leaves what a user gave to the set, what another controller did
//! (one before it, or one without an election beside it), and what its own calls did whose answers were lost, or that were sent later than one that is
//! long under way.

use std::rc::Rc;

use super::known::SyncView;
use super::objects::{Pod, Set};
use super::{Changed, Check, Violation};
use crate::world::Exchange;

const RULE: &str = "never more live pods than wanted, plus what faults explain";

impl Check {
    pub(crate) fn check_creation(
        &self,
        exchange: &Exchange,
        change: &Changed<Pod>,
        sync: &Rc<SyncView>,
        set: &Set,
    ) -> Result<(), Violation> {
        let uid = set.metadata.uid.as_str();
        let fits = change.before.is_none() && change.after.as_ref().is_some_and(|pod| pod.is_live_of(uid));
        if !fits || set.metadata.is_deleting() {
            let what = format_args!("{:?} for {}: {change:?}", exchange.request, sync.key);
            return Err(Violation::new("a controller makes pods for sets that it knows", what));
        }
        let live: Vec<(&str, &Rc<Pod>)> = self.pods.all().filter(|(_, pod)| set.counts(pod)).collect();
        let wanted = set.spec.replicas;
        if live.len() <= wanted {
            return Ok(());
        }
        let unknowable = |(key, pod): &&(&str, &Rc<Pod>)| {
            let since = self
                .pods
                .holds_since(key, |state| state.metadata.uid == pod.metadata.uid && state.metadata.set() == Some(uid));
            // The pod just made is noted after it is judged: it is of this sync.
            let by = self.known.given.get(&pod.metadata.uid);
            since.is_some_and(|since| since > sync.pods)
                && **key != change.key
                && !self.known.must_know(by, exchange, sync)
        };
        let explained = live.iter().filter(unknowable).count();
        if live.len() <= wanted + explained {
            return Ok(());
        }
        let names: Vec<&str> = live.iter().map(|(key, _)| *key).collect();
        let what = format_args!(
            "{:?} made {} for {}, which wants {wanted}: {names:?} live, {explained} of them unknown to its sync at {} and {}",
            exchange.client, change.key, sync.key, sync.pods, sync.sets
        );
        Err(Violation::new(RULE, what))
    }
}
