//! The player: does to a cluster what a scenario's script says, and says what the controllers wrote.

use std::collections::BTreeMap;
use std::time::Duration;

use sanskube::time::Timestamp;
use serde_json::{Value, json};

use super::cluster::{Answer, Cluster};
use super::log::Entry;
use super::normal::{Identities, Side};
use super::pods::Pods;
use super::scenario::{Do, Scenario, Step, UserRequest, What};
use super::write::Write;

/// How long a controller is left alone once it watches.
const SETTLED: Duration = Duration::from_millis(700);
/// How long it may take to watch.
const WATCHES: Duration = Duration::from_secs(120);

/// What came of a play.
#[derive(Debug)]
pub(super) struct Played {
    /// What the controllers wrote, events included, in the order of sending.
    pub(super) writes: Vec<Write>,
    /// When each wait for quiet was over.
    pub(super) quiet: Vec<Duration>,
    /// What is left at the end: the items of each collection that the recording has, and of pods.
    pub(super) end: BTreeMap<String, Value>,
    pub(super) identities: Identities,
    pub(super) pods: Pods,
    /// Whether the controller can make only few requests at once.
    pub(super) has_few_connections: bool,
    /// Where the play itself went otherwise than the recording.
    pub(super) failures: Vec<String>,
}

/// Plays a scenario.
pub(super) fn play(scenario: &Scenario, cluster: &mut impl Cluster) -> Played {
    let began = cluster.now();
    let mut player = Player {
        identities: Identities::new(Side::Played { since: began }),
        recorded: super::normal::recorded(scenario),
        pending: scenario.writes(),
        cluster,
        began,
        pods: Pods::default(),
        seen: 0,
        quiet: Vec::new(),
        unsettled: false,
        running: false,
        failures: Vec::new(),
    };
    for step in &scenario.setup {
        player.step(step, Duration::ZERO);
    }
    player.start_controller();
    player.began = player.cluster.now();
    for (step, begun) in scenario.script.iter().zip(scenario.begun()) {
        player.step(step, begun);
    }
    player.finish()
}

struct Player<'a, C> {
    cluster: &'a mut C,
    /// The start of the script.
    began: Timestamp,
    pods: Pods,
    /// The uids of the play.
    identities: Identities,
    /// The uids of the recording.
    recorded: Identities,
    /// The writes of the recording that are later than the step that is played.
    pending: Vec<Write>,
    /// How many of the writes of the play were taken note of.
    seen: usize,
    quiet: Vec<Duration>,
    /// Something was killed in the middle of its work, and there was no quiet since: how far it came is a matter of chance.
    unsettled: bool,
    /// Whether there is a controller.
    running: bool,
    failures: Vec<String>,
}

impl<C: Cluster> Player<'_, C> {
    fn step(&mut self, step: &Step, recorded_at: Duration) {
        self.catch_up(recorded_at);
        match &step.what {
            What::Api { request, response } => self.request(request, response.status, recorded_at),
            What::Apiserver { what } => {
                self.unsettled = true;
                if let Err(e) = self.cluster.set_server_up(*what == Do::Start) {
                    self.failures.push(e);
                }
                if *what == Do::Start {
                    self.wait_for_watches();
                }
            }
            What::Controller { what: Do::Start } => self.start_controller(),
            What::Controller { what: Do::Stop } => {
                self.running = false;
                self.cluster.stop_controller();
            }
            What::Controller { what: Do::Kill } => {
                (self.unsettled, self.running) = (true, false);
                self.cluster.kill_controller();
            }
            What::ObservePods { selector, pods } => self.observe(selector, pods),
            What::Parallel { requests, statuses } => {
                let now = self.cluster.now().to_string();
                let made: Vec<UserRequest> = requests.iter().map(|r| self.pods.translate(r, &now)).collect();
                let at = self.elapsed();
                for (recorded, made) in requests.iter().zip(&made) {
                    self.pods.touch(recorded, recorded_at, made, at);
                }
                let got = self.cluster.parallel(&made);
                if got != *statuses {
                    self.failures.push(format!("requests at once: wanted {statuses:?}, got {got:?}"));
                }
            }
            What::Sleep { ms } => self.cluster.run_for(*ms),
            What::WaitQuiet { ms, max_ms } => {
                let (began, limit) = (self.cluster.now(), self.cluster.now() + *max_ms);
                loop {
                    let last = self.cluster.log().lock().last_activity().map_or(began, |last| last.max(began));
                    let over = (last + *ms).min(limit);
                    if self.cluster.now() >= over {
                        break;
                    }
                    self.cluster.advance(over);
                }
                self.quiet.push(self.elapsed());
                self.unsettled = false;
            }
            What::WaitWrites { method, resource, count, max_ms } => {
                let limit = self.cluster.now() + *max_ms;
                while self.count(method, resource) < *count && self.cluster.now() < limit {
                    self.cluster.advance(limit);
                }
                if self.count(method, resource) < *count {
                    self.failures.push(format!("there never were {count} answers to {method} {resource}"));
                }
            }
        }
    }

    fn request(&mut self, recorded: &UserRequest, wanted: u16, recorded_at: Duration) {
        self.pods.settle();
        let made = self.pods.translate(recorded, &self.cluster.now().to_string());
        self.pods.touch(recorded, recorded_at, &made, self.elapsed());
        let Answer { status, body } = self.cluster.request(&made);
        self.identities.learn(&body);
        if status != wanted {
            let message = &body["message"];
            self.failures.push(format!("{} {}: wanted {wanted}, got {status} {message}", made.method, made.path));
        }
    }

    fn observe(&mut self, selector: &str, recorded: &[String]) {
        let selector = selector.replace('=', "%3D").replace(',', "%2C");
        let items = self.list(&format!("/api/v1/namespaces/golden/pods?labelSelector={selector}"));
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut names: Vec<String> = items.iter().map(name).collect();
        names.sort();
        let (mut recorded, mut names) = (recorded, &names[..]);
        if self.unsettled {
            let both = recorded.len().min(names.len());
            (recorded, names) = (&recorded[..both], &names[..both]);
        }
        if let Err(e) = self.pods.observe(recorded, names) {
            let at = self.elapsed();
            self.failures.push(format!("after {at:?}: {e}"));
        }
    }

    fn list(&mut self, path: &str) -> Vec<Value> {
        let request = UserRequest {
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: [("Accept".to_owned(), "application/json".to_owned())].into(),
            body: Value::Null,
        };
        let Answer { status, mut body } = self.cluster.request(&request);
        if status != 200 {
            self.failures.push(format!("GET {path}: got {status} {}", body["message"]));
        }
        let items = match body["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        for item in &items {
            self.identities.learn(item);
        }
        items
    }

    fn start_controller(&mut self) {
        self.running = true;
        self.cluster.start_controller();
        self.wait_for_watches();
    }

    /// Waits until the controller watches all that it looks at. After an absence of the server that takes as long as its back-off has become.
    fn wait_for_watches(&mut self) {
        if !self.running {
            return;
        }
        let watches = self.cluster.kinds() + 1;
        let limit = self.cluster.now() + WATCHES;
        loop {
            let (open, since) = self.cluster.log().lock().watches();
            let settled = since + SETTLED;
            let now = self.cluster.now();
            if open == watches && settled <= now {
                break;
            }
            if now >= limit {
                self.failures.push(format!("the controller has {open} watches of {watches}"));
                break;
            }
            self.cluster.advance(if open == watches { settled } else { limit });
        }
    }

    /// How many requests of a sort were answered.
    fn count(&self, method: &str, resource: &str) -> usize {
        let log = self.cluster.log().lock();
        let alike = |path: &str| path.split('?').next().is_some_and(|path| path.ends_with(resource));
        let answered = log.entries.iter().filter(|entry| entry.status != 0);
        answered.filter(|e| e.method == method && alike(&e.path)).count()
    }

    fn elapsed(&self) -> Duration {
        since(self.began, self.cluster.now())
    }

    /// Takes note of what was written on both sides before the next step.
    fn catch_up(&mut self, recorded_at: Duration) {
        let later = self.pending.iter().position(|write| write.at >= recorded_at).unwrap_or(self.pending.len());
        for write in self.pending.drain(..later) {
            if let (Some(pod), Some(what)) = (write.pod(), self.recorded.touch(&write)) {
                self.pods.recorded.add(pod, write.at, what);
            }
        }
        let writes = self.writes();
        for write in writes.iter().skip(self.seen).take_while(|write| write.ended.is_some()) {
            self.seen += 1;
            self.identities.learn_write(write);
            if let Some(name) = &write.created {
                self.pods.know(name);
            }
            if let (Some(pod), Some(what)) = (write.pod(), self.identities.touch(write)) {
                self.pods.played.add(pod, write.at, what);
            }
        }
    }

    fn writes(&self) -> Vec<Write> {
        let log = self.cluster.log().lock();
        let write = |entry: &Entry| {
            let response: Value = serde_json::from_slice(&entry.answer).unwrap_or_default();
            let made = entry.status == 201;
            Write {
                at: since(self.began, entry.sent),
                ended: entry.ended.map(|ended| since(self.began, ended)),
                method: entry.method.clone(),
                path: entry.path.clone(),
                content_type: entry.content_type.clone(),
                body: serde_json::from_slice(&entry.body).unwrap_or_default(),
                status: entry.status,
                created: response["metadata"]["name"].as_str().filter(|_| made).map(str::to_owned),
                response,
            }
        };
        log.entries.iter().map(write).collect()
    }

    fn finish(mut self) -> Played {
        let mut end = BTreeMap::new();
        let collections = [
            ("replicasets", "/apis/apps/v1/namespaces/golden/replicasets"),
            ("replicationcontrollers", "/api/v1/namespaces/golden/replicationcontrollers"),
            ("pods", "/api/v1/namespaces/golden/pods"),
            ("events", "/api/v1/namespaces/golden/events"),
        ];
        for (name, path) in collections {
            let items = self.list(path);
            end.insert(name.to_owned(), json!(items));
        }
        // Only now: what was in flight has had time to be answered.
        self.catch_up(Duration::MAX);
        let writes = self.writes();
        for write in &writes {
            self.identities.learn_write(write);
        }
        Played {
            writes,
            quiet: self.quiet,
            end,
            identities: self.identities,
            pods: self.pods,
            has_few_connections: self.cluster.has_few_connections(),
            failures: self.failures,
        }
    }
}

fn since(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::from_nanos(u64::try_from(later.nanos_since(earlier)).unwrap_or(0))
}
