//! The normal form: what a recording and a play have in common when names, uids, versions and times that a server made up are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sanskube::time::Timestamp;
use serde_json::{Value, json};

use super::pods::{Histories, is_made_up};
use super::scenario::Scenario;
use super::write::{Write, pod_of};

/// The letters of which API servers make names (apiserver `pkg/storage/names/generate.go`).
const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";

/// Where a value is from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    /// From a play. Times from then on are made up, earlier ones are literal.
    Played { since: Timestamp },
    /// From a recording, with symbols.
    Recorded,
}

/// What the uids of one side stand for, and what made-up names begin with.
#[derive(Debug)]
pub(super) struct Identities {
    side: Side,
    uids: BTreeMap<String, String>,
    prefixes: BTreeSet<String>,
}

/// The uids of a recording.
pub(super) fn recorded(scenario: &Scenario) -> Identities {
    let mut identities = Identities::new(Side::Recorded);
    let examples = scenario.example_create.iter().map(super::scenario::Recorded::write);
    for write in examples.chain(scenario.writes()).chain(scenario.events()) {
        identities.learn_write(&write);
    }
    for items in scenario.end.values() {
        for item in items.as_array().into_iter().flatten() {
            identities.learn(item);
        }
    }
    identities
}

impl Identities {
    pub(super) fn new(side: Side) -> Self {
        Self { side, uids: BTreeMap::new(), prefixes: BTreeSet::new() }
    }

    /// Takes note of the objects in an answer or a request.
    pub(super) fn learn(&mut self, value: &Value) {
        let Value::Object(fields) = value else {
            value.as_array().into_iter().flatten().for_each(|item| self.learn(item));
            return;
        };
        if let Some(prefix) = fields.get("generateName").and_then(Value::as_str) {
            self.prefixes.insert(prefix.to_owned());
        }
        if let (Some(Value::String(name)), Some(Value::String(uid))) = (fields.get("name"), fields.get("uid")) {
            self.name(uid, name);
        }
        fields.values().for_each(|value| self.learn(value));
    }

    /// Takes note of what a write and its answer say.
    pub(super) fn learn_write(&mut self, write: &Write) {
        self.learn(&write.body);
        self.learn(&write.response);
        if let (Some(pod), Some(uid)) = (write.pod(), write.body["metadata"]["uid"].as_str()) {
            self.name(uid, pod);
        }
    }

    fn name(&mut self, uid: &str, name: &str) {
        if self.uids.contains_key(uid) {
            return;
        }
        let name = self.text(name);
        let namesakes = self.uids.values().filter(|taken| taken.split('#').next() == Some(&name)).count();
        let name = if namesakes == 0 || is_made_up(&name) { name } else { format!("{name}#{}", namesakes + 1) };
        self.uids.insert(uid.to_owned(), name);
    }

    /// A value in normal form.
    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let normal = |(key, value): (&String, &Value)| match (key.as_str(), value) {
                    ("resourceVersion", Value::String(_)) => (key.clone(), json!("<rv>")),
                    _ => (key.clone(), self.value(value)),
                };
                Value::Object(fields.iter().map(normal).collect())
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(text) => Value::String(self.text(text)),
            other => other.clone(),
        }
    }

    /// A text in normal form.
    pub(super) fn text(&self, text: &str) -> String {
        if let Some(name) = self.uids.get(text) {
            return format!("<uid of {name}>");
        }
        let text = match self.side {
            Side::Played { since } => {
                let made_up = |time: Timestamp| time.as_seconds() >= since.as_seconds();
                if Timestamp::parse(text).is_some_and(made_up) {
                    return "<time>".to_owned();
                }
                without_event_suffix(text)
            }
            Side::Recorded => without_numbers(text),
        };
        self.prefixes.iter().fold(text, |text, prefix| without_suffix(&text, prefix))
    }

    /// A write in normal form. A pod whose name was made up is named by what was done to it before.
    pub(super) fn write(&self, write: &Write, histories: &Histories) -> Value {
        let mut path = self.text(&write.path);
        if let Some(pod) = write.pod()
            && self.is_made_up(pod)
        {
            let history = histories.before(pod, write.at).join(", ");
            path = format!("{path} after [{history}]");
        }
        json!({
            "method": write.method, "path": path, "content_type": write.content_type, "body": self.value(&write.body),
        })
    }

    /// What remains of a set at the end.
    pub(super) fn set(&self, set: &Value) -> Value {
        let meta = &set["metadata"];
        json!({
            "name": meta["name"], "spec": self.value(&set["spec"]), "status": self.value(&set["status"]),
            "deleted": meta.get("deletionTimestamp").is_some(), "finalizers": meta["finalizers"],
        })
    }

    /// What remains of a pod at the end.
    pub(super) fn pod(&self, pod: &Value, histories: &Histories) -> Value {
        let meta = &pod["metadata"];
        let name = meta["name"].as_str().unwrap_or_default();
        let history = if self.is_made_up(name) { histories.before(name, Duration::MAX) } else { Vec::new() };
        json!({
            "name": self.text(name), "history": history, "labels": meta["labels"],
            "owners": self.value(&meta["ownerReferences"]), "phase": pod["status"]["phase"],
            "deleted": meta.get("deletionTimestamp").is_some(), "finalizers": meta["finalizers"],
        })
    }

    /// What a write of a controller did to a pod.
    pub(super) fn touch(&self, write: &Write) -> Option<String> {
        pod_of(&write.path).filter(|pod| self.is_made_up(pod) && write.succeeded())?;
        match write.method.as_str() {
            "DELETE" => Some("controller: DELETE".to_owned()),
            "PATCH" => Some(format!("controller: PATCH {}", self.value(&write.body))),
            _ => None,
        }
    }

    fn is_made_up(&self, name: &str) -> bool {
        is_made_up(&self.text(name))
    }
}

/// `web-x7b2k` becomes `web-<sfx>`, also inside a longer text.
fn without_suffix(text: &str, prefix: &str) -> String {
    let mut normal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(prefix).filter(|_| !prefix.is_empty()) {
        let (before, found) = rest.split_at(at);
        let (prefix, after) = found.split_at(prefix.len());
        normal += before;
        normal += prefix;
        let length = after.chars().take_while(|c| LETTERS.contains(*c)).count();
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let whole = !before.ends_with(inside) && !after[length..].starts_with(inside);
        rest = if length == 5 && whole {
            normal += "<sfx>";
            &after[length..]
        } else {
            after
        };
    }
    normal + rest
}

/// `web.18ec9557c5dc11a7` becomes `web.<evsfx>`.
fn without_event_suffix(text: &str) -> String {
    match text.rsplit_once('.') {
        Some((name, suffix)) if suffix.len() == 16 && suffix.bytes().all(|b| b.is_ascii_hexdigit()) => {
            format!("{name}.<evsfx>")
        }
        _ => text.to_owned(),
    }
}

/// `<sfx:3>` becomes `<sfx>`, and so on; each sort of time becomes `<time>`.
fn without_numbers(text: &str) -> String {
    let mut normal = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        normal += before;
        rest = match after.split_once('>') {
            Some((symbol, after)) => {
                normal += match symbol.split(':').next().unwrap_or_default() {
                    "sfx" => "<sfx>",
                    "evsfx" => "<evsfx>",
                    "rv" | "lrv" => "<rv>",
                    "created" | "del" | "microtime" | "time" | "now" => "<time>",
                    "uid" => "<uid>",
                    _ => {
                        normal.push('<');
                        rest = after;
                        normal += symbol;
                        normal.push('>');
                        continue;
                    }
                };
                after
            }
            None => {
                normal.push('<');
                after
            }
        };
    }
    normal + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_have_the_same_normal_form() {
        let mut recorded = Identities::new(Side::Recorded);
        let mut played = Identities::new(Side::Played { since: Timestamp::from_seconds(1_800_000_000) });
        let object = |name: &str, uid: &str| json!({"metadata": {"generateName": "web-", "name": name, "uid": uid}});
        recorded.learn(&object("web-<sfx:4>", "<uid:2>"));
        played.learn(&object("web-x7b2k", "869bc42d-cbb5-4963-a2f1-48cc63f4f842"));
        let there = json!({
            "uid": "<uid:2>", "resourceVersion": "<rv:7>", "at": "<created:2>", "literal": "2026-01-01T00:00:00Z",
            "message": "pods \"web-<sfx:9>\" is forbidden", "event": "web.<evsfx:1>", "web-abc": "<a> < web-1",
        });
        let here = json!({
            "uid": "869bc42d-cbb5-4963-a2f1-48cc63f4f842", "resourceVersion": "77", "at": "2027-02-01T00:00:00Z",
            "literal": "2026-01-01T00:00:00Z", "message": "pods \"web-bcdf2\" is forbidden",
            "event": "web.18ec9557c5dc11a7", "web-abc": "<a> < web-1",
        });
        assert_eq!(recorded.value(&there), played.value(&here));
        assert_eq!(played.text("my-web-bcdf2 web-bcdf2-x web-bcdf"), "my-web-bcdf2 web-bcdf2-x web-bcdf");
    }
}
