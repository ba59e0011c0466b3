//! The state machine, with a virtual clock.

use std::io::Read as _;
use std::time::Duration;

use jiff::Timestamp;
use sanskube_apiserver::{ApiServer, Config, Now, Reply, Request, Response, Token, WatchId, WatchState};
use serde_json::json;

use super::{Answer, Stream, Target};
use crate::api::Case;

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
            quota_controller: false,
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
