//! Several managers of which one leads: whatever happens to them, there are never two that write.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use sanskube::election::{self, Standing};
use sanskube::error::Misuse;
use sanskube::machine::{Answer, Input, Machine, Output, Part};
use sanskube::manager::{Config, Manager};
use sanskube::rand::SplitMix64;
use sanskube::request::Method;
use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::kubelet::{Kubelet, KubeletConfig};
use sanskube_apiserver::{ApiServer, Request};
use sanskube_world::{ClientId, Network, World};
use serde_json::{Value, json};

const START: Now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/sanskube";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A process: a manager with clocks of its own, that can be suspended, and cut off from its server.
struct Process {
    manager: Manager,
    trouble: Rc<RefCell<Trouble>>,
    /// How far its wall clock is off, in seconds, and how much later it began to count time.
    skew: (i64, Duration),
    /// What has come in while it was suspended.
    waiting: VecDeque<Answer>,
    until: Option<Instant>,
}

#[derive(Default)]
struct Trouble {
    suspended_until: Option<Instant>,
    cut_off: bool,
}

impl Process {
    fn clock(&self, now: Now) -> Now {
        let wall = Timestamp::from_seconds(now.wall.as_seconds() + self.skew.0);
        Now { instant: now.instant + self.skew.1, wall }
    }

    fn suspended_until(&self, now: Now) -> Option<Instant> {
        self.trouble.borrow().suspended_until.filter(|until| *until > now.instant)
    }
}

impl Machine for Process {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        let answer = match input {
            Input::Body { call, bytes } => Some(Answer { call, part: Part::Body(bytes.to_vec()) }),
            Input::End { call } => Some(Answer { call, part: Part::End }),
            Input::Failed { call, failure } => Some(Answer { call, part: Part::Failed(failure) }),
            Input::Head { call, head } => Some(Answer { call, part: Part::Head(head) }),
            Input::Stop | Input::Timeout => None,
        };
        if self.trouble.borrow().cut_off && answer.is_some() {
            return Ok(());
        }
        if let Some(answer) = answer {
            self.waiting.push_back(answer);
            return Ok(());
        }
        if self.suspended_until(now).is_none() {
            self.manager.handle_input(self.clock(now), input)?;
        }
        Ok(())
    }

    fn poll_output(&mut self, now: Now) -> Output {
        if let Some(until) = self.suspended_until(now) {
            return Output::Wait { until: Some(until) };
        }
        loop {
            let clock = self.clock(now);
            match self.manager.poll_output(clock) {
                Output::Call(_) | Output::Cancel(_) if self.trouble.borrow().cut_off => {}
                Output::Wait { until } => {
                    let Some(answer) = self.waiting.pop_front() else {
                        self.until = until;
                        let left = until.map(|until| now.instant + until.since(clock.instant));
                        return Output::Wait { until: left };
                    };
                    // A call may have been given up since.
                    let _ = self.manager.handle_input(clock, answer.input());
                }
                output => return output,
            }
        }
    }
}

struct Scene {
    world: World<Process>,
    random: SplitMix64,
    started: u64,
    processes: Vec<(ClientId, Rc<RefCell<Trouble>>)>,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let config = sanskube_apiserver::Config { seed, ..Default::default() };
        let now = sanskube_apiserver::Now {
            monotonic: START.instant.since(Instant::ZERO),
            wall: jiff::Timestamp::from_second(START.wall.as_seconds()).unwrap(),
        };
        let network = Network::new(seed, Duration::from_millis(1), Duration::from_millis(300));
        let mut world = World::new(ApiServer::new(config, now), network, START);
        world.set_kubelet(Kubelet::new(KubeletConfig::default()));
        Self { world, random: SplitMix64::new(seed), started: 0, processes: Vec::new() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn start(&mut self) -> ClientId {
        self.started += 1;
        let identity = format!("process-{}", self.started);
        let election =
            election::Config { seed: self.started, ..election::Config::new("kube-system", "sanskube", identity) };
        let config = Config { election: Some(election), seed: self.started, ..Config::default() };
        let trouble = Rc::default();
        let skew = (i64::try_from(self.below(20_000)).unwrap() - 10_000, Duration::from_millis(self.below(100_000)));
        let process = Process {
            manager: Manager::new(&config),
            trouble: Rc::clone(&trouble),
            skew,
            waiting: VecDeque::new(),
            until: None,
        };
        let id = self.world.start(process);
        self.processes.push((id, trouble));
        id
    }

    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let mut request = Request::new(method, path);
        if !body.is_null() {
            let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
            request = request.with_body(kind, body.to_string());
        }
        serde_json::from_slice(&self.world.request(&request).body).unwrap_or_default()
    }

    fn scale(&mut self, replicas: u64) {
        let labels = json!({"app": "web"});
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "registry.example/a:1"}]}}},
        });
        if self.ask("POST", SETS, &set)["code"] == 409 {
            self.ask("PATCH", &format!("{SETS}/web"), &json!({"spec": {"replicas": replicas}}));
        }
    }

    fn pods(&mut self) -> usize {
        self.ask("GET", PODS, &Value::Null)["items"].as_array().unwrap().len()
    }

    fn seconds(&mut self, seconds: u64) {
        self.world.run_for(Duration::from_secs(seconds));
    }

    /// Those that lead, by their own clocks, and are awake.
    fn leaders(&self) -> Vec<ClientId> {
        let leads = |id: &ClientId| {
            let process = self.world.machine(*id)?;
            let standing = process.manager.standing(process.clock(self.world.now()));
            matches!(standing, Some(Standing::Leading { .. })).then_some(*id)
        };
        self.processes.iter().filter_map(|(id, _)| leads(id)).collect()
    }

    /// Who has written to anything but the lease, each once for each time in a row.
    fn writers(&self) -> Vec<ClientId> {
        let writes = self.world.exchanges().iter();
        let writes = writes.filter(|e| e.request.method != Method::Get && !e.request.path.contains("/leases"));
        let mut writers: Vec<ClientId> = writes.map(|exchange| exchange.client).collect();
        writers.dedup();
        writers
    }

    fn assert_one_writer_at_a_time(&self) {
        let mut writers = self.writers();
        let turns = writers.len();
        writers.sort();
        writers.dedup();
        assert_eq!(writers.len(), turns, "somebody wrote again after another had written: {:?}", self.writers());
    }
}

#[test]
fn nobody_asks_for_anything_before_it_leads_and_the_next_one_takes_over_within_the_lease() {
    let mut scene = Scene::new(1);
    let first = scene.start();
    scene.seconds(3);
    let second = scene.start();
    scene.scale(20);
    scene.seconds(30);
    assert_eq!((scene.pods(), scene.leaders()), (20, vec![first]));
    let by_second = |scene: &Scene| {
        let mut requests = scene.world.exchanges().iter().filter(|e| e.client == second);
        requests.all(|e| e.request.method == Method::Get && e.request.path == LEASE)
    };
    assert!(by_second(&scene));
    scene.world.kill(first);
    scene.scale(30);
    // 15 s from the last change of the lease that it saw, and a try every 2 to 4.4 s.
    scene.seconds(21);
    assert_eq!(scene.leaders(), [second]);
    scene.seconds(5);
    assert_eq!(scene.pods(), 30);
    let lease = scene.ask("GET", LEASE, &Value::Null);
    assert_eq!(
        (&lease["spec"]["holderIdentity"], &lease["spec"]["leaseTransitions"]),
        (&json!("process-2"), &json!(1))
    );
    scene.assert_one_writer_at_a_time();
}

#[test]
fn a_leader_that_is_asked_to_stop_ends_its_work_and_gives_the_lease_back() {
    let mut scene = Scene::new(2);
    let first = scene.start();
    scene.seconds(3);
    let second = scene.start();
    scene.scale(5);
    scene.seconds(10);
    scene.world.stop(first);
    scene.seconds(1);
    assert!(scene.world.is_stopped(first));
    assert!(!scene.world.machine(first).unwrap().manager.has_lost_lease());
    let lease = scene.ask("GET", LEASE, &Value::Null);
    assert_eq!(lease["spec"]["holderIdentity"], Value::Null);
    scene.seconds(6);
    assert_eq!(scene.leaders(), [second]);
}

#[test]
fn a_leader_that_is_cut_off_stops_by_itself_before_the_next_one_begins() {
    let mut scene = Scene::new(3);
    let first = scene.start();
    scene.seconds(3);
    let second = scene.start();
    scene.seconds(4);
    scene.processes[0].1.borrow_mut().cut_off = true;
    scene.scale(10);
    scene.seconds(11);
    let process = scene.world.machine(first).unwrap();
    assert!(process.manager.has_lost_lease() && scene.world.is_stopped(first));
    assert!(scene.leaders().is_empty());
    scene.seconds(12);
    assert_eq!((scene.pods(), scene.leaders()), (10, vec![second]));
    scene.assert_one_writer_at_a_time();
}

#[test]
fn a_leader_that_wakes_up_late_writes_nothing() {
    let mut scene = Scene::new(4);
    let first = scene.start();
    scene.seconds(3);
    scene.start();
    scene.scale(100);
    // In the middle of its burst.
    while scene.pods() < 20 {
        scene.world.run_for(Duration::from_millis(20));
    }
    let until = scene.world.now().instant + Duration::from_secs(40);
    scene.processes[0].1.borrow_mut().suspended_until = Some(until);
    // What it has sent already arrives.
    scene.seconds(1);
    let before = scene.world.exchanges().iter().filter(|e| e.client == first).count();
    scene.seconds(60);
    let after = scene.world.exchanges().iter().filter(|e| e.client == first).count();
    assert_eq!(before, after);
    assert!(scene.world.machine(first).unwrap().manager.has_lost_lease());
    assert_eq!(scene.pods(), 100);
    scene.assert_one_writer_at_a_time();
}

#[test]
fn there_are_never_two_writers() {
    let mut turns = 0;
    for seed in 0..3 {
        let mut scene = Scene::new(100 + seed);
        for _ in 0..3 {
            scene.start();
        }
        let mut wanted = 0;
        for _ in 0..40 {
            let which = usize::try_from(scene.below(3)).unwrap();
            let (id, trouble) = scene.processes[which].clone();
            match scene.below(8) {
                0 => {
                    let length = Duration::from_secs(scene.below(40));
                    trouble.borrow_mut().suspended_until = Some(scene.world.now().instant + length);
                }
                1 => {
                    let cut_off = !trouble.borrow().cut_off;
                    trouble.borrow_mut().cut_off = cut_off;
                }
                2 => scene.world.kill(id),
                3 => scene.world.stop(id),
                _ => {
                    wanted = scene.below(30);
                    scene.scale(wanted);
                }
            }
            if scene.world.is_stopped(id) {
                // Started anew, as a kubelet would.
                scene.world.kill(id);
                scene.processes.remove(which);
                scene.start();
            }
            for _ in 0..scene.below(100) {
                scene.world.run_for(Duration::from_millis(100));
                assert!(scene.leaders().len() <= 1, "seed {seed}: two lead");
            }
        }
        for (_, trouble) in &scene.processes {
            *trouble.borrow_mut() = Trouble::default();
        }
        scene.seconds(120);
        assert_eq!(scene.pods(), usize::try_from(wanted).unwrap(), "seed {seed}");
        scene.assert_one_writer_at_a_time();
        turns += scene.writers().len();
    }
    assert!(turns > 8, "only {turns} turns");
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut scene = Scene::new(5);
    scene.scale(10);
    let config = Config { dry_run: true, seed: 9, ..Config::default() };
    let process = Process {
        manager: Manager::new(&config),
        trouble: Rc::default(),
        skew: (0, Duration::ZERO),
        waiting: VecDeque::new(),
        until: None,
    };
    let id = scene.world.start(process);
    scene.seconds(30);
    assert!(scene.world.machine(id).unwrap().manager.has_synced());
    assert!(scene.writers().is_empty());
    assert_eq!(scene.pods(), 0);
}

#[test]
fn a_manager_counts_what_it_does() {
    let mut scene = Scene::new(6);
    let id = scene.start();
    scene.scale(7);
    scene.seconds(20);
    let process = scene.world.machine(id).unwrap();
    let families = process.manager.metrics(process.clock(scene.world.now()));
    let text = sanskube::metrics::Text(&families).to_string();
    for line in [
        "workqueue_depth{name=\"replicaset\"} 0",
        "workqueue_retries_total{name=\"replicaset\"} 0",
        "reflector_items{resource=\"pods\"} 7",
        "reflector_items{resource=\"replicasets.apps\"} 1",
        "reflector_watches_total{resource=\"pods\"} 1",
        "leader_election_master_status{name=\"sanskube\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    let posts = scene.world.exchanges().iter().filter(|e| e.request.method == Method::Post).count();
    let counted = format!("rest_client_requests_total{{code=\"201\",method=\"POST\"}} {posts}");
    assert!(text.lines().any(|l| l == counted), "{counted} is not in\n{text}");
}
