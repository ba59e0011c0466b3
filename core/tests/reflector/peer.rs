//! A scripted server at the other end of one reflector, and a record of what the reflector stores.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sanskube::object::{Meta, Object, Resource};
use sanskube::reflector::{Config, Reflector, ReflectorStore, WatchError};
use sanskube::request::{Call, CallIds, Failure, Head};
use sanskube::resource_version::ResourceVersion;
use sanskube::time::Now;
use sanskube::uid::Uid;
use serde::Deserialize;

/// An object that is nothing but its metadata.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Thing {
    pub(crate) metadata: Meta,
}

impl Object for Thing {
    fn namespace(&self) -> &str {
        self.metadata.namespace()
    }
    fn name(&self) -> &str {
        self.metadata.name()
    }
    fn uid(&self) -> Uid {
        self.metadata.uid.clone()
    }
    fn resource_version(&self) -> ResourceVersion {
        self.metadata.resource_version.clone()
    }
}

pub(crate) const CONFIG_MAPS: Resource = Resource {
    group: Cow::Borrowed(""),
    version: Cow::Borrowed("v1"),
    plural: Cow::Borrowed("configmaps"),
    kind: Cow::Borrowed("ConfigMap"),
};

/// The JSON of the config map `name` at `version`.
pub(crate) fn thing(name: &str, version: u64) -> String {
    format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"ns","resourceVersion":"{version}"}}}}"#
    )
}

pub(crate) fn event(event_type: &str, object: &str) -> String {
    format!("{{\"type\":\"{event_type}\",\"object\":{object}}}\n")
}

pub(crate) fn bookmark(version: u64, end: bool) -> String {
    let annotations = if end { r#","annotations":{"k8s.io/initial-events-end":"true"}"# } else { "" };
    event(
        "BOOKMARK",
        &format!(
            r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"{annotations}}}}}"#
        ),
    )
}

pub(crate) fn list(version: u64, objects: &[String]) -> String {
    page(version, "", objects)
}

pub(crate) fn page(version: u64, token: &str, objects: &[String]) -> String {
    format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{}]}}"#,
        objects.join(",")
    )
}

pub(crate) fn status(code: u16, reason: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","reason":"{reason}","code":{code}}}"#
    )
}

/// What was stored, and each call of the store, such as `add ns/a@5`.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) objects: BTreeMap<String, String>,
    pub(crate) calls: Vec<String>,
    /// The next call of this name fails.
    pub(crate) fail: Option<&'static str>,
}

impl Record {
    fn note(&mut self, call: &'static str, rest: &str) -> Result<(), String> {
        self.calls.push(format!("{call} {rest}").trim_end().to_owned());
        if self.fail == Some(call) {
            self.fail = None;
            return Err(format!("{call} refused"));
        }
        Ok(())
    }
}

fn name(thing: &Thing) -> String {
    format!("{:?}", thing.metadata)
}

impl ReflectorStore<Thing> for Record {
    type Error = String;

    fn replace(&mut self, objects: Vec<Arc<Thing>>, version: &ResourceVersion) -> Result<(), String> {
        let names: Vec<String> = objects.iter().map(|o| name(o)).collect();
        self.note("replace", &format!("[{}] {version}", names.join(" ")))?;
        self.objects = objects.iter().map(|o| (o.key().to_string(), o.resource_version().to_string())).collect();
        Ok(())
    }
    fn add(&mut self, thing: Thing) -> Result<(), String> {
        self.note("add", &name(&thing))?;
        self.objects.insert(thing.key().to_string(), thing.resource_version().to_string());
        Ok(())
    }
    fn update(&mut self, thing: Thing) -> Result<(), String> {
        self.note("update", &name(&thing))?;
        self.objects.insert(thing.key().to_string(), thing.resource_version().to_string());
        Ok(())
    }
    fn delete(&mut self, thing: Thing) -> Result<(), String> {
        self.note("delete", &name(&thing))?;
        self.objects.remove(thing.key().as_str());
        Ok(())
    }
    fn resync(&mut self) -> Result<(), String> {
        self.note("resync", "")
    }
}

/// A reflector, a clock and a script.
pub(crate) struct Peer {
    pub(crate) reflector: Reflector<Thing>,
    pub(crate) store: Record,
    pub(crate) now: Now,
    pub(crate) errors: Vec<WatchError>,
    ids: CallIds,
    /// The call in flight, until it ends or is given up.
    pub(crate) call: Option<Call>,
    /// When each call was made, in milliseconds, and the call.
    pub(crate) calls: Vec<(u64, Call)>,
    pub(crate) cancelled: usize,
}

impl Peer {
    pub(crate) fn new(configure: impl FnOnce(&mut Config)) -> Self {
        Self::of(CONFIG_MAPS, configure)
    }

    pub(crate) fn of(resource: Resource, configure: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(resource);
        configure(&mut config);
        let mut peer = Self {
            reflector: Reflector::new(config),
            store: Record::default(),
            now: Now::default(),
            errors: Vec::new(),
            ids: CallIds::default(),
            call: None,
            calls: Vec::new(),
            cancelled: 0,
        };
        peer.drain();
        peer
    }

    /// A reflector that has listed these objects at this version and has an open watch.
    pub(crate) fn watching(version: u64, objects: &[String]) -> Self {
        let mut peer = Self::new(|_| {});
        peer.answer(200, &list(version, objects));
        peer.open();
        peer
    }

    pub(crate) fn drain(&mut self) {
        self.errors.extend(self.reflector.poll_error());
        if let Some(id) = self.reflector.poll_cancel() {
            assert_eq!(self.call.take().map(|call| call.id), Some(id), "a call that is not in flight was given up");
            self.cancelled += 1;
        }
        if let Some(call) = self.reflector.poll_call(self.now, &mut self.ids) {
            assert!(self.call.is_none(), "two calls at once");
            self.calls.push((self.now.instant.as_nanos() / 1_000_000, call.clone()));
            self.call = Some(call);
        }
        assert!(self.reflector.poll_call(self.now, &mut self.ids).is_none());
    }

    fn id(&self) -> sanskube::request::CallId {
        self.call.as_ref().expect("a call is in flight").id
    }

    pub(crate) fn head(&mut self, status: u16, retry_after: Option<u64>) {
        let head = Head { retry_after: retry_after.map(Duration::from_secs), ..Head::new(status) };
        self.reflector.handle_head(self.now, self.id(), head).unwrap();
        self.drain();
    }

    pub(crate) fn open(&mut self) {
        self.head(200, None);
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.reflector.handle_body(self.now, self.id(), bytes.as_ref(), &mut self.store).unwrap();
        self.drain();
    }

    pub(crate) fn end(&mut self) {
        let id = self.id();
        self.call = None;
        self.reflector.handle_end(self.now, id, &mut self.store).unwrap();
        self.drain();
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        let id = self.id();
        self.call = None;
        self.reflector.handle_failure(self.now, id, failure).unwrap();
        self.drain();
    }

    /// A whole answer.
    pub(crate) fn answer(&mut self, status: u16, body: &str) {
        self.head(status, None);
        self.send(body);
        self.end();
    }

    pub(crate) fn advance(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.reflector.handle_timeout(self.now, &mut self.store);
        self.drain();
    }

    /// Lets time run to the next deadline.
    pub(crate) fn advance_to_deadline(&mut self) {
        let deadline = self.reflector.next_deadline().expect("something is due");
        self.advance(deadline.since(self.now.instant));
    }

    /// Lets time run until a call is in flight; how long that took.
    pub(crate) fn await_call(&mut self) -> Duration {
        let start = self.now.instant;
        while self.call.is_none() {
            self.advance_to_deadline();
        }
        self.now.instant.since(start)
    }

    /// What the call in flight asks for, without what is the same in all or random: `list?…` or `watch?…`.
    pub(crate) fn asked(&self) -> String {
        short(self.call.as_ref().expect("a call is in flight"))
    }

    /// All calls made since the last time this was asked.
    pub(crate) fn take_calls(&mut self) -> Vec<String> {
        self.calls.drain(..).map(|(_, call)| short(&call)).collect()
    }

    pub(crate) fn last_sync(&self) -> String {
        self.reflector.last_sync_resource_version().to_string()
    }
}

fn short(call: &Call) -> String {
    let (path, query) = call.request.path.split_once('?').unwrap_or((&call.request.path, ""));
    assert!(path.starts_with("/api/v1/") || path.starts_with("/apis/"), "{path}");
    let verb = if call.watch { "watch" } else { "list" };
    let dropped = ["watch=", "allowWatchBookmarks=", "timeoutSeconds="];
    let kept: Vec<&str> =
        query.split('&').filter(|p| !p.is_empty() && !dropped.iter().any(|d| p.starts_with(d))).collect();
    format!("{verb}?{}", kept.join("&"))
}
