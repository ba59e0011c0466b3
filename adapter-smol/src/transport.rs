//! The calls in flight, each a task, and the connections that wait for the next one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_channel::Sender;
use async_executor::{Executor, Task};
use futures_rustls::rustls::ClientConfig;
use sanskube::machine::{Answer, Part};
use sanskube::request::{Call, CallId, Failure};

use crate::connection::Connection;
use crate::driver::Event;
use crate::exchange::{Reporter, exchange};

/// Where requests are sent, and how.
#[derive(Clone)]
pub struct Server {
    /// The URL of the server without a trailing slash, such as `https://10.0.0.1:6443`.
    pub url: String,
    /// The value of the `Authorization` header, if one is to be sent.
    pub authorization: Option<String>,
    /// Trusted certificates and the client's own.
    pub tls: Arc<ClientConfig>,
    /// The `User-Agent` header. API servers name the manager of a field by its part before the slash.
    pub user_agent: String,
}

impl Server {
    /// A server that asks for no credentials, and whose certificates, if it has any, are not trusted yet.
    pub fn new(url: impl Into<String>) -> Self {
        let tls =
            ClientConfig::builder_with_provider(Arc::new(futures_rustls::rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("ring supports the default versions of TLS")
                .with_root_certificates(futures_rustls::rustls::RootCertStore::empty())
                .with_no_client_auth();
        let user_agent = concat!("sanskube/", env!("CARGO_PKG_VERSION")).to_owned();
        Self { url: url.into(), authorization: None, tls: Arc::new(tls), user_agent }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Sends requests and reports their answers as [`Event`]s.
pub(crate) struct Transport {
    executor: Arc<Executor<'static>>,
    events: Sender<Event>,
    shared: Arc<Shared>,
    /// The calls in flight. Dropping a task drops its connection.
    in_flight: HashMap<CallId, Task<()>>,
}

struct Shared {
    server: Server,
    /// Connections that were quiet when they were put here.
    idle: Mutex<Vec<Connection>>,
    /// How many of them are kept.
    most_idle: usize,
}

impl Transport {
    pub(crate) fn new(
        server: Server,
        most_idle: usize,
        executor: Arc<Executor<'static>>,
        events: Sender<Event>,
    ) -> Self {
        let shared = Shared { server, idle: Mutex::new(Vec::new()), most_idle };
        Self { executor, events, shared: Arc::new(shared), in_flight: HashMap::new() }
    }

    /// Begins a call.
    pub(crate) fn start(&mut self, call: Call) {
        let id = call.id;
        let (shared, reporter) = (self.shared.clone(), Reporter { id, events: self.events.clone() });
        self.in_flight.insert(id, self.executor.spawn(async move { shared.call(&call, &reporter).await }));
    }

    /// Gives a call up: its task and connection are dropped.
    pub(crate) fn cancel(&mut self, id: CallId) {
        self.in_flight.remove(&id);
    }

    /// Whether the machine still waits for this. Forgets the call if this is its end.
    pub(crate) fn is_awaited(&mut self, answer: &Answer) -> bool {
        if answer.is_last() {
            // The task has said its last word but may still be putting its connection back.
            self.in_flight.remove(&answer.call).map(Task::detach).is_some()
        } else {
            self.in_flight.contains_key(&answer.call)
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("server", &self.shared.server)
            .field("in_flight", &self.in_flight.len())
            .finish()
    }
}

impl Shared {
    async fn call(&self, call: &Call, reporter: &Reporter) {
        let mut connection = match self.idle_connection() {
            Some(connection) => connection,
            None => match Connection::open(&self.server).await {
                Ok(connection) => connection,
                Err(e) => {
                    log::debug!("{:?}: {e}", call.request);
                    // Nobody listening means nothing to report.
                    let _ = reporter.report(Part::Failed(Failure::Refused)).await;
                    return;
                }
            },
        };
        match exchange(&mut connection, &self.server, call, reporter).await {
            Ok(true) => self.keep(connection),
            Ok(false) => {}
            Err(e) => {
                log::debug!("{:?}: {e}", call.request);
                let _ = reporter.report(Part::Failed(e.failure())).await;
            }
        }
    }

    fn idle_connection(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(connection) = idle.pop() {
            if connection.is_quiet() {
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.most_idle && connection.is_quiet() {
            idle.push(connection);
        }
    }
}
