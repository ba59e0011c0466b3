//! Calls and their answers, in words.

use sanskube::key::Key;
use sanskube::request::{Call, Method, Request};
use serde_json::Value;

/// How much of the answer to a short call is kept to be read: what an object's name or an error's message is in.
const BODY_BYTES: usize = 1 << 20;

/// A call in flight, and what is known of its answer.
#[derive(Debug)]
pub(super) struct Told {
    /// What it is to do, such as `list pods`.
    pub(super) what: String,
    pub(super) purpose: Purpose,
    /// The sets and pods that it is about.
    pub(super) keys: Vec<Key>,
    /// The status of the answer.
    pub(super) status: Option<u16>,
    /// How long the body is so far.
    pub(super) bytes: u64,
    body: Vec<u8>,
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To write an event.
    Event,
    /// To see or renew a lease.
    Lease,
    /// To list a collection.
    List,
    /// To do something about a set.
    Sync,
    /// To watch a collection.
    Watch,
}

/// What the path of a request is about.
#[derive(Debug, Default)]
pub(super) struct Place<'a> {
    pub(super) namespace: &'a str,
    pub(super) resource: &'a str,
    pub(super) name: &'a str,
    pub(super) query: &'a str,
}

impl<'a> Place<'a> {
    /// Reads `/api/v1/…` and `/apis/GROUP/VERSION/…`.
    pub(super) fn of(path: &'a str) -> Self {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut segments = path.split('/').skip(1);
        let group = segments.next();
        // The version, behind a group's name if there is one.
        segments.nth(usize::from(group == Some("apis")));
        let mut next = || segments.next().unwrap_or_default();
        let (mut namespace, mut resource) = ("", next());
        if resource == "namespaces" {
            (namespace, resource) = (next(), next());
        }
        Self { namespace, resource, name: next(), query }
    }

    /// A parameter of the query.
    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    pub(super) fn key(&self) -> Key {
        Key::new(self.namespace, self.name)
    }
}

impl Told {
    /// What a call is about, but for what only the one knows who has seen the decision.
    pub(super) fn new(call: &Call) -> Self {
        let Request { method, path, body, .. } = &call.request;
        let place = Place::of(path);
        let json: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |path: &str| json.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let Place { namespace, resource, .. } = place;
        let key = place.key();
        let (purpose, keys, what) = match (method, resource) {
            (_, "leases") => (Purpose::Lease, Vec::new(), format!("{} lease {key}", verb(*method))),
            (_, "events") => {
                let about = Key::new(text("/involvedObject/namespace"), text("/involvedObject/name"));
                let what = match method {
                    Method::Post => format!("event for {about}: {}", text("/message")),
                    _ => format!("event {key} again"),
                };
                (Purpose::Event, vec![about], what)
            }
            (Method::Get, _) if place.name.is_empty() => {
                let (purpose, what) = collection(&place, call.watch);
                (purpose, Vec::new(), what)
            }
            (Method::Post, _) => {
                let owner = Key::new(namespace, text("/metadata/ownerReferences/0/name"));
                let what = format!("create a pod for {owner}");
                (Purpose::Sync, vec![owner], what)
            }
            (Method::Put, _) => (Purpose::Sync, vec![key.clone()], format!("write the status of {key}")),
            _ => {
                let what = format!("{} {} {key}", verb(*method), resource.strip_suffix('s').unwrap_or(resource));
                (Purpose::Sync, vec![key], what)
            }
        };
        Self { what, purpose, keys, status: None, bytes: 0, body: Vec::new() }
    }

    pub(super) fn add_body(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if !matches!(self.purpose, Purpose::List | Purpose::Watch) && self.body.len() + bytes.len() <= BODY_BYTES {
            self.body.extend_from_slice(bytes);
        }
    }

    /// A text in the body of the answer.
    pub(super) fn answered(&self, path: &str) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body.pointer(path)?.as_str().map(str::to_owned)
    }

    pub(super) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

fn collection(place: &Place<'_>, watch: bool) -> (Purpose, String) {
    let resource = place.resource;
    let in_namespace = if place.namespace.is_empty() { String::new() } else { format!(" in {}", place.namespace) };
    if !watch {
        let page = if place.parameter("continue").is_some() { "list more" } else { "list" };
        return (Purpose::List, format!("{page} {resource}{in_namespace}"));
    }
    let version = place.parameter("resourceVersion").unwrap_or_default();
    let what = match place.parameter("sendInitialEvents") {
        Some("true") => format!("list {resource}{in_namespace} as a stream, and watch them"),
        _ => format!("watch {resource}{in_namespace} from version {version}"),
    };
    (Purpose::Watch, what)
}

fn verb(method: Method) -> &'static str {
    match method {
        Method::Delete => "delete",
        Method::Get => "read",
        Method::Patch => "patch",
        Method::Post => "create",
        Method::Put => "write",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_with_and_without_group_and_namespace() {
        let read = |path| {
            let place = Place::of(path);
            (place.namespace, place.resource, place.name, place.query)
        };
        assert_eq!(read("/api/v1/pods?limit=5"), ("", "pods", "", "limit=5"));
        assert_eq!(read("/apis/apps/v1/replicasets"), ("", "replicasets", "", ""));
        let status = "/apis/apps/v1/namespaces/shop/replicasets/web/status";
        assert_eq!(read(status), ("shop", "replicasets", "web", ""));
        assert_eq!(read("/api/v1/namespaces/shop/pods/web-1"), ("shop", "pods", "web-1", ""));
        for odd in ["", "/", "//", "/api", "/apis/x", "/api/v1/namespaces", "pods"] {
            read(odd);
        }
    }
}
