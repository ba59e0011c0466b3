//! A run: a plan carried out, under all checks.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use sanskube::delta::{InOrderFifo, Queue};
use sanskube::election;
use sanskube::informer::Informer;
use sanskube::limits::Limits;
use sanskube::manager::{ClientLimits, Config, Manager};
use sanskube::object::Resource;
use sanskube::reflector;
use sanskube::store::Store;
use sanskube::time::Instant;
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};

use super::action::Action;
use super::coverage::Coverage;
use super::plan::{Plan, Setup};
use super::trace::Trace;
use crate::check::{Check, Violation, why_restless, why_unsettled};
use crate::client::ClientId;
use crate::member::{Member, Observer};
use crate::network::Network;
use crate::setting::{START, new_world};
use crate::world::World;

/// How long the cluster may take until it is as it should be, once nothing goes wrong any more. The longest that anything waits by itself is a half-open
/// watch (its own time and the grace), a set whose pods were refused (5 min) and a key that has failed (as long again as it failed before).
const TO_SETTLE: Duration = Duration::from_secs(20 * 60);
/// How long it is then watched to stay so.
const TO_STAY: Duration = Duration::from_secs(90);
/// More steps than any run takes.
const STEPS: u64 = 200_000;

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What was wrong, if anything was.
    pub violation: Option<Violation>,
    /// How many steps it took.
    pub steps: u64,
    /// Stands for all that happened.
    pub digest: u64,
    /// Which faults met what.
    pub coverage: Coverage,
    /// What happened, if that was asked for.
    pub trace: Trace,
}

/// Something that ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Undo {
    Collide,
    CutOff(ClientId),
    Freeze,
    Gap(ClientId),
    KubeletPause,
    Lag(ClientId),
    Namespace,
    Quota,
    ServerDown,
    Skew(ClientId),
    SlowHandler,
    SlowNetwork,
    /// That nobody is there: another is started, on a replica that is so many versions behind for a while.
    Start {
        behind: u8,
        lasts: Duration,
    },
}

/// How a manager goes, and the next one comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Going {
    /// For how long nobody is there.
    pub(super) down: Duration,
    /// Whether its requests are lost with it.
    pub(super) lose: bool,
    /// How many versions the replica is behind that the next one meets.
    pub(super) behind: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Act(Action),
    End(Undo),
}

/// A run that is under way.
#[derive(Debug)]
pub struct Run {
    pub(super) plan: Plan,
    /// The world.
    pub world: World<Member>,
    /// The checks.
    pub check: Check,
    pub(super) observer: Option<ClientId>,
    pub(super) managers: Vec<ClientId>,
    /// Those that are about to go.
    pub(super) going: BTreeMap<ClientId, Going>,
    pub(super) agenda: BTreeMap<(Instant, u64), Event>,
    noted: u64,
    started: u64,
    steps: u64,
    pub(super) coverage: Coverage,
    trace: Option<Trace>,
    broken: Option<Violation>,
}

/// Carries out a plan. What was wrong first ends it; a panic is wrong, too.
pub fn run(plan: &Plan, traced: bool) -> Outcome {
    let mut run = match catch_unwind(|| Run::new(plan, traced)) {
        Ok(run) => run,
        // Nobody has come to do anything.
        Err(panic) => return Outcome { violation: Some(Violation::of_panic(&*panic)), ..Outcome::default() },
    };
    let result = catch_unwind(AssertUnwindSafe(|| run.carry_out()));
    let violation = match result {
        Ok(result) => result.err(),
        Err(panic) => Some(Violation::of_panic(&*panic)),
    };
    Outcome {
        violation,
        steps: run.steps,
        digest: run.world.digest(),
        coverage: run.coverage,
        trace: run.trace.unwrap_or_default(),
    }
}

impl Run {
    /// A run in which nothing has happened yet.
    pub fn new(plan: &Plan, traced: bool) -> Self {
        let Setup { delay, history, pace, slowly, .. } = plan.setup;
        let config = sanskube_apiserver::Config {
            seed: plan.seed,
            history,
            managed_fields: false,
            controllers_delay: pace,
            ..Default::default()
        };
        let network = Network::new(plan.seed, Duration::from_millis(1), delay);
        let mut world = new_world(config, network);
        let terminate_after = pace * 3;
        world.set_kubelet(Kubelet::new(KubeletConfig {
            nodes: 1,
            bind_after: pace,
            run_after: pace,
            ready_after: if slowly { pace } else { Duration::ZERO },
            terminate_after,
        }));
        let mut run = Self {
            plan: plan.clone(),
            world,
            check: Check::new(limits(&plan.setup)),
            observer: None,
            managers: Vec::new(),
            going: BTreeMap::new(),
            agenda: BTreeMap::new(),
            noted: 0,
            started: 0,
            steps: 0,
            coverage: Coverage::default(),
            trace: traced.then(Trace::default),
            broken: None,
        };
        run.make_namespace();
        for (at, action) in &plan.actions {
            run.note(START.instant + *at, Event::Act(*action));
        }
        for _ in 0..plan.setup.managers {
            run.start_manager();
        }
        if plan.setup.observer {
            run.start_observer();
        }
        run
    }

    fn carry_out(&mut self) -> Result<(), Violation> {
        let end = self.agenda.last_key_value().map_or(START.instant, |((at, _), _)| *at);
        self.run_until(end)?;
        self.say(|| "--- nothing goes wrong any more".to_owned());
        self.heal();
        self.check.read(&self.world);
        self.settle()?;
        self.stay()
    }

    /// Lets everything happen up to a moment.
    ///
    /// # Errors
    /// Something does not hold.
    pub fn run_until(&mut self, end: Instant) -> Result<(), Violation> {
        loop {
            let due = self.agenda.first_key_value().map(|((at, _), _)| *at).filter(|at| *at <= end);
            while self.world.step(due.unwrap_or(end)) {
                self.after_step()?;
                if self.restart_gone() {
                    break;
                }
            }
            // Some go without a step.
            self.restart_gone();
            let now = self.world.now().instant;
            let next = self.agenda.first_entry().filter(|entry| entry.key().0 <= now);
            match next.map(|entry| entry.remove()) {
                Some(event) => self.do_event(event)?,
                None if now >= end => return Ok(()),
                None => {}
            }
        }
    }

    fn do_event(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Act(action) => {
                self.say(|| format!("*** {action:?}"));
                match action {
                    Action::User(user) => self.act_as_user(user),
                    Action::Fault(fault) => {
                        for who in self.struck_by(&fault) {
                            self.coverage.note(fault.kind(), &self.world, who);
                        }
                        self.bring_about(fault);
                    }
                }
            }
            Event::End(undo) => {
                self.say(|| format!("*** end of {undo:?}"));
                self.end(undo);
            }
        }
        self.check.read(&self.world);
        self.broken.take().map_or(Ok(()), Err)
    }

    fn after_step(&mut self) -> Result<(), Violation> {
        self.steps += 1;
        if let Some(trace) = &mut self.trace {
            trace.note(&self.world);
        }
        self.note_strikes();
        if self.steps > STEPS {
            return Err(Violation::new("a run ends", format_args!("{STEPS} steps were not enough")));
        }
        self.check.after_step(&mut self.world)
    }

    fn why_unsettled(&self) -> Option<String> {
        why_unsettled(&self.check, &self.world).or_else(|| why_restless(&self.world)).or_else(|| self.why_incomplete())
    }

    fn settle(&mut self) -> Result<(), Violation> {
        let end = self.world.now().instant + TO_SETTLE;
        while let Some(why) = self.why_unsettled() {
            let now = self.world.now().instant;
            if now >= end {
                return Err(Violation::new("the cluster becomes as it should be", why));
            }
            self.run_until(now + Duration::from_secs(1))?;
        }
        Ok(())
    }

    /// Nothing is written any more, and all stays as it is.
    fn stay(&mut self) -> Result<(), Violation> {
        self.say(|| "--- settled".to_owned());
        // What tells of it may come a little later.
        self.run_until(self.world.now().instant + Duration::from_secs(30))?;
        let (written, version) = (self.check.known.writes(), self.world.api().resource_version());
        self.run_until(self.world.now().instant + TO_STAY)?;
        let again = self.check.known.writes() - written;
        let why =
            self.why_unsettled().or_else(|| (again > 0).then(|| format!("{again} writes after version {version}")));
        why.map_or(Ok(()), |why| Err(Violation::new("the cluster stays as it is, without a write", why)))
    }

    fn why_incomplete(&self) -> Option<String> {
        let running = self.managers.iter().filter(|id| !self.world.is_stopped(**id)).count();
        let wanted = usize::from(self.plan.setup.managers);
        (running < wanted).then(|| format!("{running} of {wanted} managers run"))
    }

    /// Starts those anew, after a while, that have gone. Whether there were any.
    fn restart_gone(&mut self) -> bool {
        let gone: Vec<ClientId> = self.managers.iter().copied().filter(|id| self.world.is_stopped(*id)).collect();
        for id in &gone {
            self.managers.retain(|other| other != id);
            let unforeseen = Going { down: Duration::from_secs(1), lose: false, behind: 0 };
            let Going { down, lose, behind } = self.going.remove(id).unwrap_or(unforeseen);
            if lose {
                self.world.lose_requests(*id);
            }
            self.world.kill(*id);
            self.say(|| format!("*** {id:?} is gone"));
            self.undo_after(down, Undo::Start { behind, lasts: down });
        }
        !gone.is_empty()
    }

    pub(super) fn undo_after(&mut self, duration: Duration, undo: Undo) {
        self.note(self.world.now().instant + duration, Event::End(undo));
    }

    fn note(&mut self, at: Instant, event: Event) {
        self.noted += 1;
        self.agenda.insert((at, self.noted), event);
    }

    /// Adds a line to the trace, if there is one.
    pub(super) fn say(&mut self, what: impl FnOnce() -> String) {
        let now = self.world.now().instant;
        if let Some(trace) = &mut self.trace {
            trace.say(now, &what());
        }
    }

    /// A manager that runs.
    pub(super) fn manager(&self, who: u8) -> Option<ClientId> {
        self.managers.get(usize::from(who) % self.managers.len().max(1)).copied()
    }

    /// All that run.
    pub(super) fn participants(&self) -> Vec<ClientId> {
        self.managers.iter().chain(&self.observer).copied().collect()
    }

    /// One that runs.
    pub(super) fn participant(&self, who: u8) -> Option<ClientId> {
        let all = self.participants();
        all.get(usize::from(who) % all.len().max(1)).copied()
    }

    pub(super) fn start_manager(&mut self) -> ClientId {
        self.started += 1;
        let Setup { election, watch_list, .. } = self.plan.setup;
        let seed = self.plan.seed.wrapping_mul(1000).wrapping_add(self.started);
        let election = election.then(|| election::Config {
            seed,
            ..election::Config::new("kube-system", "sanskube", format!("m{}", self.started))
        });
        // Several that do not elect a leader, one of which is behind, contradict each other as fast as they may: as fast as in
        // kube-controller-manager.
        let client_limits = self.plan.setup.lacks_election().then(ClientLimits::default);
        let limits = limits(&self.plan.setup);
        let config = Config { client_limits, election, watch_list, seed, limits, ..Config::default() };
        let id = self.start(Member::Manager(Box::new(Manager::new(&config))));
        self.managers.push(id);
        id
    }

    fn start_observer(&mut self) {
        let config = reflector::Config {
            watch_list: !self.plan.setup.watch_list,
            limits: limits(&self.plan.setup),
            seed: self.plan.seed.wrapping_mul(3),
            ..reflector::Config::new(Resource::PODS)
        };
        let queue = Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks());
        let informer = Informer::with_queue(config, queue, Store::new());
        self.observer = Some(self.start(Member::Observer(Box::new(Observer::new(informer)))));
    }

    /// Starts a machine, which is served by a replica of its own.
    fn start(&mut self, member: Member) -> ClientId {
        let id = self.world.start(member);
        self.world.api_mut().faults_mut().route(&id.agent(), &id.agent());
        if let Err(violation) = self.check.check_client(id, &mut self.world) {
            self.broken.get_or_insert(violation);
        }
        self.say(|| format!("*** {id:?} is started"));
        id
    }
}

/// The bounds of managers and observers.
fn limits(setup: &Setup) -> Limits {
    let limits = Limits { watch_timeout: setup.watch, ..Limits::default() };
    if !setup.tight {
        return limits;
    }
    Limits {
        calls_in_flight: 2,
        concurrent_syncs: 1,
        list_page: 2,
        burst_replicas: 2,
        handler_backlog: 2,
        events_waiting: 2,
        events_remembered: 2,
        ..limits
    }
}
