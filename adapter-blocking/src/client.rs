//! The client: operations on objects, sent one by one.

use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Instant as StdInstant;

use sanskube::client::{Error, Event, Events, Operation, Step, Watch};
use sanskube::limits::Limits;
use sanskube::object::Decode;
use sanskube::request::{Call, Collector, Failure, Outcome};
use sanskube::time::Instant;
use sanskube_access::{Clock, Server};
use ureq::BodyReader;

use crate::exchange::{PIECE, classify, head, open};
use crate::pool::Pool;

/// Sends operations to a server, on the thread that asks. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    clock: Clock,
    limits: Limits,
    pub(crate) pool: Arc<Pool>,
}

impl Client {
    /// A client that keeps up to `most_idle` connections for later operations.
    pub fn new(server: Server, most_idle: usize) -> Self {
        Self { clock: Clock::start(), limits: Limits::default(), pool: Arc::new(Pool::new(server, most_idle)) }
    }

    /// The client with other bounds: how long an operation may take, how large an answer may be.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Does something with an [`Api`](sanskube::client::Api). A server that is busy is asked again after the pause it names; nothing else is ever done twice.
    ///
    /// # Errors
    /// There is no result; see [`Error`].
    pub fn send<A>(&self, operation: Operation<A>) -> Result<A, Error> {
        let mut attempts = operation.attempts(self.limits);
        loop {
            match attempts.poll(self.now()) {
                Step::Done(result) => return result,
                Step::Send(call) => attempts.handle_outcome(self.now(), &self.outcome(&call)),
                Step::Wait { until: Some(until) } => sleep(self.clock.until(until)),
                Step::Wait { until: None } => unreachable!("an outcome was handed over"),
            }
        }
    }

    /// Opens a watch. It ends when the server ends it, and is not resumed; [`Runner::watch`](crate::Runner::watch) keeps a cache that is.
    pub fn watch<T: Decode>(&self, watch: Watch<T>) -> Watching<T> {
        let (call, mut events) = watch.open(self.now(), self.limits);
        let agent = self.pool.watch_agent();
        let until = StdInstant::now() + self.clock.until(call.deadline);
        let body = match open(&self.pool, Some(&agent), &call, until) {
            Ok(response) => {
                events.handle_head(head(&response));
                Some(response.into_body().into_reader())
            }
            Err(error) => {
                events.handle_failure(classify(&error));
                None
            }
        };
        Watching { events, body }
    }

    fn now(&self) -> Instant {
        self.clock.now().instant
    }

    fn outcome(&self, call: &Call) -> Outcome {
        let until = StdInstant::now() + self.clock.until(call.deadline);
        let gathered = open(&self.pool, None, call, until).and_then(|mut response| {
            let mut answer = Collector::new(self.limits.answer_bytes);
            answer.handle_head(head(&response));
            let mut body = response.body_mut().as_reader();
            let mut piece = [0; PIECE];
            while let length @ 1.. = body.read(&mut piece)? {
                answer.handle_body(&piece[..length]);
            }
            Ok(answer)
        });
        match gathered {
            Ok(answer) => answer.finish(),
            Err(error) => {
                log::debug!("{:?}: {error}", call.request);
                Outcome::Failed(classify(&error))
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.pool.server).finish_non_exhaustive()
    }
}

/// A watch: an iterator that waits for what happens to objects. Dropping it closes its connection.
pub struct Watching<T> {
    events: Events<T>,
    body: Option<BodyReader<'static>>,
}

impl<T: Decode> Iterator for Watching<T> {
    type Item = Result<Event<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut piece = [0; PIECE];
        loop {
            if let Some(event) = self.events.poll_event() {
                return Some(event);
            }
            if self.events.has_ended() {
                return None;
            }
            match self.body.as_mut().map(|body| body.read(&mut piece)) {
                None => self.events.handle_failure(Failure::Cut),
                Some(Ok(0)) => self.events.handle_end(),
                Some(Ok(length)) => self.events.handle_body(&piece[..length]),
                Some(Err(error)) => self.events.handle_failure(classify(&error.into())),
            }
        }
    }
}

impl<T> fmt::Debug for Watching<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events.fmt(f)
    }
}
