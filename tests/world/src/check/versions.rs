//! Versions that controllers ask for.
//!
//! A watch goes on no earlier than from the last version that a watch of the collection told, by an event or a bookmark. Where the server has answered a list that its version is too old or not reached yet, or a watch that what it would go on from has expired, the list that is
//! asked for next names no version. Else a controller and a server can go in a circle for ever (kubernetes/kubernetes#107133, #133810).

use std::collections::{BTreeMap, BTreeSet};

use sanskube::machine::{Answer, Part};
use sanskube::request::{CallId, Method, Request};

use serde::Deserialize;

use super::Violation;
use crate::client::ClientId;
use crate::world::Exchange;

/// What controllers ask of versions, and what they are told.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// The lists and watches that were begun, each with the path of its collection.
    begun: BTreeMap<(ClientId, CallId), String>,
    /// Lists that the server has answered so; the answers are under way.
    refused: BTreeSet<(ClientId, CallId)>,
    /// Who was told so of which collection, and has not asked anything since.
    told: BTreeSet<(ClientId, String)>,
    /// Streaming lists that are not whole yet, whose objects come in no order.
    streaming: BTreeSet<(ClientId, CallId)>,
    /// The last version that a watch has told who, of which collection, since it was listed.
    heard: BTreeMap<(ClientId, String), u64>,
}

impl Versions {
    /// Judges a call that a controller has begun.
    pub(crate) fn note_begun(&mut self, client: ClientId, call: CallId, request: &Request) -> Result<(), Violation> {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        // Lists and watches are of all namespaces.
        if request.method != Method::Get || path.contains("/namespaces/") {
            return Ok(());
        }
        self.begun.insert((client, call), path.to_owned());
        let of = (client, path.to_owned());
        let version = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
        if query.contains("sendInitialEvents=true") {
            self.streaming.insert((client, call));
            self.heard.remove(&of);
        } else if query.contains("watch=true") {
            let heard = self.heard.get(&of).copied().unwrap_or(0);
            if version.and_then(|version| version.parse().ok()).is_none_or(|version: u64| version < heard) {
                let what = format_args!("{client:?} was told all up to {heard}, and asks {request:?}");
                return Err(Violation::new("a watch goes on from the last version that was told", what));
            }
        } else {
            self.heard.remove(&of);
        }
        if self.told.remove(&of) && version.is_some() {
            let what = format_args!("{client:?} was just told that there is no such version, and asks {request:?}");
            return Err(Violation::new("a version that the server cannot serve is not asked for again", what));
        }
        Ok(())
    }

    /// Notes what the server answers to a list.
    pub(crate) fn note_exchange(&mut self, exchange: &Exchange) {
        let refused = match exchange.status {
            // That a page has expired says nothing of the version.
            410 => !exchange.request.path.contains("continue="),
            504 => String::from_utf8_lossy(&exchange.body).contains("Too large resource version"),
            _ => false,
        };
        if refused {
            self.refused.insert((exchange.client, exchange.call));
        }
    }

    /// Notes that a part of an answer has reached a controller.
    pub(crate) fn note_answer(&mut self, client: ClientId, answer: &Answer) {
        let call = (client, answer.call);
        let Some(of) = self.begun.get(&call).map(|path| (client, path.clone())) else { return };
        match &answer.part {
            Part::End if self.refused.remove(&call) => {
                self.told.insert(of);
            }
            // Each event comes as a piece of its own, with the end of its line; one that was cut in two is no event, and neither is a list.
            Part::Body(bytes) if bytes.ends_with(b"\n") => {
                if let Ok(event) = serde_json::from_slice::<Event>(bytes) {
                    self.note_event(call, of, event);
                }
            }
            _ => {}
        }
        if answer.is_last() {
            self.begun.remove(&call);
            self.streaming.remove(&call);
        }
    }

    fn note_event(&mut self, call: (ClientId, CallId), of: (ClientId, String), event: Event) {
        if event.kind == "ERROR" {
            if event.object.code == 410 {
                self.told.insert(of);
            }
            return;
        }
        let metadata = event.object.metadata;
        if metadata.annotations.contains_key("k8s.io/initial-events-end") {
            self.streaming.remove(&call);
        }
        if !self.streaming.contains(&call)
            && let Ok(version) = metadata.resource_version.parse()
        {
            self.heard.insert(of, version);
        }
    }
}

/// An event of a watch.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    object: Told,
}

#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    metadata: ToldMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToldMetadata {
    annotations: BTreeMap<String, String>,
    resource_version: String,
}
