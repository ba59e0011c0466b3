//! A cluster behind a URL: real time, and `sanskube run` as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sanskube::object::ReplicaSetKind;
use sanskube::time::Timestamp;
use sanskube_apiserver::{Config, Request, Server, ServerConfig};
use serde_json::json;

use super::cluster::{Answer, Cluster};
use super::in_world::{COLLECTOR, kinds, of};
use super::log::SharedLog;
use super::proxy::{Proxy, now};
use super::scenario::{Scenario, UserRequest, What};
use crate::api::{Http, Target};

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(2);
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
            let began = Instant::now();
            while began.elapsed() < PROBE {
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

    /// An in-memory server that has beside it what was beside the recorded one.
    fn of(server: &Server, scenario: &Scenario) -> Self {
        let (collects_garbage, ends_namespaces) = (scenario.collects_garbage(), scenario.ends_namespaces());
        Self { url: server.url(), token: String::new(), collects_garbage, ends_namespaces }
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
    /// The server, if it is ours.
    server: Option<Server>,
    program: PathBuf,
    arguments: Vec<String>,
    kinds: Vec<ReplicaSetKind>,
    proxy: Proxy,
    controller: Option<Child>,
    log: SharedLog,
}

impl OverHttp {
    /// A cluster that is emptied first: that of a server which is running already, or one of its own. Its controller is `PROGRAM run`.
    pub(super) fn new(program: &Path, remote: Option<&Remote>, scenario: &Scenario) -> Result<Self, String> {
        let (server, remote) = match remote {
            Some(remote) => (None, remote.clone()),
            None => {
                let server = serve(scenario).map_err(|e| format!("no server: {e}"))?;
                let remote = Remote::of(&server, scenario);
                (Some(server), remote)
            }
        };
        let mut http = remote.http();
        http.reset()?;
        let log = SharedLog::default();
        let proxy = Proxy::start(&remote.url, &remote.token, log.clone()).map_err(|e| format!("no proxy: {e}"))?;
        Ok(Self {
            arguments: arguments(scenario, &proxy.url()),
            program: program.to_owned(),
            kinds: kinds(scenario),
            controller: None,
            remote,
            http,
            server,
            proxy,
            log,
        })
    }

    /// Waits until the controller has ended by itself or, in the end, kills it.
    fn wait_for_end(&mut self) {
        let Some(mut child) = self.controller.take() else { return };
        let began = Instant::now();
        while began.elapsed() < PROBE && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(LOOK);
        }
        // It has ended, most likely.
        let _ = child.kill();
        child.wait().expect("a child can be waited for");
    }
}

impl Cluster for OverHttp {
    fn kinds(&self) -> usize {
        self.kinds.len()
    }

    fn has_few_connections(&self) -> bool {
        true
    }

    fn now(&self) -> Timestamp {
        now()
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
        self.log.lock().begin();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::null());
        self.controller = Some(command.spawn().expect("the controller can be started"));
    }

    fn stop_controller(&mut self) {
        if let Some(child) = &self.controller {
            let kill = Command::new("kill").arg(child.id().to_string()).status();
            assert!(kill.is_ok_and(|status| status.success()), "the controller runs until it is told to stop");
        }
        self.wait_for_end();
    }

    fn kill_controller(&mut self) {
        if let Some(child) = &mut self.controller {
            // It may have ended by itself.
            let _ = child.kill();
        }
        self.wait_for_end();
    }

    fn set_server_up(&mut self, up: bool) -> Result<(), String> {
        let server = self.server.as_ref().ok_or("a server behind a URL can be neither killed nor started")?;
        self.proxy.set_gone(!up);
        if !up {
            server.with_api(|api, _| api.restart());
        }
        Ok(())
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

/// A server of our own for a scenario.
fn serve(scenario: &Scenario) -> std::io::Result<Server> {
    let api = Config {
        garbage_collector: scenario.collects_garbage(),
        namespace_controller: scenario.ends_namespaces(),
        quota_controller: false,
        controllers_delay: COLLECTOR,
        ..Config::default()
    };
    Server::start(ServerConfig { api, ..ServerConfig::default() })
}

/// What `sanskube` is told for a scenario.
fn arguments(scenario: &Scenario, url: &str) -> Vec<String> {
    let controllers: Vec<&str> = kinds(scenario)
        .into_iter()
        .map(|kind| match kind {
            ReplicaSetKind::ReplicaSet => "replicaset",
            ReplicaSetKind::ReplicationController => "replicationcontroller",
        })
        .collect();
    let limits = scenario.client_limits();
    let (qps, burst) = limits.map_or((-1.0, 1), |limits| (limits.qps, limits.burst));
    let flags = [
        format!("--server={url}"),
        "--namespace=golden".to_owned(),
        format!("--controllers={}", controllers.join(",")),
        format!("--kube-api-qps={qps}"),
        format!("--kube-api-burst={burst}"),
        "--log-level=error".to_owned(),
    ];
    std::iter::once("run".to_owned()).chain(flags).collect()
}
