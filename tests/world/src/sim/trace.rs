//! A trace: what has happened, line by line, for people.

use sanskube::machine::{Answer, Part};
use sanskube::request::{Method, Request};
use sanskube::time::Instant;
use serde_json::Value;

use crate::check::adopts;
use crate::client::ClientId;
use crate::member::Member;
use crate::world::{Happening, World};

/// The lines of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The lines, each with its time in seconds.
    pub lines: Vec<String>,
    /// The version of the server at the last line.
    version: u64,
}

impl Trace {
    pub(super) fn say(&mut self, now: Instant, what: &str) {
        let seconds = now.since(Instant::ZERO).as_secs_f64();
        self.lines.push(format!("{seconds:12.6}  {what}"));
    }

    /// Notes the last step of a world.
    pub(super) fn note(&mut self, world: &World<Member>) {
        let now = world.now().instant;
        let version = world.api().resource_version();
        let before = std::mem::replace(&mut self.version, version);
        match world.last() {
            Happening::Answered(client, answer) => self.say(now, &format!("{} ◄ {}", name(*client), part(answer))),
            Happening::Held(client, answer) => self.say(now, &format!("{} … {}", name(*client), part(answer))),
            Happening::Lost(client, answer) => self.say(now, &format!("{} ✗ {}", name(*client), part(answer))),
            Happening::Nothing => {}
            Happening::Served(client, call) => {
                let exchange = world.exchanges().last().filter(|exchange| exchange.call == call.id);
                let answer = exchange.map_or_else(|| "open".to_owned(), |exchange| exchange.status.to_string());
                let id = call.id.0;
                let asked = asked(&call.request);
                self.say(now, &format!("{} ► #{id} {:?}{asked} = {answer}", name(*client), call.request));
            }
            // Mostly it looks at something and leaves it as it is.
            Happening::Server if version == before => {}
            Happening::Server => self.say(now, &format!("server, kubelet: what is due, up to @{version}")),
            Happening::Timeout(client) => self.say(now, &format!("{} wakes", name(*client))),
        }
    }
}

fn name(client: ClientId) -> String {
    format!("c{}", client.0)
}

/// What a request asks for, as far as its path does not say so.
fn asked(request: &Request) -> String {
    let body = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
    let status = &body["status"];
    let number = |field: &str| status[field].as_u64().unwrap_or(0);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match request.method {
        Method::Patch if request.path.contains("/pods/") => {
            if adopts(request).is_some() {
                " (adopt)".to_owned()
            } else {
                " (release)".to_owned()
            }
        }
        Method::Put if status.is_object() => format!(
            " ({} pods, {} ready, {} available, of generation {})",
            number("replicas"),
            number("readyReplicas"),
            number("availableReplicas"),
            number("observedGeneration")
        ),
        Method::Post if body["reason"].is_string() => {
            format!(" ({}: {})", text(&body["reason"]), text(&body["message"]))
        }
        _ => String::new(),
    }
}

fn part(answer: &Answer) -> String {
    let id = answer.call.0;
    match &answer.part {
        Part::Body(bytes) => format!("#{id} {}", body(bytes)),
        Part::End => format!("#{id} end"),
        Part::Failed(failure) => format!("#{id} {failure}"),
        Part::Head(head) => format!("#{id} {}", head.status),
    }
}

/// What a piece of a body is about: objects by kind, name and version.
fn body(bytes: &[u8]) -> String {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let told = lines.map(|line| match serde_json::from_slice::<Value>(line) {
        Ok(value) if value["object"].is_object() => {
            format!("{} {}", value["type"].as_str().unwrap_or_default(), object(&value["object"]))
        }
        Ok(value) => match value["items"].as_array() {
            Some(items) => {
                let items: Vec<String> = items.iter().map(object).collect();
                format!("list@{} [{}]", value["metadata"]["resourceVersion"].as_str().unwrap_or("?"), items.join(", "))
            }
            None => object(&value),
        },
        Err(_) => format!("{} bytes of a frame", line.len()),
    });
    told.collect::<Vec<_>>().join(", ")
}

fn object(value: &Value) -> String {
    if value["kind"] == "Status" {
        return format!("{} {}", value["reason"].as_str().unwrap_or("Status"), value["code"]);
    }
    let meta = &value["metadata"];
    let text = |field: &str| meta[field].as_str().unwrap_or("-");
    let mut told = format!("{}@{}", text("name"), text("resourceVersion"));
    if meta["deletionTimestamp"].is_string() {
        told.push_str(" deleting");
    }
    if let Some(phase) = value["status"]["phase"].as_str() {
        told.push(' ');
        told.push_str(phase);
    }
    if let Some(replicas) = value["spec"]["replicas"].as_u64() {
        told.push_str(&format!(" {}/{replicas}", value["status"]["replicas"].as_u64().unwrap_or(0)));
    }
    told
}
