//! A cluster in a [`World`]: in this thread, with virtual time.

use std::time::Duration;

use sanskube::manager::{ClientLimits, Config, Manager};
use sanskube::object::ReplicaSetKind;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{ClientId, Network, World};

use super::cluster::{Answer, Cluster};
use super::log::SharedLog;
use super::scenario::{Scenario, UserRequest};
use super::tap::Tap;

/// When the play begins. Later than any time that a scenario's own requests name.
const START: Now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
/// How long a request or a piece of an answer is under way.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(4);
/// How long a user's request is under way, each way.
const USER: Duration = Duration::from_millis(5);
/// How long the garbage collector takes to look at an object.
pub(super) const COLLECTOR: Duration = Duration::from_millis(100);

/// A cluster whose time passes as fast as it can be computed.
#[derive(Debug)]
pub(super) struct InWorld {
    world: World<Tap>,
    kinds: Vec<ReplicaSetKind>,
    client_limits: Option<ClientLimits>,
    controller: Option<ClientId>,
    started: u64,
    log: SharedLog,
}

impl InWorld {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let config = sanskube_apiserver::Config {
            seed,
            garbage_collector: scenario.collects_garbage(),
            namespace_controller: scenario.ends_namespaces(),
            quota_controller: false,
            controllers_delay: COLLECTOR,
            ..Default::default()
        };
        let now = sanskube_apiserver::Now {
            monotonic: START.instant.since(Instant::ZERO),
            wall: jiff::Timestamp::from_second(START.wall.as_seconds()).expect("a year that exists"),
        };
        let network = Network::new(seed, SHORTEST, LONGEST);
        let mut world = World::new(ApiServer::new(config, now), network, START);
        let namespace = r#"{"metadata":{"name":"golden"}}"#;
        world.request(&Request::new("POST", "/api/v1/namespaces").with_body("application/json", namespace));
        Self {
            world,
            kinds: kinds(scenario),
            client_limits: scenario.client_limits(),
            controller: None,
            started: seed,
            log: SharedLog::default(),
        }
    }
}

/// The kinds of sets that the controllers of a scenario look after.
pub(super) fn kinds(scenario: &Scenario) -> Vec<ReplicaSetKind> {
    let known = [
        ("replicaset-controller", ReplicaSetKind::ReplicaSet),
        ("replicationcontroller-controller", ReplicaSetKind::ReplicationController),
    ];
    let wanted = |name: &str| scenario.controllers.iter().any(|wanted| wanted == name);
    known.into_iter().filter(|(name, _)| wanted(name)).map(|(_, kind)| kind).collect()
}

impl Cluster for InWorld {
    fn kinds(&self) -> usize {
        self.kinds.len()
    }

    fn has_few_connections(&self) -> bool {
        false
    }

    fn now(&self) -> Timestamp {
        self.world.now().wall
    }

    fn advance(&mut self, limit: Timestamp) {
        let left = u64::try_from(limit.nanos_since(self.now())).unwrap_or(0);
        self.world.step(self.world.now().instant + Duration::from_nanos(left));
    }

    fn request(&mut self, request: &UserRequest) -> Answer {
        self.run_for(USER);
        let answer = self.world.request(&of(request));
        self.run_for(USER);
        Answer { status: answer.status, body: serde_json::from_slice(&answer.body).unwrap_or_default() }
    }

    fn parallel(&mut self, requests: &[UserRequest]) -> Vec<u16> {
        self.run_for(USER);
        let mut statuses = Vec::new();
        for request in requests {
            statuses.push(self.world.request(&of(request)).status);
            self.run_for(SHORTEST / 10);
        }
        self.run_for(USER);
        statuses
    }

    fn start_controller(&mut self) {
        self.started += 1;
        let (kinds, client_limits) = (self.kinds.clone(), self.client_limits);
        let config = Config { kinds, client_limits, seed: self.started, ..Config::default() };
        self.controller = Some(self.world.start(Tap::new(Manager::new(&config), self.log.clone())));
    }

    fn stop_controller(&mut self) {
        let Some(id) = self.controller.take() else { return };
        self.world.stop(id);
        while !self.world.is_stopped(id) {
            self.run_for(SHORTEST);
        }
        self.world.kill(id);
    }

    fn kill_controller(&mut self) {
        if let Some(id) = self.controller.take() {
            self.world.kill(id);
        }
    }

    fn set_server_up(&mut self, up: bool) -> Result<(), String> {
        if up {
            self.world.bring_server_up();
        } else {
            self.world.take_server_down();
        }
        Ok(())
    }

    fn log(&self) -> &SharedLog {
        &self.log
    }
}

/// A user's request as the server takes it.
pub(super) fn of(request: &UserRequest) -> Request {
    let mut made = Request::new(&request.method, &request.path);
    for (name, value) in &request.headers {
        made = made.with_header(&name.to_lowercase(), value);
    }
    if !request.body.is_null() {
        made.body = request.body.to_string().into_bytes();
    }
    made
}
