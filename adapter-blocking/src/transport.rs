//! The calls in flight, each on a thread: a bounded pool for short calls, one thread a watch.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use sanskube::machine::Answer;
use sanskube::request::{Call, CallId};
use sanskube_access::Server;
use ureq::Agent;

use crate::event::Event;
use crate::exchange::{Job, exchange};
use crate::jobs::Jobs;
use crate::pool::Pool;

/// Sends requests and reports their answers as [`Event`]s.
pub(crate) struct Transport {
    pool: Arc<Pool>,
    events: SyncSender<Event>,
    /// The calls in flight. A watch has an agent of its own, so that it can be shut down alone.
    in_flight: HashMap<CallId, Option<Agent>>,
    jobs: Arc<Jobs<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Transport {
    pub(crate) fn new(server: Server, workers: usize, events: SyncSender<Event>) -> std::io::Result<Self> {
        let pool = Arc::new(Pool::new(server, workers));
        let jobs = Arc::new(Jobs::new());
        let mut transport = Self { pool, events, in_flight: HashMap::new(), jobs, threads: Vec::new() };
        for _ in 0..workers.max(1) {
            let (pool, events, jobs) = (transport.pool.clone(), transport.events.clone(), transport.jobs.clone());
            // One call after the other, until the transport is dropped.
            let work = move || std::iter::from_fn(|| jobs.pop()).for_each(|job| exchange(&pool, job, &events));
            transport.threads.push(Builder::new().name("sanskube-call".into()).spawn(work)?);
        }
        Ok(transport)
    }

    /// Begins a call. Its thread gives up by itself a little after `limit`.
    ///
    /// # Errors
    /// No thread could be started for a watch. The call is not in flight.
    pub(crate) fn start(&mut self, call: Call, limit: Duration) -> std::io::Result<()> {
        let id = call.id;
        let until = Instant::now() + limit;
        let job = |agent, call| Job { agent, call, until };
        if !call.watch {
            self.in_flight.insert(id, None);
            self.jobs.push(job(None, call));
            return Ok(());
        }
        let agent = self.pool.watch_agent();
        let (pool, events, job) = (self.pool.clone(), self.events.clone(), job(Some(agent.clone()), call));
        let thread = Builder::new().name("sanskube-watch".into()).spawn(move || exchange(&pool, job, &events))?;
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(thread);
        self.in_flight.insert(id, Some(agent));
        Ok(())
    }

    /// Gives a call up. A watch's connection is shut down; a short call's answer is ignored when it comes.
    pub(crate) fn cancel(&mut self, id: CallId) {
        if let Some(Some(agent)) = self.in_flight.remove(&id) {
            agent.shutdown();
        }
    }

    /// Whether the machine still waits for this. Forgets the call if this is its end.
    pub(crate) fn is_awaited(&mut self, answer: &Answer) -> bool {
        if answer.is_last() {
            self.in_flight.remove(&answer.call).is_some()
        } else {
            self.in_flight.contains_key(&answer.call)
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("server", &self.pool.server)
            .field("in_flight", &self.in_flight.len())
            .finish()
    }
}

impl Drop for Transport {
    /// Shuts every connection down and waits for the threads, which end at once: their sockets are closed, and nobody
    /// takes their events any more.
    fn drop(&mut self) {
        self.jobs.close();
        for agent in self.in_flight.drain().filter_map(|(_, agent)| agent) {
            agent.shutdown();
        }
        self.pool.shutdown();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}
