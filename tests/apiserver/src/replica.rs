//! Replicas: servers over the same storage whose caches lag behind it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::request::Request;

/// Which replicas lag, and who is served by them.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    /// How far each of those has come that lag.
    lagging: BTreeMap<Arc<str>, u64>,
    /// A part of the user agent, and the replica.
    routes: Vec<(String, Arc<str>)>,
}

impl Replicas {
    pub(crate) fn set(&mut self, name: &str, version: Option<u64>) {
        match version {
            Some(version) => self.lagging.insert(name.into(), version),
            None => self.lagging.remove(name),
        };
    }

    pub(crate) fn route(&mut self, agent: &str, replica: &str) {
        self.routes.retain(|(known, _)| known != agent);
        self.routes.push((agent.to_owned(), replica.into()));
    }

    /// The replica that serves a request; none if nothing is known of it.
    pub(crate) fn serving(&self, request: &Request) -> Option<&Arc<str>> {
        if self.routes.is_empty() {
            return None;
        }
        let agent = request.agent();
        self.routes.iter().rev().find(|(part, _)| agent.contains(part)).map(|(_, replica)| replica)
    }

    /// How far a replica has come; none if it is up to date.
    pub(crate) fn version(&self, replica: Option<&Arc<str>>) -> Option<u64> {
        self.lagging.get(replica?).copied()
    }
}
