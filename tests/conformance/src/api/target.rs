//! Where a case is played: the state machine in this process, or a server somewhere.

use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sanskube_apiserver::{ApiServer, Config, Now, Reply, Request, Response, Token, WatchId, WatchState};
use serde_json::{Value, json};

use super::Case;

/// A response as it is compared.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
}

/// The stream of a watch.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// All bytes of the body, or those until enough frames had come.
    pub body: Vec<u8>,
    /// Who ended it: `server` or `client`.
    pub ended_by: &'static str,
}

/// Something that answers.
pub trait Target {
    /// The present wall time in seconds.
    fn now(&self) -> i64;
    /// Sends a request, and returns the answer; that of a watch has no body, and a number for [`Self::collect`].
    ///
    /// # Errors
    /// When there is no answer.
    fn send(&mut self, request: &Request) -> Result<(Answer, Option<usize>), String>;
    /// Reads a watch to its end, or until it has so many frames.
    fn collect(&mut self, watch: usize, max_frames: Option<usize>) -> Stream;
    /// Waits.
    fn sleep(&mut self, time: Duration);
    /// Compacts or restarts the server; whether it can.
    fn act(&mut self, action: &str) -> bool;
    /// The tokens of an administrator and of a user without rights.
    fn tokens(&self) -> (String, String);
    /// Leaves an empty namespace `golden`.
    ///
    /// # Errors
    /// When that cannot be done.
    fn reset(&mut self) -> Result<(), String>;
}

/// The state machine, with a virtual clock.
#[derive(Debug)]
pub struct InProcess {
    api: ApiServer,
    now: Now,
    watches: Vec<(Option<WatchId>, Stream)>,
}

impl InProcess {
    /// A fresh server with the settings that a case was recorded with, at the time it was recorded.
    #[must_use]
    pub fn new(case: &Case) -> Self {
        let recorded = case.recorded().find(|(k, _)| *k == "<created:1>").and_then(|(_, v)| v.as_str());
        let wall = recorded.and_then(|t| t.parse().ok());
        let wall = wall.unwrap_or_else(|| Timestamp::from_second(1_795_975_800).expect("a time of this century"));
        let now = Now { monotonic: Duration::from_secs(1000), wall };
        let token = |token: &str, user: &str, admin| Token { token: token.to_owned(), user: user.to_owned(), admin };
        let config = Config {
            tokens: vec![token("admintoken", "admin", true), token("weaktoken", "weak", false)],
            anonymous: case.profile != "anonymous-off",
            // Recorded without a controller manager.
            garbage_collector: false,
            namespace_controller: false,
            ..Config::default()
        };
        Self { api: ApiServer::new(config, now), now, watches: Vec::new() }
    }

    /// Moves the clock, and does what becomes due on the way.
    fn advance(&mut self, until: Duration) {
        loop {
            self.drain();
            let due = self.api.poll_deadline().filter(|at| *at <= until);
            let next = due.unwrap_or(until).max(self.now.monotonic);
            self.now = self.now.later(next - self.now.monotonic);
            self.api.handle_timeout(self.now);
            if due.is_none() {
                break;
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        while self.api.poll_ready().is_some() {}
        for (id, stream) in &mut self.watches {
            let Some(watch) = *id else { continue };
            loop {
                match self.api.poll_watch(watch, self.now, usize::MAX, &mut stream.body) {
                    WatchState::Open => break,
                    WatchState::More => {}
                    WatchState::Ended | WatchState::Cut => {
                        stream.ended_by = "server";
                        *id = None;
                        break;
                    }
                }
            }
        }
    }
}

fn answer(response: Response) -> Answer {
    let headers: Vec<(String, String)> = response.headers.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
    let gzip = headers.iter().any(|(n, v)| n == "content-encoding" && v == "gzip");
    let body = if gzip { unpack(&response.body) } else { response.body };
    Answer { status: response.status, headers, body }
}

fn unpack(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // What cannot be unpacked differs, and the comparison says so.
    drop(flate2::read::GzDecoder::new(bytes).read_to_end(&mut out));
    out
}

impl Target for InProcess {
    fn now(&self) -> i64 {
        self.now.wall.as_second()
    }

    fn send(&mut self, request: &Request) -> Result<(Answer, Option<usize>), String> {
        let reply = self.api.handle_request(self.now, request);
        Ok(match reply {
            Reply::Response(response) => (answer(response), None),
            Reply::Delayed { at, response } => {
                self.advance(at);
                (answer(response), None)
            }
            Reply::Hangup => return Err("no answer".to_owned()),
            Reply::Watch { id, head } => {
                self.watches.push((Some(id), Stream { body: Vec::new(), ended_by: "client" }));
                self.drain();
                (answer(head), Some(self.watches.len() - 1))
            }
        })
    }

    fn collect(&mut self, watch: usize, max_frames: Option<usize>) -> Stream {
        const PATIENCE: Duration = Duration::from_secs(45);
        let give_up = self.now.monotonic + PATIENCE;
        loop {
            self.drain();
            let (id, stream) = &mut self.watches[watch];
            if let Some(max) = max_frames
                && stream.body.iter().filter(|b| **b == b'\n').count() >= max
            {
                let end = stream.body.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(max - 1);
                let end = end.map_or(0, |(i, _)| i + 1);
                if let Some(id) = id.take() {
                    self.api.drop_watch(id);
                }
                return Stream { body: stream.body[..end].to_vec(), ended_by: "client" };
            }
            if id.is_none() {
                return stream.clone();
            }
            match self.api.poll_deadline().filter(|at| *at <= give_up) {
                Some(at) => self.advance(at),
                None => return self.watches[watch].1.clone(),
            }
        }
    }

    fn sleep(&mut self, time: Duration) {
        self.advance(self.now.monotonic + time);
    }

    fn act(&mut self, action: &str) -> bool {
        match action {
            "compact" => self.api.compact(self.now),
            "restart" => self.api.restart(),
            _ => return false,
        }
        true
    }

    fn tokens(&self) -> (String, String) {
        ("admintoken".to_owned(), "weaktoken".to_owned())
    }

    fn reset(&mut self) -> Result<(), String> {
        let request = Request::new("POST", "/api/v1/namespaces")
            .with_header("authorization", "Bearer admintoken")
            .with_header("user-agent", "golden-reset/1.0")
            .with_body("application/json", json!({ "metadata": { "name": "golden" } }).to_string());
        match self.send(&request)? {
            (answer, _) if answer.status == 201 => Ok(()),
            (answer, _) => Err(String::from_utf8_lossy(&answer.body).into_owned()),
        }
    }
}

/// A server behind a URL.
#[derive(Debug)]
pub struct Http {
    url: String,
    token: String,
    weak: String,
    agent: ureq::Agent,
    watches: Vec<mpsc::Receiver<Chunk>>,
}

enum Chunk {
    Data(Vec<u8>),
    End,
}

impl Http {
    /// A server that knows these tokens.
    #[must_use]
    pub fn new(url: &str, token: &str, weak: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_secs(150)))
            .build();
        Self {
            url: url.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
            weak: weak.to_owned(),
            agent: config.into(),
            watches: Vec::new(),
        }
    }

    fn call(&mut self, method: &str, path: &str, body: Option<(&str, Value)>) -> (u16, Value) {
        let mut request = Request::new(method, path)
            .with_header("authorization", &format!("Bearer {}", self.token))
            .with_header("user-agent", "golden-reset/1.0");
        if let Some((content, body)) = body {
            request = request.with_body(content, body.to_string());
        }
        match self.send(&request) {
            Ok((answer, _)) => (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Value::Null)),
            Err(_) => (0, Value::Null),
        }
    }
}

const RESOURCES: [&str; 8] = [
    "/api/v1/namespaces/NS/pods",
    "/api/v1/namespaces/NS/replicationcontrollers",
    "/api/v1/namespaces/NS/configmaps",
    "/api/v1/namespaces/NS/events",
    "/api/v1/namespaces/NS/resourcequotas",
    "/apis/apps/v1/namespaces/NS/replicasets",
    "/apis/coordination.k8s.io/v1/namespaces/NS/leases",
    "/apis/policy/v1/namespaces/NS/poddisruptionbudgets",
];

impl Target for Http {
    fn now(&self) -> i64 {
        Timestamp::now().as_second()
    }

    fn send(&mut self, request: &Request) -> Result<(Answer, Option<usize>), String> {
        let mut builder = ureq::http::Request::builder()
            .method(request.method.as_str())
            .uri(format!("{}{}", self.url, request.target));
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if request.header("accept").is_none() {
            builder = builder.header("accept", "");
        }
        let message = builder.body(request.body.clone()).map_err(|e| e.to_string())?;
        let response = self.agent.run(message).map_err(|e| e.to_string())?;
        let status = response.status().as_u16();
        let headers: Vec<(String, String)> = response
            .headers()
            .iter()
            .map(|(n, v)| (n.as_str().to_owned(), v.to_str().unwrap_or_default().to_owned()))
            .collect();
        let streams = headers.iter().any(|(n, v)| n == "transfer-encoding" && v == "chunked")
            && request.method == "GET"
            && super::replay::is_watch(&request.target)
            && status == 200;
        let mut reader = response.into_body().into_reader();
        if streams {
            let (sender, receiver) = mpsc::channel();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(reader);
                loop {
                    let chunk = match reader.fill_buf() {
                        Ok([]) | Err(_) => break,
                        Ok(data) => data.to_vec(),
                    };
                    reader.consume(chunk.len());
                    if sender.send(Chunk::Data(chunk)).is_err() {
                        return;
                    }
                }
                drop(sender.send(Chunk::End));
            });
            self.watches.push(receiver);
            return Ok((Answer { status, headers, body: Vec::new() }, Some(self.watches.len() - 1)));
        }
        let mut body = Vec::new();
        reader.read_to_end(&mut body).map_err(|e| e.to_string())?;
        Ok((Answer { status, headers, body }, None))
    }

    fn collect(&mut self, watch: usize, max_frames: Option<usize>) -> Stream {
        let give_up = Instant::now() + Duration::from_secs(45);
        let mut stream = Stream { body: Vec::new(), ended_by: "client" };
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            match self.watches[watch].recv_timeout(left) {
                Ok(Chunk::Data(data)) => stream.body.extend_from_slice(&data),
                Ok(Chunk::End) => {
                    stream.ended_by = "server";
                    return stream;
                }
                Err(_) => return stream,
            }
            if max_frames.is_some_and(|max| stream.body.iter().filter(|b| **b == b'\n').count() >= max) {
                return stream;
            }
        }
    }

    fn sleep(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn act(&mut self, _action: &str) -> bool {
        false
    }

    fn tokens(&self) -> (String, String) {
        (self.token.clone(), self.weak.clone())
    }

    fn reset(&mut self) -> Result<(), String> {
        for namespace in ["golden", "golden-2"] {
            let path = format!("/api/v1/namespaces/{namespace}");
            if self.call("GET", &path, None).0 == 404 {
                continue;
            }
            for base in RESOURCES.map(|r| r.replace("NS", namespace)) {
                let (status, list) = self.call("GET", &base, None);
                if status != 200 {
                    continue;
                }
                for item in list["items"].as_array().into_iter().flatten() {
                    let object = format!("{base}/{}", item["metadata"]["name"].as_str().unwrap_or_default());
                    if item["metadata"]["finalizers"].is_array() {
                        let patch = json!({ "metadata": { "finalizers": null } });
                        self.call("PATCH", &object, Some(("application/merge-patch+json", patch)));
                    }
                    self.call("DELETE", &format!("{object}?gracePeriodSeconds=0&propagationPolicy=Background"), None);
                }
            }
            self.call("DELETE", &path, None);
            let (status, mut current) = self.call("GET", &path, None);
            if status == 200 {
                current["spec"]["finalizers"] = json!([]);
                self.call("PUT", &format!("{path}/finalize"), Some(("application/json", current)));
            }
        }
        for node in ["golden-n1", "golden-n2"] {
            self.call("DELETE", &format!("/api/v1/nodes/{node}"), None);
        }
        for _ in 0..20 {
            let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "golden" } });
            let (status, _) = self.call("POST", "/api/v1/namespaces", Some(("application/json", body)));
            let (_, current) = self.call("GET", "/api/v1/namespaces/golden", None);
            if (status == 201 || status == 409) && current["metadata"]["deletionTimestamp"].is_null() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err("no fresh namespace golden".to_owned())
    }
}
