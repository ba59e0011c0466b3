//! A version that the server cannot serve is not asked for again.
//!
//! Where the server has answered a list that its version is too old or not reached yet, or a watch that what it would go on from has expired, the list that is
//! asked for next names no version. Else a controller and a server can go in a circle for ever (kubernetes/kubernetes#107133, #133810).

use std::collections::{BTreeMap, BTreeSet};

use sanskube::machine::{Answer, Part};
use sanskube::request::{CallId, Method, Request};

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
        if self.told.remove(&(client, path.to_owned())) && query.contains("resourceVersion=") {
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
        let of = (client, answer.call);
        let told = match &answer.part {
            Part::End => self.refused.remove(&of),
            Part::Body(bytes) => is_expiry(bytes),
            _ => false,
        };
        if told && let Some(path) = self.begun.get(&of) {
            self.told.insert((client, path.clone()));
        }
        if answer.is_last() {
            self.begun.remove(&of);
        }
    }
}

/// Whether a piece of a watch is the whole event that tells of an expiry.
fn is_expiry(bytes: &[u8]) -> bool {
    let Ok(event) = serde_json::from_slice::<serde_json::Value>(bytes) else { return false };
    event["type"] == "ERROR" && event["object"]["code"] == 410
}
