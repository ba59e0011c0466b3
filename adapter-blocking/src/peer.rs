//! A server, and whether it can be reached.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::server::Server;

/// A server, and whether it can be reached: what keeps that from happening is told the operator once, not at each try.
pub(crate) struct Peer {
    pub(crate) server: Server,
    /// The URL that requests go to.
    pub(crate) url: String,
    /// Their `Host` header, where it does not follow from the URL.
    pub(crate) host: Option<String>,
    /// What was said last about why it cannot be reached; none while it can.
    refusal: Mutex<Option<String>>,
}

impl Peer {
    pub(crate) fn new(server: Server) -> Self {
        let (url, host) = server.target();
        Self { server, url, host, refusal: Mutex::new(None) }
    }

    /// No connection could be made.
    pub(crate) fn handle_refusal(&self, error: &impl fmt::Display) {
        let error = error.to_string();
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        if refusal.as_ref() != Some(&error) {
            log::warn!("cannot reach {}: {error}; trying again", self.server.url);
            *refusal = Some(error);
        }
    }

    /// An answer came, whatever it says.
    pub(crate) fn handle_answer(&self) {
        if self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            log::info!("{} can be reached again", self.server.url);
        }
    }
}
