//! The tap: a manager of which every write is written down, whoever drives it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::manager::Manager;
use sanskube::request::{CallId, Method, Request};
use sanskube::time::{Now, Timestamp};

/// What managers have written, in the order of sending.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) entries: Vec<Entry>,
    /// Whether the manager that was started last has the first lists.
    pub(super) has_synced: bool,
    /// How many watches are open, and since when it is just those.
    pub(super) watches: (usize, Timestamp),
    /// The manager is to vanish without a word.
    pub(super) kill: bool,
}

/// A write, and as much of its answer as came.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) sent: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) request: Request,
    /// Zero until the answer is whole.
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Log {
    /// When a write was last sent or answered.
    pub(super) fn last_activity(&self) -> Option<Timestamp> {
        self.entries.iter().map(|entry| entry.ended.unwrap_or(entry.sent)).max()
    }
}

/// A log that a manager writes and a player reads.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLog(Arc<Mutex<Log>>);

impl SharedLog {
    pub(super) fn lock(&self) -> MutexGuard<'_, Log> {
        // Nothing is left half done while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A manager with a log.
#[derive(Debug)]
pub(super) struct Tap {
    manager: Manager,
    log: SharedLog,
    /// Which entry each write in flight is, and the status of its answer so far.
    in_flight: HashMap<CallId, (usize, u16)>,
    /// Each watch in flight, and whether it has been answered well.
    watches: HashMap<CallId, bool>,
}

impl Tap {
    pub(super) fn new(manager: Manager, log: SharedLog) -> Self {
        let mut shared = log.lock();
        (shared.has_synced, shared.kill, shared.watches) = (false, false, (0, Timestamp::default()));
        drop(shared);
        Self { manager, log, in_flight: HashMap::new(), watches: HashMap::new() }
    }

    fn note_watches(&self, now: Now) {
        self.log.lock().watches = (self.watches.values().filter(|open| **open).count(), now.wall);
    }
}

impl Machine for Tap {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Head { call, head } => {
                if let Some(open) = self.watches.get_mut(&call) {
                    *open = head.status == 200;
                    self.note_watches(now);
                }
            }
            Input::End { call } | Input::Failed { call, .. } if self.watches.remove(&call).is_some() => {
                self.note_watches(now);
            }
            _ => {}
        }
        let mut log = self.log.lock();
        match input {
            Input::Head { call, head } => {
                if let Some((_, status)) = self.in_flight.get_mut(&call) {
                    *status = head.status;
                }
            }
            Input::Body { call, bytes } => {
                if let Some((entry, _)) = self.in_flight.get(&call) {
                    log.entries[*entry].body.extend_from_slice(bytes);
                }
            }
            Input::End { call } => {
                if let Some((entry, status)) = self.in_flight.remove(&call) {
                    log.entries[entry].status = status;
                    log.entries[entry].ended = Some(now.wall);
                }
            }
            Input::Failed { call, .. } => {
                if let Some((entry, _)) = self.in_flight.remove(&call) {
                    log.entries[entry].ended = Some(now.wall);
                }
            }
            Input::Stop | Input::Timeout => {}
        }
        if log.kill {
            return Ok(());
        }
        drop(log);
        self.manager.handle_input(now, input)
    }

    fn poll_output(&mut self, now: Now) -> Output {
        if self.log.lock().kill {
            return Output::Stopped;
        }
        let output = self.manager.poll_output(now);
        match &output {
            Output::Call(call) if call.watch => drop(self.watches.insert(call.id, false)),
            Output::Cancel(call) if self.watches.remove(call).is_some() => self.note_watches(now),
            _ => {}
        }
        let mut log = self.log.lock();
        match &output {
            Output::Call(call) if call.request.method != Method::Get => {
                self.in_flight.insert(call.id, (log.entries.len(), 0));
                let request = call.request.clone();
                log.entries.push(Entry { sent: now.wall, ended: None, request, status: 0, body: Vec::new() });
            }
            Output::Cancel(call) => {
                self.in_flight.remove(call);
            }
            Output::Call(_) => {}
            Output::Stopped | Output::Wait { .. } => log.has_synced = self.manager.has_synced(),
        }
        output
    }
}
