//! Connections to one server, each used for one exchange after the other.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sanskube::machine::Part;
use sanskube::request::{Call, Failure};

use crate::connection::Connection;
use crate::exchange::{Reporter, exchange};
use crate::server::Server;

/// A server, and the connections to it that wait for the next call.
pub(crate) struct Pool {
    pub(crate) server: Server,
    /// Connections that were quiet when they were put here.
    idle: Mutex<Vec<Connection>>,
    /// How many of them are kept.
    most_idle: usize,
    /// What was said last about why the server cannot be reached; none while it can. It is told the operator once, not at each try.
    refusal: Mutex<Option<String>>,
}

impl Pool {
    pub(crate) fn new(server: Server, most_idle: usize) -> Self {
        Self { server, idle: Mutex::new(Vec::new()), most_idle, refusal: Mutex::new(None) }
    }

    /// Makes one call and reports what comes. Dropping the future drops its connection.
    pub(crate) async fn call(&self, call: &Call, reporter: &Reporter) {
        let mut connection = match self.idle_connection() {
            Some(connection) => connection,
            None => match Connection::open(&self.server).await {
                Ok(connection) => connection,
                Err(e) => {
                    log::debug!("{:?}: {e}", call.request);
                    self.handle_refusal(&e);
                    // Nobody listening means nothing to report.
                    let _ = reporter.report(Part::Failed(Failure::Refused)).await;
                    return;
                }
            },
        };
        match exchange(&mut connection, &self.server, call, reporter).await {
            Ok(reusable) => {
                self.handle_answer();
                if reusable {
                    self.keep(connection);
                }
            }
            Err(e) => {
                log::debug!("{:?}: {e}", call.request);
                let _ = reporter.report(Part::Failed(e.failure())).await;
            }
        }
    }

    fn idle_connection(&self) -> Option<Connection> {
        let mut idle = lock(&self.idle);
        while let Some(connection) = idle.pop() {
            if connection.is_quiet() {
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, connection: Connection) {
        let mut idle = lock(&self.idle);
        if idle.len() < self.most_idle && connection.is_quiet() {
            idle.push(connection);
        }
    }

    fn handle_refusal(&self, error: &impl fmt::Display) {
        let error = error.to_string();
        let mut refusal = lock(&self.refusal);
        if refusal.as_ref() != Some(&error) {
            log::warn!("cannot reach {}: {error}; trying again", self.server.url);
            *refusal = Some(error);
        }
    }

    fn handle_answer(&self) {
        if lock(&self.refusal).take().is_some() {
            log::info!("{} can be reached again", self.server.url);
        }
    }
}

/// Nothing can panic while one of these locks is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
