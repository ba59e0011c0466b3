//! What the outcome of a call means for a candidate.

use alloc::string::ToString;
use core::cmp::Ordering;

use super::lease::Lease;
use super::{Config, Elector, Fallback, Standing, Step};
use crate::object::Resource;
use crate::recorder::{Event, EventType, ObjectReference};
use crate::request::Outcome;
use crate::resource_version::ResourceVersion;
use crate::time::{Instant, Now};
use crate::uid::Uid;
use crate::wire::Status;

impl Elector {
    pub(super) fn handle_outcome(&mut self, now: Now, step: Step, sent: Instant, outcome: Outcome) {
        let answer = match &outcome {
            Outcome::Response(answer) if (200..300).contains(&answer.head.status) => Lease::parse(&answer.body).ok(),
            _ => None,
        };
        let missing = matches!(&outcome, Outcome::Response(answer) if answer.head.status == 404);
        match (step, answer) {
            (Step::Release, _) => log::info!("gave the lease {} back", self.config.name),
            _ if self.standing == Standing::Lost => {}
            (Step::Read, Some(lease)) => {
                self.observe(lease, now.instant);
                if self.standing != Standing::Lost {
                    self.consider(now.instant);
                }
            }
            (Step::Read, None) if missing => {
                self.observed = None;
                self.next = Some((now.instant, Step::Create));
            }
            (Step::Claim { .. } | Step::Create, Some(lease)) => {
                self.observe(lease, now.instant);
                if self.standing != Standing::Lost {
                    self.handle_success(now, sent);
                }
            }
            (Step::Claim { then: Fallback::Read }, None) => {
                log::debug!("could not renew the lease {}: {outcome:?}; reading it", self.config.name);
                self.next = Some((now.instant, Step::Read));
            }
            (_, None) => {
                self.complain(&outcome);
                self.wait(now.instant, Step::Read);
            }
        }
    }

    /// Says once what is wrong, and again only after something else was.
    fn complain(&mut self, outcome: &Outcome) {
        let problem = match outcome {
            Outcome::Failed(failure) => failure.to_string(),
            Outcome::Response(answer) => Status::of_answer(answer.head.status, &answer.body).to_string(),
        };
        let lease = &self.config.name;
        if self.complaint.as_ref() == Some(&problem) {
            log::debug!("could not read or claim the lease {lease}: {problem}");
        } else {
            log::warn!("could not read or claim the lease {lease}: {problem}");
            self.complaint = Some(problem);
        }
    }

    /// Looks at a lease that was just read.
    fn consider(&mut self, now: Instant) {
        let Some((lease, since)) = &self.observed else { return };
        let (holder, held_until) = (lease.holder(), *since + lease.duration());
        let others = !holder.is_empty() && holder != self.config.identity;
        if others && matches!(self.standing, Standing::Leading { .. }) {
            log::error!("the lease {} was taken by {holder}", self.config.name);
            self.lose();
        } else if others && held_until > now {
            self.wait(now, Step::Read);
        } else {
            self.next = Some((now, Step::Claim { then: Fallback::Wait }));
        }
    }

    /// The lease is ours as of when the claim was sent.
    fn handle_success(&mut self, now: Now, sent: Instant) {
        let until = sent + self.config.timing.renew_deadline();
        if self.standing == Standing::Waiting {
            if until <= now.instant {
                // Too late to be of use. The next try finds its own name there.
                return self.wait(now.instant, Step::Read);
            }
            log::info!("{} leads: it holds the lease {}", self.config.identity, self.config.name);
            self.elected = self.observed.as_ref().map(|(lease, _)| elected(&self.config, lease));
        }
        self.standing = Standing::Leading { until };
        self.wait(now.instant, Step::Claim { then: Fallback::Read });
    }

    fn observe(&mut self, lease: Lease, now: Instant) {
        let before = self.observed.take();
        let (holder, known) = (lease.holder(), before.as_ref().map_or("", |(lease, _)| lease.holder()));
        if holder != known && !holder.is_empty() && holder != self.config.identity {
            log::info!("{holder} leads: it holds the lease {}", self.config.name);
        }
        self.complaint = None;
        let version = ResourceVersion::new(lease.resource_version());
        let went_back = version.compare(&self.version).is_ok_and(Ordering::is_lt);
        let newest = core::mem::replace(&mut self.version, version);
        if went_back && matches!(self.standing, Standing::Leading { .. }) {
            let (name, version) = (&self.config.name, &self.version);
            log::error!(
                "the lease {name} went back from version {newest} to {version}: the server is in an earlier state"
            );
            self.lose();
        }
        let since = before.filter(|(before, _)| before.is_same_claim(&lease)).map_or(now, |(_, since)| since);
        self.observed = Some((lease, since));
    }
}

/// Mirrors client-go `resourcelock/leaselock.go`, `RecordEvent`.
fn elected(config: &Config, lease: &Lease) -> Event {
    Event {
        component: config.identity.clone().into(),
        object: ObjectReference {
            kind: Resource::LEASES.kind,
            namespace: config.namespace.clone(),
            name: config.name.clone(),
            uid: Uid::new(lease.uid()),
            api_version: Resource::LEASES.api_version().into_owned(),
            resource_version: lease.resource_version().into(),
        },
        event_type: EventType::Normal,
        reason: "LeaderElection".into(),
        message: alloc::format!("{} became leader", config.identity),
    }
}
