//! Somebody who talks to the API server as `kubectl` would: the one who acts in the story, and who looks at what came of it.

use std::fmt;
use std::time::Duration;

use sanskube::request::{JSON, STRATEGIC_MERGE_PATCH};
use serde_json::Value;
use ureq::{Agent, http};

/// `Content-Type` of a JSON merge patch.
const MERGE_PATCH: &str = "application/merge-patch+json";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where the story happens.
const NAMESPACE: &str = "default";

/// A client of one namespace, in JSON.
pub(super) struct User {
    agent: Agent,
    url: String,
}

/// A request of the user's failed. This is not a failure that the controller has to put up with.
#[derive(Debug)]
pub(super) struct UserError(String);

impl UserError {
    /// An error that is explained by `what`.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UserError {}

/// The kinds of objects in the story.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Pod,
    ReplicaSet,
}

impl Kind {
    fn path(self) -> String {
        let (group, resource) = match self {
            Self::Pod => ("api/v1", "pods"),
            Self::ReplicaSet => ("apis/apps/v1", "replicasets"),
        };
        format!("/{group}/namespaces/{NAMESPACE}/{resource}")
    }
}

impl User {
    /// A user of the API server at this URL.
    pub(super) fn new(url: &str) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).proxy(None).timeout_global(Some(PATIENCE));
        let agent = config.build().new_agent();
        Self { agent, url: url.to_owned() }
    }

    /// Every object of a kind.
    pub(super) fn list(&self, kind: Kind) -> Result<Vec<Value>, UserError> {
        let mut list = self.send("GET", &kind.path(), "", None)?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Creates an object. The answer is the object as it was stored.
    pub(super) fn create(&self, kind: Kind, object: &Value) -> Result<Value, UserError> {
        self.send("POST", &kind.path(), JSON, Some(object))
    }

    /// Merges `change` into an object.
    pub(super) fn patch(&self, kind: Kind, name: &str, change: &Value) -> Result<Value, UserError> {
        self.send("PATCH", &format!("{}/{name}", kind.path()), MERGE_PATCH, Some(change))
    }

    /// Merges `change` into the status of an object, as its owner would: conditions are told apart by their type.
    pub(super) fn patch_status(&self, kind: Kind, name: &str, change: &Value) -> Result<Value, UserError> {
        self.send("PATCH", &format!("{}/{name}/status", kind.path()), STRATEGIC_MERGE_PATCH, Some(change))
    }

    /// Deletes an object, and in the background what it owns.
    pub(super) fn delete(&self, kind: Kind, name: &str) -> Result<Value, UserError> {
        self.send("DELETE", &format!("{}/{name}?propagationPolicy=Background", kind.path()), "", None)
    }

    fn send(&self, method: &str, path: &str, content_type: &str, body: Option<&Value>) -> Result<Value, UserError> {
        let error = |what: &dyn fmt::Display| UserError(format!("{method} {path}: {what}"));
        let mut builder = http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if body.is_some() {
            builder = builder.header(http::header::CONTENT_TYPE, content_type);
        }
        let sent = match body {
            Some(body) => builder.body(body.to_string()).map_err(ureq::Error::from).and_then(|r| self.agent.run(r)),
            None => builder.body(()).map_err(ureq::Error::from).and_then(|r| self.agent.run(r)),
        };
        let mut response = sent.map_err(|e| error(&e))?;
        let text = response.body_mut().read_to_string().map_err(|e| error(&e))?;
        let answer: Value = serde_json::from_str(&text).map_err(|e| error(&e))?;
        if response.status().is_success() {
            return Ok(answer);
        }
        let message = answer.get("message").and_then(Value::as_str).unwrap_or("no message");
        Err(error(&format!("{}: {message}", response.status())))
    }
}
