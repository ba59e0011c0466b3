//! Connections to one server, each used for one exchange after the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_rustls::rustls::ClientConfig;
use sanskube::machine::Part;
use sanskube::request::Call;
use sanskube_access::http::{HeaderValue, StatusCode};
use sanskube_access::{Credentials, Reach, Server};

use crate::connection::Connection;
use crate::exchange::{Answering, Error, Reporter};

/// A server, and the connections to it that wait for the next call.
pub(crate) struct Pool {
    pub(crate) server: Server,
    reach: Reach,
    /// Connections that were quiet when they were put here.
    idle: Mutex<Vec<Connection>>,
    /// How many of them are kept.
    most_idle: usize,
    /// The configuration of TLS, and the generation of credentials that it is of; made when it is wanted first.
    tls: Mutex<Option<(u64, Arc<ClientConfig>)>>,
}

impl Pool {
    pub(crate) fn new(server: Server, most_idle: usize) -> Self {
        let (idle, tls) = (Mutex::default(), Mutex::default());
        Self { server, reach: Reach::default(), idle, most_idle, tls }
    }

    /// Makes one call and reports what comes. Dropping the future drops its connection.
    pub(crate) async fn call(&self, call: &Call, reporter: &Reporter) {
        if let Err(error) = self.attempt(call, reporter).await {
            log::debug!("{:?}: {error}", call.request);
            if let Error::Refused(error) = &error {
                self.reach.handle_refusal(&self.server.url, error);
            }
            // Nobody listening means nothing to report.
            let _ = reporter.report(Part::Failed(error.failure())).await;
        }
    }

    async fn attempt(&self, call: &Call, reporter: &Reporter) -> Result<(), Error> {
        let ask = Credentials::header;
        let authorization = self.ask(ask).await;
        let mut answering = self.open(call, authorization.clone()).await?;
        // Credentials change while they are in use, and are the transport's to look after: a request that was refused for them is made once more.
        if answering.head.status == StatusCode::UNAUTHORIZED.as_u16()
            && self.ask(move |credentials| credentials.renew(authorization.as_ref())).await
        {
            drop(answering);
            answering = self.open(call, self.ask(ask).await).await?;
        }
        self.reach.handle_answer(&self.server.url);
        if let Some(connection) = answering.report(reporter).await? {
            self.keep(connection);
        }
        Ok(())
    }

    /// Asks the credentials for something, and lets nobody wait where they have to read a file or run a program.
    async fn ask<R: Send + 'static>(&self, ask: impl FnOnce(&Credentials) -> R + Send + 'static) -> R {
        if self.server.credentials.may_block() {
            let credentials = self.server.credentials.clone();
            blocking::unblock(move || ask(&credentials)).await
        } else {
            ask(&self.server.credentials)
        }
    }

    /// Sends a call, and returns when the head of its answer is there.
    async fn open(&self, call: &Call, authorization: Option<HeaderValue>) -> Result<Answering, Error> {
        let generation = self.server.credentials.generation();
        let connection = match self.idle_connection(generation) {
            Some(connection) => connection,
            None => {
                let open = Connection::open(&self.server, generation, || self.tls(generation));
                open.await.map_err(Error::Refused)?
            }
        };
        Answering::open(connection, &self.server, call, authorization).await
    }

    fn tls(&self, generation: u64) -> Arc<ClientConfig> {
        let mut tls = lock(&self.tls);
        match &*tls {
            Some((of, config)) if *of == generation => config.clone(),
            _ => tls.insert((generation, self.server.tls_now().config())).1.clone(),
        }
    }

    /// A connection on which the newest certificate was shown.
    fn idle_connection(&self, generation: u64) -> Option<Connection> {
        let mut idle = lock(&self.idle);
        while let Some(connection) = idle.pop() {
            if connection.generation() == generation && connection.is_quiet() {
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
}

/// Nothing can panic while one of these locks is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
