//! A scene: a small world of which it is said what happens next.

use std::collections::BTreeSet;
use std::time::Duration;

use sanskube::limits::Limits;
use sanskube::machine::{Answer, Part};
use sanskube::manager::{Config, Manager};
use sanskube::request::{CallId, Method, Request};
use sanskube::time::Instant;

use super::Bounds;
use super::choice::{Choice, Fault, User};
use crate::check::{Check, Violation, why_unsettled};
use crate::client::{Client, ClientId};
use crate::member::Member;
use crate::network::Network;
use crate::setting::{self, JSON, MERGE, new_world};
use crate::world::{Delivery, World};

/// Timers that run longer are no choice: those of watches that say nothing for minutes.
const HORIZON: Duration = Duration::from_secs(10);
/// How late the garbage collector is: later than the controller's timers mostly are.
const GARBAGE_DELAY: Duration = Duration::from_secs(5);
const NAMES: [&str; 2] = ["a", "b"];
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A small world, and what may still be done to it.
#[derive(Debug)]
pub struct Scene {
    pub(super) world: World<Member>,
    pub(super) check: Check,
    bounds: Bounds,
    pub(super) users: u8,
    /// What went wrong so far.
    pub(super) faults: Vec<&'static str>,
    /// The version up to which the history of pods and that of sets have expired.
    pub(super) expired: [u64; 2],
    started: u64,
}

impl Scene {
    /// A world whose sets have just been made, and whose controller has just read of them.
    ///
    /// # Errors
    /// Something does not hold already.
    pub fn new(bounds: &Bounds) -> Result<Self, Violation> {
        let config = sanskube_apiserver::Config {
            managed_fields: false,
            controllers_delay: GARBAGE_DELAY,
            names_in_order: true,
            ..Default::default()
        };
        let network = Network::new(0, Duration::ZERO, Duration::ZERO);
        let mut scene = Self {
            world: new_world(config, network),
            check: Check::new(limits(bounds.syncs)),
            bounds: bounds.clone(),
            users: bounds.users,
            faults: Vec::new(),
            expired: [0; 2],
            started: 0,
        };
        for (name, replicas) in NAMES.iter().zip(&bounds.sets) {
            scene.create_set(name, *replicas);
        }
        scene.check.read(&scene.world);
        scene.start_manager()?;
        scene.do_plain()?;
        Ok(scene)
    }

    /// All that may happen next. What happens without users and faults comes first, and of that what would come first if nothing were slow.
    pub fn choices(&self) -> Vec<Choice> {
        let (mut answers, mut requests) = (BTreeSet::new(), BTreeSet::new());
        for delivery in self.world.under_way.values() {
            match delivery {
                Delivery::Answer(client, answer) => answers.insert((*client, answer.call)),
                Delivery::Request(client, call) => requests.insert((*client, call.id)),
            };
        }
        let (news, ends): (Vec<_>, Vec<_>) = answers.into_iter().partition(|of| self.is_watch(*of));
        let answers = ends.into_iter().chain(news).map(|(client, call)| Choice::Answer(client, call));
        let mut choices: Vec<Choice> = answers.collect();
        choices.extend(requests.iter().map(|(client, call)| Choice::Serve(*client, *call)));
        if self.server_deadline().is_some() {
            choices.push(Choice::Server);
        }
        choices.extend(self.timers().map(Choice::Wake));
        if self.faults.len() < usize::from(self.bounds.faults) {
            self.add_faults(&mut choices);
        }
        if self.users > 0 {
            self.add_users(&mut choices);
        }
        choices
    }

    /// Lets something happen, and says how many timers ran out. How many it is if it has happened before, so that this need not be found out again,
    /// may be told as `rounds`.
    ///
    /// # Errors
    /// Something does not hold.
    pub fn take(&mut self, choice: &Choice, rounds: Option<u16>) -> Result<u16, Violation> {
        let mut ran_out = 0;
        // Two syncs never begin at the same time.
        self.world.advance_to(self.world.now().instant + Duration::from_micros(1));
        match choice {
            Choice::Answer(client, call) => self.answer((*client, *call))?,
            Choice::Serve(client, call) => {
                let is = |delivery: &Delivery| matches!(delivery, Delivery::Request(of, sent) if (*of, sent.id) == (*client, *call));
                self.arrive(is)?;
            }
            Choice::Server => {
                if let Some(at) = self.server_deadline() {
                    // All that it has to do is one step.
                    self.world.advance_to(at + GARBAGE_DELAY / 2);
                }
                self.world.let_server_act();
                self.check.after_step(&mut self.world)?;
            }
            Choice::Wake(client) => ran_out = self.wake(*client, rounds)?,
            Choice::User(user) => {
                self.users -= 1;
                self.do_user(user);
                self.check.read(&self.world);
            }
            Choice::Fault(fault) => self.do_fault(*fault)?,
        }
        self.do_plain()?;
        Ok(ran_out)
    }

    /// Why the cluster is not as it should be, when nothing happens any more.
    pub fn why_unsettled(&self) -> Option<String> {
        why_unsettled(&self.check, &self.world)
    }

    /// When the garbage collector acts, if there is something to collect.
    pub(super) fn server_deadline(&self) -> Option<Instant> {
        let at = self.world.api.poll_deadline().map(|at| (Instant::ZERO + at).max(self.world.now().instant));
        let exists = |uid: &str| self.check.sets.all().any(|(_, set)| set.metadata.uid == uid);
        at.filter(|_| self.check.pods.all().any(|(_, pod)| pod.metadata.set().is_some_and(|uid| !exists(uid))))
    }

    /// Whose timers run out soon.
    pub(super) fn timers(&self) -> impl Iterator<Item = ClientId> {
        let limit = self.world.now().instant + HORIZON;
        self.world
            .clients
            .iter()
            .filter(move |(_, client)| client.due().is_some_and(|at| at <= limit))
            .map(|(id, _)| *id)
    }

    /// What happened, to be told to people.
    pub(super) fn describe(&self, choice: &Choice) -> String {
        let request = |client, call| {
            let line =
                self.world.lines(client).find(|(id, _)| *id == call).map(|(_, line)| format!("{:?}", line.request));
            line.unwrap_or_default()
        };
        match choice {
            Choice::Answer(client, call) | Choice::Serve(client, call) => {
                format!("{choice}: {}", request(*client, *call))
            }
            Choice::Fault(Fault::Gap(call) | Fault::Lose(call)) => {
                let client = self.manager().unwrap_or(ClientId(0));
                format!("{choice}: {}", request(client, *call))
            }
            _ => choice.to_string(),
        }
    }

    fn manager(&self) -> Option<ClientId> {
        self.world.clients.keys().next_back().copied()
    }

    fn is_watch(&self, (client, call): (ClientId, CallId)) -> bool {
        self.world.lines(client).any(|(id, line)| id == call && line.watch)
    }

    fn start_manager(&mut self) -> Result<(), Violation> {
        self.started += 1;
        let config = Config { seed: self.started, limits: limits(self.bounds.syncs), ..Config::default() };
        let id = self.world.start(Member::Manager(Box::new(Manager::new(&config))));
        self.check.check_client(id, &mut self.world)
    }

    /// Lets the first thing arrive that is meant. Whether there was one.
    fn arrive(&mut self, is: impl Fn(&Delivery) -> bool) -> Result<bool, Violation> {
        let first = self.world.under_way.iter().find(|(_, delivery)| is(delivery)).map(|(key, _)| *key);
        let Some(key) = first else { return Ok(false) };
        self.world.let_arrive(key);
        self.check.after_step(&mut self.world)?;
        Ok(true)
    }

    /// Lets a whole answer arrive, or of a watch one frame.
    fn answer(&mut self, of: (ClientId, CallId)) -> Result<(), Violation> {
        let is =
            |delivery: &Delivery| matches!(delivery, Delivery::Answer(client, answer) if (*client, answer.call) == of);
        if !self.is_watch(of) {
            while self.arrive(is)? {}
            return Ok(());
        }
        let first = self.world.under_way.iter_mut().find(|(_, delivery)| is(delivery));
        let rest = first.and_then(|(key, delivery)| match delivery {
            Delivery::Answer(_, Answer { part: Part::Body(bytes), .. }) => {
                let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
                let rest = bytes.split_off(end);
                (!rest.is_empty()).then_some((*key, rest))
            }
            _ => None,
        });
        self.arrive(is)?;
        if let Some((key, rest)) = rest {
            let answer = Answer { call: of.1, part: Part::Body(rest) };
            self.world.under_way.insert(key, Delivery::Answer(of.0, answer));
        }
        Ok(())
    }

    /// Lets timers run out until one of them changes something: keys that fail again and again do not hold up the others.
    fn wake(&mut self, id: ClientId, rounds: Option<u16>) -> Result<u16, Violation> {
        let before = rounds.is_none().then(|| self.fingerprint_of_work());
        let (mut ran_out, end) = (0, self.world.now().instant + HORIZON);
        while rounds != Some(ran_out) && self.world.now().instant <= end && self.timers().any(|other| other == id) {
            ran_out += 1;
            if let Some(due) = self.world.clients.get(&id).and_then(Client::due) {
                self.world.advance_to(due.max(self.world.now().instant));
            }
            self.world.let_wake(id);
            self.check.after_step(&mut self.world)?;
            self.do_plain()?;
            if before.is_some_and(|before| self.fingerprint_of_work() != before) {
                break;
            }
        }
        Ok(ran_out)
    }

    /// Does what is no choice: opens watches and lists, and drops what nobody waits for.
    fn do_plain(&mut self) -> Result<(), Violation> {
        loop {
            let World { under_way, clients, .. } = &mut self.world;
            under_way.retain(|_, delivery| match delivery {
                Delivery::Answer(client, answer) => {
                    clients.get(client).is_some_and(|client| client.lines.contains_key(&answer.call))
                }
                Delivery::Request(..) => true,
            });
            let synced: BTreeSet<ClientId> = self
                .world
                .clients
                .iter()
                .filter(|(_, client)| client.machine.manager().is_some_and(Manager::has_synced))
                .map(|(id, _)| *id)
                .collect();
            let is_plain = |delivery: &Delivery| match delivery {
                Delivery::Request(_, call) => is_collection(&call.request),
                Delivery::Answer(client, answer) => {
                    let head = matches!(answer.part, Part::Head(_)) && self.is_watch((*client, answer.call));
                    let list = self.world.lines(*client).any(|(id, line)| {
                        id == answer.call && is_collection(&line.request) && !(line.watch && synced.contains(client))
                    });
                    head || list
                }
            };
            let Some(key) = self.world.under_way.iter().find(|(_, delivery)| is_plain(delivery)).map(|(key, _)| *key)
            else {
                return Ok(());
            };
            self.world.let_arrive(key);
            self.check.after_step(&mut self.world)?;
        }
    }

    fn add_faults(&self, choices: &mut Vec<Choice>) {
        let Some(manager) = self.manager() else { return };
        let sent = self
            .world
            .under_way
            .values()
            .any(|delivery| matches!(delivery, Delivery::Request(of, _) if *of == manager));
        choices.push(Choice::Fault(Fault::Crash { lose: false }));
        if sent {
            choices.push(Choice::Fault(Fault::Crash { lose: true }));
        }
        for (call, line) in self.world.lines(manager) {
            choices.push(Choice::Fault(Fault::Lose(call)));
            if line.watch {
                choices.push(Choice::Fault(Fault::Gap(call)));
            }
        }
    }

    fn do_fault(&mut self, fault: Fault) -> Result<(), Violation> {
        let Some(manager) = self.manager() else { return Ok(()) };
        self.faults.push(match fault {
            Fault::Crash { .. } => "crash",
            Fault::Gap(_) => "gap",
            Fault::Lose(call) if self.is_watch((manager, call)) => "cut",
            Fault::Lose(_) => "lost",
        });
        match fault {
            Fault::Crash { lose } => {
                self.world.kill(manager);
                if lose {
                    self.world.lose_requests(manager);
                }
                self.start_manager()
            }
            Fault::Gap(call) | Fault::Lose(call) => {
                if matches!(fault, Fault::Gap(_)) {
                    let line = self.world.lines(manager).find(|(id, _)| *id == call);
                    let pods = line.is_some_and(|(_, line)| line.request.path.contains("/pods"));
                    self.world.api_mut().expire_history(if pods { "pods" } else { "replicasets" });
                    self.expired[usize::from(!pods)] = self.world.api().resource_version();
                }
                self.world.cut(manager, call, false);
                while self.arrive(|delivery| {
                    matches!(delivery, Delivery::Answer(of, answer) if (*of, answer.call) == (manager, call))
                })? {}
                Ok(())
            }
        }
    }

    fn add_users(&self, choices: &mut Vec<Choice>) {
        for (name, first) in NAMES.into_iter().zip(&self.bounds.sets) {
            let Some(set) = self.check.sets.now(&format!("default/{name}")) else { continue };
            let now = set.spec.replicas;
            let other = (0..=first + 1).filter(|replicas| usize::from(*replicas) != now);
            choices.extend(other.map(|replicas| Choice::User(User::Scale(name, replicas))));
            choices.extend([User::Delete(name), User::Recreate(name)].map(Choice::User));
        }
        for (key, pod) in self.check.pods.all() {
            let app = pod.metadata.labels.get("app").map_or("", String::as_str);
            choices.push(Choice::User(User::DeletePod(key.into())));
            let sets = NAMES.into_iter().take(self.bounds.sets.len()).chain(["none"]);
            let others = sets.filter(|name| *name != app);
            choices.extend(others.map(|name| Choice::User(User::Relabel(key.into(), name))));
        }
    }

    fn do_user(&mut self, user: &User) {
        let pod = |key: &String| format!("{PODS}/{}", key.split('/').nth(1).unwrap_or_default());
        match user {
            User::Delete(name) => {
                self.ask("DELETE", &format!("{SETS}/{name}"), JSON, r#"{"propagationPolicy":"Background"}"#);
            }
            User::DeletePod(key) => self.ask("DELETE", &pod(key), JSON, "{}"),
            User::Recreate(name) => {
                self.do_user(&User::Delete(name));
                let set = NAMES.iter().position(|other| other == name).unwrap_or(0);
                self.create_set(name, self.bounds.sets[set]);
            }
            User::Relabel(key, app) => {
                self.ask("PATCH", &pod(key), MERGE, &format!(r#"{{"metadata":{{"labels":{{"app":"{app}"}}}}}}"#));
            }
            User::Scale(name, replicas) => {
                self.ask(
                    "PATCH",
                    &format!("{SETS}/{name}"),
                    MERGE,
                    &format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#),
                );
            }
        }
    }

    fn create_set(&mut self, name: &str, replicas: u8) {
        let body = setting::set(name, name, replicas, 0);
        self.ask("POST", SETS, JSON, &body);
    }

    fn ask(&mut self, method: &str, path: &str, content_type: &str, body: &str) {
        let request = sanskube_apiserver::Request::new(method, path).with_body(content_type, body);
        self.world.request(&request);
    }
}

/// Whether a request lists or watches.
fn is_collection(request: &Request) -> bool {
    let path = request.path.split('?').next().unwrap_or_default();
    request.method == Method::Get && (path.ends_with("/pods") || path.ends_with("/replicasets"))
}

/// No events are recorded, and no call is given up by itself.
fn limits(syncs: usize) -> Limits {
    Limits { call_timeout: Duration::from_secs(3600), concurrent_syncs: syncs, events_waiting: 0, ..Limits::default() }
}
