//! Faults: how each is brought about, and how it ends.

use std::time::Duration;

use sanskube::request::CallId;
use sanskube_apiserver::faults::{Failure, Rule};

use super::action::{Fault, Refusal, Requests, crash_kind};
use super::run::{Event, Going, Run, Undo};
use crate::client::ClientId;
use crate::member::Member;
use crate::world::Happening;

impl Run {
    /// Brings a fault about.
    pub(super) fn bring_about(&mut self, fault: Fault) {
        match fault {
            Fault::Collide { lasts } => {
                self.world.api_mut().faults_mut().set_name_collisions(true);
                self.undo_after(lasts, Undo::Collide);
            }
            Fault::Compact => self.world.compact(),
            Fault::Crash { who, calls, lose, down, behind } => {
                let Some(id) = self.manager(who) else { return };
                self.going.insert(id, Going { down, lose, behind });
                self.world.kill_after(id, calls.into());
            }
            Fault::Cut { who, line, within_frame } => {
                if let Some((id, call)) = self.line(who, line) {
                    self.world.cut(id, call, within_frame);
                }
            }
            Fault::CutOff { who, lasts } => {
                let Some(id) = self.participant(who) else { return };
                self.world.set_cut_off(id, true);
                self.undo_after(lasts, Undo::CutOff(id));
            }
            Fault::Expire { pods } => self.world.api_mut().expire_history(if pods { "pods" } else { "replicasets" }),
            Fault::Freeze { lasts } => {
                self.world.api_mut().faults_mut().freeze("pods", true);
                self.undo_after(lasts, Undo::Freeze);
            }
            Fault::Gap { who, lasts } => {
                let Some(id) = self.participant(who) else { return };
                self.world.set_cut_off(id, true);
                self.undo_after(lasts, Undo::Gap(id));
            }
            Fault::KubeletPause { lasts } => {
                self.world.pause_kubelet(true);
                self.undo_after(lasts, Undo::KubeletPause);
            }
            Fault::Lag { who, lasts } => {
                let Some(id) = self.participant(who) else { return };
                self.lag(id, 0);
                self.undo_after(lasts, Undo::Lag(id));
            }
            Fault::Refuse { what, how, after_effect, skip, times } => {
                self.world.api_mut().faults_mut().add_rule(rule(what, how, after_effect, skip, times));
            }
            Fault::ServerDown { lasts } => {
                self.world.take_server_down();
                self.undo_after(lasts, Undo::ServerDown);
            }
            Fault::Silence { who, line } => {
                if let Some((id, call)) = self.line(who, line) {
                    self.world.silence(id, call);
                }
            }
            Fault::Skew { who, seconds, lasts } => {
                let Some(id) = self.manager(who) else { return };
                self.world.set_wall_clock(id, i64::from(seconds) * 1_000_000_000);
                self.undo_after(lasts, Undo::Skew(id));
            }
            Fault::SlowHandler { lasts } => {
                self.stall(true);
                self.undo_after(lasts, Undo::SlowHandler);
            }
            Fault::SlowNetwork { longest, lasts } => {
                self.world.network_mut().set_delays(Duration::from_millis(1), longest);
                self.undo_after(lasts, Undo::SlowNetwork);
            }
            Fault::Stop { who, down, behind } => {
                let Some(id) = self.manager(who) else { return };
                self.going.insert(id, Going { down, lose: false, behind });
                self.world.stop(id);
            }
            Fault::Suspend { who, lasts } => {
                let Some(id) = self.participant(who) else { return };
                let until = self.world.now().instant + lasts;
                self.world.suspend(id, until);
            }
            Fault::TimeTravel { who, versions, lasts } => {
                let Some(id) = self.participant(who) else { return };
                self.world.cut_all(id);
                self.lag(id, versions.into());
                self.undo_after(lasts, Undo::Lag(id));
            }
        }
    }

    /// Ends a fault.
    pub(super) fn end(&mut self, undo: Undo) {
        match undo {
            Undo::Collide => self.world.api_mut().faults_mut().set_name_collisions(false),
            Undo::CutOff(id) => self.world.set_cut_off(id, false),
            Undo::Freeze => self.world.api_mut().faults_mut().freeze("pods", false),
            Undo::Gap(id) => {
                self.world.set_cut_off(id, false);
                for resource in ["pods", "replicasets"] {
                    self.world.api_mut().expire_history(resource);
                }
                self.world.cut_all(id);
            }
            Undo::KubeletPause => self.world.pause_kubelet(false),
            Undo::Lag(id) => self.world.api_mut().faults_mut().set_replica(&id.agent(), None),
            Undo::Namespace => {
                if !self.make_namespace() {
                    self.undo_after(Duration::from_millis(500), undo);
                }
            }
            Undo::Quota => self.end_quota(),
            Undo::ServerDown => self.world.bring_server_up(),
            Undo::Skew(id) => self.world.set_wall_clock(id, 0),
            Undo::SlowHandler => self.stall(false),
            Undo::SlowNetwork => {
                let longest = self.plan.setup.delay;
                self.world.network_mut().set_delays(Duration::from_millis(1), longest);
            }
            Undo::Start { behind, lasts } => {
                let id = self.start_manager();
                if behind > 0 {
                    self.lag(id, behind.into());
                    self.undo_after(lasts, Undo::Lag(id));
                    self.coverage.note("start on a stale replica", &self.world, Some(id));
                }
            }
        }
    }

    /// Ends all faults that last; what they have left behind stays.
    pub(super) fn heal(&mut self) {
        self.world.api_mut().faults_mut().clear_rules();
        let now = self.world.now().instant;
        for id in self.participants() {
            self.world.suspend(id, now);
            self.world.spare(id);
        }
        // Who is away comes back when it wants to, and meets no stale replica then.
        self.going.values_mut().for_each(|going| going.behind = 0);
        for event in self.agenda.values_mut() {
            if let Event::End(Undo::Start { behind, .. }) = event {
                *behind = 0;
            }
        }
        let is_over = |event: &Event| !matches!(event, Event::End(Undo::Namespace | Undo::Start { .. }));
        let over: Vec<_> = self.agenda.extract_if(.., |_, event| is_over(event)).collect();
        for (_, event) in over {
            if let Event::End(undo) = event {
                self.end(undo);
            }
        }
        self.end_finalizers();
    }

    /// Whom a fault strikes at once: one who takes part, all, or nobody, as no controller runs.
    pub(super) fn struck_by(&self, fault: &Fault) -> Vec<Option<ClientId>> {
        let one = |id: Option<ClientId>| id.into_iter().map(Some).collect();
        match *fault {
            // These strike later: see `note_strikes`.
            Fault::Crash { .. } | Fault::Refuse { .. } => Vec::new(),
            Fault::Cut { who, line, .. } | Fault::Silence { who, line } => one(self.line(who, line).map(|(id, _)| id)),
            Fault::CutOff { who, .. }
            | Fault::Gap { who, .. }
            | Fault::Lag { who, .. }
            | Fault::Suspend { who, .. }
            | Fault::TimeTravel { who, .. } => one(self.participant(who)),
            Fault::Skew { who, .. } | Fault::Stop { who, .. } => one(self.manager(who)),
            Fault::SlowHandler { .. } => one(self.observer),
            Fault::Collide { .. }
            | Fault::Compact
            | Fault::Expire { .. }
            | Fault::Freeze { .. }
            | Fault::KubeletPause { .. }
            | Fault::ServerDown { .. }
            | Fault::SlowNetwork { .. } => {
                let nobody = self.managers.is_empty().then_some(None);
                self.participants().into_iter().map(Some).chain(nobody).collect()
            }
        }
    }

    /// Notes what has struck in the last step of what was to strike later.
    pub(super) fn note_strikes(&mut self) {
        if let Some((failure, after_effect)) = self.world.api_mut().take_refusal()
            && let Happening::Served(client, _) = *self.world.last()
        {
            let how = match failure {
                Failure::Hangup => Refusal::Hangup,
                Failure::Status { code, .. } => Refusal::Status(code),
            };
            self.coverage.note(how.kind(after_effect), &self.world, Some(client));
        }
        for id in self.world.doomed() {
            let lose = self.going.get(id).is_some_and(|going| going.lose);
            self.coverage.note(crash_kind(lose), &self.world, Some(*id));
        }
    }

    /// Holds the replica of a controller at so many versions ago.
    fn lag(&mut self, id: ClientId, versions: u64) {
        let version = self.world.api().resource_version() - versions;
        self.world.api_mut().faults_mut().set_replica(&id.agent(), Some(version));
    }

    fn stall(&mut self, stalled: bool) {
        let Some(id) = self.observer else { return };
        self.world.change_machine(id, |member, _| {
            if let Member::Observer(observer) = member {
                observer.stalled = stalled;
            }
        });
    }

    /// A connection that there is now.
    fn line(&self, who: u8, line: u8) -> Option<(ClientId, CallId)> {
        let id = self.participant(who)?;
        let calls: Vec<CallId> = self.world.lines(id).map(|(call, _)| call).collect();
        Some((id, *calls.get(usize::from(line) % calls.len().max(1))?))
    }
}

fn rule(what: Requests, how: Refusal, after_effect: bool, skip: u8, times: u8) -> Rule {
    let (method, target) = match what {
        Requests::Creations => ("POST", "/pods"),
        Requests::Deletions => ("DELETE", "/pods/"),
        Requests::Leases => ("", "/leases"),
        Requests::Lists => ("GET", "?"),
        Requests::Patches => ("PATCH", "/pods/"),
        Requests::Statuses => ("PUT", "/status"),
    };
    let failure = match how {
        Refusal::Hangup => Failure::Hangup,
        Refusal::Status(code) => Failure::Status { code, retry_after: (code == 429).then_some(1) },
    };
    Rule {
        agent: "sanskube/".into(),
        method: method.into(),
        target: target.into(),
        skip: skip.into(),
        times: times.into(),
        after_effect,
        failure,
    }
}
