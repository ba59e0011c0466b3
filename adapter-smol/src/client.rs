//! The client: operations on objects, sent one by one.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_channel::{Receiver, bounded};
use async_io::Timer;
use futures_lite::{Stream, future, ready};
use sanskube::client::{Error, Event, Events, Operation, Step, Watch};
use sanskube::limits::Limits;
use sanskube::machine::{Answer, Part};
use sanskube::object::Decode;
use sanskube::request::{Call, Collector, Failure, Outcome};
use sanskube::time::Instant;
use sanskube_access::{Clock, Server};

use crate::event::Event as Arrival;
use crate::exchange::Reporter;
use crate::pool::Pool;

/// How many parts of an answer may wait to be taken.
const WAITING_PARTS: usize = 4;

/// Sends operations to a server. Clones share their connections.
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
    /// Dropping the future drops its connection; whether the server has acted then nobody knows.
    ///
    /// # Errors
    /// There is no result; see [`Error`].
    pub async fn send<A>(&self, operation: Operation<A>) -> Result<A, Error> {
        let mut attempts = operation.attempts(self.limits);
        loop {
            match attempts.poll(self.now()) {
                Step::Done(result) => return result,
                Step::Send(call) => attempts.handle_outcome(self.now(), &self.outcome(call).await),
                Step::Wait { until: Some(until) } => drop(Timer::after(self.clock.until(until)).await),
                Step::Wait { until: None } => unreachable!("an outcome was handed over"),
            }
        }
    }

    /// Opens a watch. It ends when the server ends it, and is not resumed; [`Runner::watch`](crate::Runner::watch) keeps a cache that is.
    pub fn watch<T: Decode>(&self, watch: Watch<T>) -> Watching<T> {
        let (call, events) = watch.open(self.now(), self.limits);
        let (arrivals, calling) = self.begin(call);
        Watching { events, arrivals: Box::pin(arrivals), calling: Some(calling) }
    }

    fn now(&self) -> Instant {
        self.clock.now().instant
    }

    async fn outcome(&self, call: Call) -> Outcome {
        let deadline = call.deadline;
        let (arrivals, calling) = self.begin(call);
        let collecting = async {
            let mut answer = Collector::new(self.limits.answer_bytes);
            while let Ok(Arrival::Answer(Answer { part, .. })) = arrivals.recv().await {
                match part {
                    Part::Body(bytes) => answer.handle_body(&bytes),
                    Part::End => return answer.finish(),
                    Part::Failed(failure) => return Outcome::Failed(failure),
                    Part::Head(head) => answer.handle_head(head),
                }
            }
            Outcome::Failed(Failure::Cut)
        };
        let late = async {
            Timer::after(self.clock.until(deadline)).await;
            Outcome::Failed(Failure::TimedOut)
        };
        future::or(async { future::zip(collecting, calling).await.0 }, late).await
    }

    /// Begins a call; it goes on as long as the future is polled.
    fn begin(&self, call: Call) -> (Receiver<Arrival>, Calling) {
        let (events, arrivals) = bounded(WAITING_PARTS);
        let (pool, reporter) = (self.pool.clone(), Reporter { id: call.id, events });
        let calling = Box::pin(async move {
            pool.call(&call, &reporter).await;
        });
        (arrivals, calling)
    }
}

type Calling = Pin<Box<dyn Future<Output = ()> + Send>>;

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.pool.server).finish_non_exhaustive()
    }
}

/// A watch: a stream of what happens to objects. Dropping it closes its connection.
pub struct Watching<T> {
    events: Events<T>,
    arrivals: Pin<Box<Receiver<Arrival>>>,
    calling: Option<Calling>,
}

impl<T: Decode> Stream for Watching<T> {
    type Item = Result<Event<T>, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.events.poll_event() {
                return Poll::Ready(Some(event));
            }
            if this.events.has_ended() {
                return Poll::Ready(None);
            }
            if let Some(calling) = &mut this.calling
                && calling.as_mut().poll(context).is_ready()
            {
                this.calling = None;
            }
            match ready!(this.arrivals.as_mut().poll_next(context)) {
                Some(Arrival::Answer(Answer { part, .. })) => match part {
                    Part::Body(bytes) => this.events.handle_body(&bytes),
                    Part::End => this.events.handle_end(),
                    Part::Failed(failure) => this.events.handle_failure(failure),
                    Part::Head(head) => this.events.handle_head(head),
                },
                Some(_) => {}
                None => this.events.handle_failure(Failure::Cut),
            }
        }
    }
}

impl<T> Unpin for Watching<T> {}

impl<T> fmt::Debug for Watching<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events.fmt(f)
    }
}
