//! A server behind a URL.

use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sanskube_apiserver::Request;
use serde_json::{Value, json};

use super::{Answer, Stream, Target};
use crate::api::replay::is_watch;

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
            && is_watch(&request.target)
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
