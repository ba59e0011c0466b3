//! The tap: a manager of which every write is written down.

use std::collections::HashMap;

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::manager::Manager;
use sanskube::request::{CallId, Method};
use sanskube::time::Now;

use super::log::{Entry, SharedLog};

/// A manager with a log.
#[derive(Debug)]
pub(super) struct Tap {
    manager: Manager,
    log: SharedLog,
    /// Which entry each write in flight is, and the status of its answer so far.
    in_flight: HashMap<CallId, (usize, u16)>,
    /// The number of each watch in flight.
    watches: HashMap<CallId, u64>,
    opened: u64,
}

impl Tap {
    pub(super) fn new(manager: Manager, log: SharedLog) -> Self {
        log.lock().begin();
        Self { manager, log, in_flight: HashMap::new(), watches: HashMap::new(), opened: 0 }
    }
}

impl Machine for Tap {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        let mut log = self.log.lock();
        match input {
            Input::Head { call, head } => {
                if let Some(watch) = self.watches.get(&call)
                    && head.status == 200
                {
                    log.open_watch(*watch, now.wall);
                }
                if let Some((_, status)) = self.in_flight.get_mut(&call) {
                    *status = head.status;
                }
            }
            Input::Body { call, bytes } => {
                if let Some((entry, _)) = self.in_flight.get(&call) {
                    log.entries[*entry].answer.extend_from_slice(bytes);
                }
            }
            Input::End { call } | Input::Failed { call, .. } => {
                if let Some(watch) = self.watches.remove(&call) {
                    log.close_watch(watch, now.wall);
                }
                if let Some((entry, status)) = self.in_flight.remove(&call) {
                    if matches!(input, Input::End { .. }) {
                        log.entries[entry].status = status;
                    }
                    log.entries[entry].ended = Some(now.wall);
                }
            }
            Input::Stop | Input::Timeout => {}
        }
        drop(log);
        self.manager.handle_input(now, input)
    }

    fn poll_output(&mut self, now: Now) -> Output {
        let output = self.manager.poll_output(now);
        let mut log = self.log.lock();
        match &output {
            Output::Call(call) if call.watch => {
                self.opened += 1;
                self.watches.insert(call.id, self.opened);
            }
            Output::Call(call) if call.request.method != Method::Get => {
                self.in_flight.insert(call.id, (log.entries.len(), 0));
                log.entries.push(Entry {
                    sent: now.wall,
                    ended: None,
                    method: call.request.method.as_str().to_owned(),
                    path: call.request.path.clone(),
                    content_type: call.request.content_type.to_owned(),
                    body: call.request.body.to_vec(),
                    status: 0,
                    answer: Vec::new(),
                });
            }
            Output::Cancel(call) => {
                if let Some(watch) = self.watches.remove(call) {
                    log.close_watch(watch, now.wall);
                }
                self.in_flight.remove(call);
            }
            Output::Call(_) | Output::Stopped | Output::Wait { .. } => {}
        }
        output
    }
}
