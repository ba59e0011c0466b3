//! A scenario as it stands in its file.

use std::collections::BTreeMap;
use std::time::Duration;

use sanskube::manager::ClientLimits;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::write::Write;

/// What was done to a cluster, and what Kubernetes' own controllers wrote.
#[derive(Debug, Deserialize)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) area: String,
    pub(super) why: String,
    pub(super) controllers: Vec<String>,
    #[serde(default)]
    pub(super) controller_flags: Vec<String>,
    pub(super) stability: Stability,
    #[serde(default)]
    pub(super) setup: Vec<Step>,
    pub(super) script: Vec<Step>,
    #[serde(default)]
    pub(super) controller_writes: Vec<Recorded>,
    #[serde(default)]
    pub(super) event_writes: Vec<Recorded>,
    /// How many events were written, where not all are listed.
    pub(super) event_writes_count: Option<usize>,
    /// In place of the writes of pods, where there were very many.
    pub(super) bursts: Option<Bursts>,
    pub(super) example_create: Option<Recorded>,
    #[serde(rename = "final")]
    pub(super) end: BTreeMap<String, Value>,
}

/// What was the same when the scenario was recorded again.
#[derive(Debug, Deserialize)]
pub(super) struct Stability {
    pub(super) writes: Stable,
    pub(super) events: Stable,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stable {
    /// Everything.
    Same,
    /// What succeeded, and where it ended.
    SameEffect,
    /// Where it ended.
    Varies,
}

/// The creates and deletes of pods, in figures.
#[derive(Debug, Deserialize)]
pub(super) struct Bursts {
    pub(super) create: Burst,
    pub(super) delete: Burst,
}

#[derive(Debug, Deserialize)]
pub(super) struct Burst {
    pub(super) codes: BTreeMap<String, usize>,
    pub(super) groups_by_overlap: Vec<Group>,
    /// How many were sent in each second from the start of the script.
    #[serde(default)]
    pub(super) per_second: BTreeMap<String, usize>,
}

/// Requests of which each was sent before all that came before it were answered.
#[derive(Debug, Deserialize)]
pub(super) struct Group {
    pub(super) count: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct Step {
    /// When it was begun, from the start of the script.
    #[serde(default, rename = "at_ms", deserialize_with = "millis")]
    pub(super) at: Duration,
    #[serde(flatten)]
    pub(super) what: What,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", tag = "op")]
pub(super) enum What {
    /// A request of a user, a scheduler or a kubelet.
    Api { request: UserRequest, response: Expected },
    Apiserver {
        #[serde(rename = "do")]
        what: Do,
    },
    Controller {
        #[serde(rename = "do")]
        what: Do,
    },
    /// List the pods, sort their names, and name them so from here on.
    ObservePods { selector: String, pods: Vec<String> },
    /// Requests all at once.
    Parallel { requests: Vec<UserRequest>, statuses: Vec<u16> },
    Sleep {
        #[serde(deserialize_with = "millis")]
        ms: Duration,
    },
    /// Until the controller has written nothing for so long.
    WaitQuiet {
        #[serde(deserialize_with = "millis")]
        ms: Duration,
        #[serde(deserialize_with = "millis")]
        max_ms: Duration,
    },
    WaitWrites {
        method: String,
        resource: String,
        count: usize,
        #[serde(deserialize_with = "millis")]
        max_ms: Duration,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Do {
    Kill,
    Start,
    Stop,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct UserRequest {
    pub(super) method: String,
    pub(super) path: String,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) body: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct Expected {
    pub(super) status: u16,
}

/// A write as it was recorded between a controller and the API server.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Recorded {
    #[serde(rename = "at_ms", deserialize_with = "millis")]
    at: Duration,
    agent: String,
    verb: String,
    path: String,
    #[serde(default)]
    query: String,
    content_type: String,
    #[serde(default)]
    body: Value,
    code: u16,
    #[serde(default)]
    response: Value,
    /// The name that the server gave.
    created: Option<String>,
}

impl Recorded {
    /// Whether a controller wrote this that is under test here. The garbage collector is the server's own.
    fn is_of_a_controller(&self) -> bool {
        ["replicaset-controller", "replication-controller"].contains(&self.agent.as_str())
    }

    pub(super) fn write(&self) -> Write {
        let method = match self.verb.as_str() {
            "create" => "POST",
            "update" => "PUT",
            "patch" => "PATCH",
            "delete" => "DELETE",
            _ => "?",
        };
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", self.query) };
        Write {
            at: self.at,
            ended: None,
            method: method.to_owned(),
            path: format!("{}{query}", self.path),
            content_type: self.content_type.clone(),
            body: self.body.clone(),
            status: self.code,
            response: self.response.clone(),
            created: self.created.clone(),
        }
    }
}

impl Scenario {
    /// What the controllers wrote, but for events.
    pub(super) fn writes(&self) -> Vec<Write> {
        self.controller_writes.iter().filter(|write| write.is_of_a_controller()).map(Recorded::write).collect()
    }

    /// The events that they wrote.
    pub(super) fn events(&self) -> Vec<Write> {
        self.event_writes.iter().filter(|write| write.is_of_a_controller()).map(Recorded::write).collect()
    }

    /// When each step of the script was begun. What the recording has for a request is when it was answered.
    pub(super) fn begun(&self) -> Vec<Duration> {
        let mut writes: Vec<Duration> = self.controller_writes.iter().chain(&self.event_writes).map(|w| w.at).collect();
        writes.sort();
        let mut begun = Vec::new();
        let mut before: Option<&Step> = None;
        for step in &self.script {
            begun.push(match (&step.what, before) {
                (What::Api { .. } | What::Parallel { .. }, None) => Duration::ZERO,
                (What::Api { .. } | What::Parallel { .. }, Some(before)) => match before.what {
                    What::WaitQuiet { ms, .. } => end_of_quiet(&writes, step.at, ms),
                    What::Sleep { ms } => (before.at + ms).min(step.at),
                    _ => before.at,
                },
                _ => step.at,
            });
            before = Some(step);
        }
        begun
    }

    /// When each wait for quiet was over.
    pub(super) fn quiet(&self) -> Vec<Duration> {
        let over = self.begun().into_iter().skip(1).chain([Duration::MAX]);
        let waits = |step: &Step| matches!(step.what, What::WaitQuiet { .. });
        self.script.iter().zip(over).filter(|(step, _)| waits(step)).map(|(_, over)| over).collect()
    }

    /// Whether the garbage collector was running.
    pub(super) fn collects_garbage(&self) -> bool {
        self.controllers.iter().any(|name| name == "garbage-collector-controller")
    }

    /// Whether namespaces were ended.
    pub(super) fn ends_namespaces(&self) -> bool {
        self.controllers.iter().any(|name| name == "namespace-controller")
    }

    /// How fast the recorded controller might send; none if as fast as it liked.
    pub(super) fn client_limits(&self) -> Option<ClientLimits> {
        let flag = |name| self.controller_flags.iter().find_map(|flag| flag.strip_prefix(name)?.parse::<u32>().ok());
        let default = ClientLimits::default();
        let qps = flag("--kube-api-qps=").map_or(default.qps, f64::from);
        let burst = flag("--kube-api-burst=").unwrap_or(default.burst);
        (qps < 1000.0).then_some(ClientLimits { qps, burst })
    }
}

/// When the quiet was over that a request which was answered at `next` has broken: what was written just before then was written because
/// of it.
fn end_of_quiet(writes: &[Duration], next: Duration, quiet: Duration) -> Duration {
    let mut over = next;
    for write in writes.iter().rev().filter(|write| **write < next) {
        if over.saturating_sub(*write) >= quiet / 2 {
            break;
        }
        over = *write;
    }
    over
}

fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    // What was before the start of the script counts as its start.
    i64::deserialize(from).map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
}
