//! Connections to one server, each used for one exchange after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sanskube_access::{Reach, Server};
use ureq::Agent;

use crate::connection::agent;

/// A server, and the agents that hold the connections to it.
pub(crate) struct Pool {
    pub(crate) server: Server,
    pub(crate) reach: Reach,
    agents: Mutex<Agents>,
    /// How many connections are kept.
    most_idle: usize,
}

/// What short calls are made with.
struct Agents {
    current: Agent,
    /// With which certificate that was made.
    generation: u64,
    /// The agent with the certificate before, whose calls may still be in flight.
    retired: Option<Agent>,
}

impl Pool {
    pub(crate) fn new(server: Server, most_idle: usize) -> Self {
        let generation = server.credentials.generation();
        let agents = Mutex::new(Agents { current: agent(&server, most_idle), generation, retired: None });
        Self { server, reach: Reach::default(), agents, most_idle }
    }

    /// The agent for short calls, with the newest certificate.
    pub(crate) fn agent(&self) -> Agent {
        let generation = self.server.credentials.generation();
        let mut agents = self.agents();
        if generation != agents.generation {
            let newest = agent(&self.server, self.most_idle);
            agents.retired = Some(std::mem::replace(&mut agents.current, newest));
            agents.generation = generation;
        }
        agents.current.clone()
    }

    /// An agent for one watch, which keeps no connection and can be shut down alone.
    pub(crate) fn watch_agent(&self) -> Agent {
        agent(&self.server, 0)
    }

    /// Shuts every connection of short calls down.
    pub(crate) fn shutdown(&self) {
        let mut agents = self.agents();
        agents.current.clone().shutdown();
        if let Some(agent) = agents.retired.take() {
            agent.shutdown();
        }
    }

    fn agents(&self) -> MutexGuard<'_, Agents> {
        // Nothing can panic between the changes of its fields.
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
