//! A cluster behind a URL: real time, and a controller on a thread of its own.

use std::thread::JoinHandle;
use std::time::Duration;

use sanskube::manager::{Config, Manager};
use sanskube::object::ReplicaSetKind;
use sanskube::time::Timestamp;
use sanskube_apiserver::Request;
use sanskube_blocking::access::Credentials;
use sanskube_blocking::{Clock, Driver, Server, Stopper};
use serde_json::json;

use super::cluster::{Answer, Cluster};
use super::in_world::{kinds, of};
use super::scenario::{Scenario, UserRequest, What};
use super::tap::{SharedLog, Tap};
use crate::api::{Http, Target};

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(2);
/// How many short calls the controller makes at once.
const WORKERS: usize = 32;
/// How long a garbage collector or namespace controller is given to show itself.
const PROBE: Duration = Duration::from_secs(5);

/// An API server that is running already.
#[derive(Clone, Debug)]
pub struct Remote {
    url: String,
    token: String,
    collects_garbage: bool,
    ends_namespaces: bool,
}

impl Remote {
    /// The server at a URL, which is asked what runs beside it. Its namespaces `golden` and `golden-2` are emptied.
    ///
    /// # Errors
    /// The server does not answer as an API server does.
    pub fn new(url: &str, token: &str) -> Result<Self, String> {
        let mut remote = Self {
            url: url.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
            collects_garbage: false,
            ends_namespaces: false,
        };
        let mut http = remote.http();
        http.reset()?;
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": "00000000-0000-4000-8000-000000000000"});
        let orphan = json!({"metadata": {"name": "orphan", "ownerReferences": [owner]}, "data": {"k": "v"}});
        let namespace = json!({"metadata": {"name": "golden-2"}});
        remote.user(&mut http, "POST", "/api/v1/namespaces/golden/configmaps", &orphan);
        remote.user(&mut http, "POST", "/api/v1/namespaces", &namespace);
        remote.user(&mut http, "DELETE", "/api/v1/namespaces/golden-2", &json!(null));
        let goes = |http: &mut Http, path: &str| {
            let clock = Clock::start();
            while clock.now().instant.as_nanos() < u64::try_from(PROBE.as_nanos()).unwrap_or(u64::MAX) {
                if remote.user(http, "GET", path, &json!(null)).status == 404 {
                    return true;
                }
                std::thread::sleep(LOOK);
            }
            false
        };
        let collects_garbage = goes(&mut http, "/api/v1/namespaces/golden/configmaps/orphan");
        let ends_namespaces = goes(&mut http, "/api/v1/namespaces/golden-2");
        remote.collects_garbage = collects_garbage;
        remote.ends_namespaces = ends_namespaces;
        Ok(remote)
    }

    /// The server at a URL of which it is known what runs beside it.
    pub fn known(url: &str, collects_garbage: bool, ends_namespaces: bool) -> Self {
        Self { url: url.to_owned(), token: String::new(), collects_garbage, ends_namespaces }
    }

    /// Why a scenario cannot be played here.
    pub(super) fn cannot_play(&self, scenario: &Scenario) -> Option<&'static str> {
        let requests = || {
            scenario.script.iter().filter_map(|step| match &step.what {
                What::Api { request, .. } => Some(request),
                _ => None,
            })
        };
        let deletes = |of: &dyn Fn(&str) -> bool| requests().any(|r| r.method == "DELETE" && of(&r.path));
        let is_set = |path: &str| path.contains("/replicasets/") || path.contains("/replicationcontrollers/");
        let is_namespace = |path: &str| path.trim_start_matches("/api/v1/namespaces/").split('/').count() == 1;
        if scenario.script.iter().any(|step| matches!(step.what, What::Apiserver { .. })) {
            Some("the server would have to be killed")
        } else if scenario.collects_garbage() && !self.collects_garbage {
            Some("the server has no garbage collector")
        } else if deletes(&is_set) && self.collects_garbage && !scenario.collects_garbage() {
            Some("the server has a garbage collector")
        } else if deletes(&is_namespace) && self.ends_namespaces != scenario.ends_namespaces() {
            Some("the server ends namespaces, or does not")
        } else {
            None
        }
    }

    fn http(&self) -> Http {
        Http::new(&self.url, &self.token, "")
    }

    fn user(&self, http: &mut Http, method: &str, path: &str, body: &serde_json::Value) -> Answer {
        let headers = [("Content-Type".to_owned(), "application/json".to_owned())].into();
        self.send(http, &UserRequest { method: method.into(), path: path.into(), headers, body: body.clone() })
    }

    fn send(&self, http: &mut Http, request: &UserRequest) -> Answer {
        let request: Request = of(request)
            .with_header("authorization", &format!("Bearer {}", self.token))
            .with_header("user-agent", "golden-client/1.0");
        match http.send(&request) {
            Ok((answer, _)) => {
                Answer { status: answer.status, body: serde_json::from_slice(&answer.body).unwrap_or_default() }
            }
            Err(e) => Answer { status: 0, body: json!({"message": e}) },
        }
    }
}

/// A cluster whose time is that of the clock on the wall.
pub(super) struct OverHttp {
    remote: Remote,
    http: Http,
    clock: Clock,
    kinds: Vec<ReplicaSetKind>,
    controller: Option<(JoinHandle<()>, Stopper)>,
    started: u64,
    log: SharedLog,
}

impl OverHttp {
    /// A cluster that is emptied first.
    pub(super) fn new(remote: &Remote, scenario: &Scenario) -> Result<Self, String> {
        let mut http = remote.http();
        http.reset()?;
        Ok(Self {
            http,
            remote: remote.clone(),
            clock: Clock::start(),
            kinds: kinds(scenario),
            controller: None,
            started: 0,
            log: SharedLog::default(),
        })
    }
}

impl Cluster for OverHttp {
    fn kinds(&self) -> usize {
        self.kinds.len()
    }

    fn now(&self) -> Timestamp {
        self.clock.now().wall
    }

    fn advance(&mut self, limit: Timestamp) {
        let left = Duration::from_nanos(u64::try_from(limit.nanos_since(self.now())).unwrap_or(0));
        std::thread::sleep(left.min(LOOK));
    }

    fn request(&mut self, request: &UserRequest) -> Answer {
        self.remote.send(&mut self.http, request)
    }

    fn parallel(&mut self, requests: &[UserRequest]) -> Vec<u16> {
        let remote = &self.remote;
        std::thread::scope(|scope| {
            let send = |request| scope.spawn(move || remote.send(&mut remote.http(), request).status);
            let threads: Vec<_> = requests.iter().map(send).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(0)).collect()
        })
    }

    fn start_controller(&mut self) {
        self.started += 1;
        let config = Config {
            kinds: self.kinds.clone(),
            namespace: "golden".to_owned(),
            seed: self.started,
            ..Config::default()
        };
        let mut tap = Tap::new(Manager::new(&config), self.log.clone());
        // A server without authentication is given no token.
        let credentials = Credentials::token(&self.remote.token).unwrap_or_default();
        let server = Server { credentials, ..Server::new(&self.remote.url) };
        let driver = Driver::new(server, WORKERS).expect("threads can be started");
        let stopper = driver.stopper();
        let thread = std::thread::spawn(move || driver.run(&mut tap, |_, _| {}));
        self.controller = Some((thread, stopper));
    }

    fn stop_controller(&mut self) {
        if let Some((thread, stopper)) = self.controller.take() {
            stopper.stop();
            thread.join().expect("a controller does not panic");
        }
    }

    fn kill_controller(&mut self) {
        self.log.lock().kill = true;
        self.stop_controller();
    }

    fn set_server_up(&mut self, _up: bool) -> Result<(), String> {
        Err("a server behind a URL can be neither killed nor started".to_owned())
    }

    fn log(&self) -> &SharedLog {
        &self.log
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        self.kill_controller();
    }
}
