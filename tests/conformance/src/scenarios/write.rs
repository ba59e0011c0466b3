//! A write: a request that a controller made to change something, and what came of it.

use std::time::Duration;

use serde_json::Value;

/// A write of either side.
#[derive(Clone, Debug)]
pub(super) struct Write {
    /// When it was sent, from the start of the script.
    pub(super) at: Duration,
    /// When it was answered, if that is known.
    pub(super) ended: Option<Duration>,
    pub(super) method: String,
    /// Path and query.
    pub(super) path: String,
    pub(super) content_type: String,
    pub(super) body: Value,
    /// The status of the answer; zero if there was none.
    pub(super) status: u16,
    pub(super) response: Value,
    /// The name that the server gave what was created.
    pub(super) created: Option<String>,
}

impl Write {
    pub(super) fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn is_event(&self) -> bool {
        self.path.contains("/events")
    }

    pub(super) fn is_status(&self) -> bool {
        self.method == "PUT" && self.path.ends_with("/status")
    }

    pub(super) fn is_create_of_pod(&self) -> bool {
        self.method == "POST" && self.path.ends_with("/pods")
    }

    pub(super) fn is_of_pod(&self) -> bool {
        self.is_create_of_pod() || self.pod().is_some()
    }

    /// The name of the pod that it is about, if it is about one that exists.
    pub(super) fn pod(&self) -> Option<&str> {
        pod_of(&self.path)
    }

    /// What sort of write it is, such as `POST pods`.
    pub(super) fn sort(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let after = parts.iter().position(|part| *part == "namespaces").map_or(0, |at| at + 2);
        let parts = parts.get(after..).unwrap_or_default();
        match parts {
            [resource, _, sub] => format!("{} {resource}/{sub}", self.method),
            [resource, ..] => format!("{} {resource}", self.method),
            [] => format!("{} {path}", self.method),
        }
    }
}

/// The name of the pod in a path, if there is one.
pub(super) fn pod_of(path: &str) -> Option<&str> {
    let rest = path.split_once("/pods/")?.1;
    rest.split(['/', '?']).next().filter(|name| !name.is_empty())
}
