//! The calls in flight, each a task.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_channel::Sender;
use async_executor::{Executor, Task};
use sanskube::machine::Answer;
use sanskube::request::{Call, CallId};

use crate::event::Event;
use crate::exchange::Reporter;
use crate::pool::Pool;

/// Sends requests and reports their answers as [`Event`]s.
pub(crate) struct Transport {
    executor: Arc<Executor<'static>>,
    events: Sender<Event>,
    pool: Arc<Pool>,
    /// The calls in flight. Dropping a task drops its connection.
    in_flight: HashMap<CallId, Task<()>>,
}

impl Transport {
    pub(crate) fn new(pool: Arc<Pool>, executor: Arc<Executor<'static>>, events: Sender<Event>) -> Self {
        Self { executor, events, pool, in_flight: HashMap::new() }
    }

    /// Begins a call.
    pub(crate) fn start(&mut self, call: Call) {
        let id = call.id;
        let (pool, reporter) = (self.pool.clone(), Reporter { id, events: self.events.clone() });
        self.in_flight.insert(id, self.executor.spawn(async move { pool.call(&call, &reporter).await }));
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
            .field("server", &self.pool.server)
            .field("in_flight", &self.in_flight.len())
            .finish()
    }
}
