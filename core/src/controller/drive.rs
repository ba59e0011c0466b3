//! Driving the controllers: what comes in goes to the one that waits for it, and what any of them wants goes out.

use alloc::vec::Vec;

use super::worker::Worker;
use super::{Controllers, STOP_GRACE, State};
use crate::error::Misuse;
use crate::machine::{Input, Machine, Output};
use crate::request::{CallId, Failure};
use crate::time::{Instant, Now};

impl Controllers {
    /// Tells the controllers what has changed in all caches.
    pub(super) fn route_all(&mut self, now: Now) {
        let numbers: Vec<u32> = self.sources.keys().copied().collect();
        for number in numbers {
            self.route(now, number);
        }
    }

    /// Tells the controllers what has changed in one cache. Work is in proportion to the number of changes.
    fn route(&mut self, now: Now, number: u32) {
        let mut keys = Vec::new();
        let mut route = 0;
        while let Some(source) = self.sources.get_mut(&number).filter(|source| route < source.routes()) {
            let Some((controller, priority)) = source.next_change(route) else {
                route += 1;
                continue;
            };
            self.sources[&number].map_change(route, self.caches(), &mut |key| keys.push(key));
            let worker = self.workers.iter_mut().find(|worker| worker.id == controller);
            match worker {
                Some(worker) => keys.drain(..).for_each(|key| worker.add(now.instant, key, priority)),
                None => keys.clear(),
            }
        }
    }

    /// Gives an input to the one that waits for it, and routes what comes of it.
    fn deliver(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        let (call, known) = match input {
            Input::Timeout => {
                for source in self.sources.values_mut() {
                    source.handle_input(now, &input)?;
                }
                self.route_all(now);
                return Ok(());
            }
            Input::Stop => {
                self.stop(now);
                return Ok(());
            }
            Input::Body { call, bytes } => (call, self.calls.handle_body(call, bytes)),
            Input::Head { call, head } => (call, self.calls.handle_head(call, head)),
            Input::End { call } => (call, self.handle_end(now, call, None)),
            Input::Failed { call, failure } => (call, self.handle_end(now, call, Some(failure))),
        };
        if known {
            return Ok(());
        }
        let number = *self.owners.get(&call).ok_or(Misuse::UnknownCall)?;
        self.sources.get_mut(&number).ok_or(Misuse::UnknownCall)?.handle_input(now, &input)?;
        if matches!(input, Input::End { .. } | Input::Failed { .. }) {
            self.owners.remove(&call);
        }
        self.route(now, number);
        Ok(())
    }

    fn stop(&mut self, now: Now) {
        if matches!(self.state, State::Running) {
            self.state = State::Stopping { until: now.instant + STOP_GRACE };
        }
    }

    fn handle_end(&mut self, now: Now, call: CallId, failure: Option<Failure>) -> bool {
        let Ok(ended) = self.calls.handle_end(now.instant, call, failure) else { return false };
        if let Some(((), outcome)) = ended {
            self.recorder.handle_outcome(outcome, now);
        }
        true
    }

    fn poll_running(&mut self, now: Now) -> Option<Output> {
        if let Some((id, (), outcome)) = self.calls.poll_overdue(now.instant) {
            self.recorder.handle_outcome(outcome, now);
            return Some(Output::Cancel(id));
        }
        let Self { ids, sources, owners, calls, recorder, .. } = self;
        for (number, source) in sources {
            match source.poll_output(now, ids) {
                None => continue,
                Some(Output::Call(call)) => {
                    owners.insert(call.id, *number);
                    return Some(Output::Call(call));
                }
                Some(Output::Cancel(id)) => {
                    owners.remove(&id);
                    return Some(Output::Cancel(id));
                }
                Some(output) => return Some(output),
            }
        }
        if let Some(call) = calls.poll_due(now.instant, ids) {
            return Some(Output::Call(call));
        }
        let request = if calls.has_room() { recorder.poll_request(now) } else { None };
        request.and_then(|request| calls.begin(now.instant, ids, request, ())).map(Output::Call)
    }

    fn poll_stopping(&mut self, now: Now, until: Instant) -> Output {
        if let Some(id) = self.sources.values_mut().find_map(|source| source.stop()) {
            return Output::Cancel(id);
        }
        if let Some(id) = self.calls.poll_abandoned(now.instant, until) {
            return Output::Cancel(id);
        }
        if let Some(deadline) = self.calls.next_deadline() {
            return Output::Wait { until: Some(until.min(deadline)) };
        }
        if !self.workers.iter().all(Worker::is_idle) {
            return Output::Wait { until: None };
        }
        self.state = State::Stopped;
        Output::Stopped
    }

    fn next_deadline(&self) -> Option<Instant> {
        let sources = self.sources.values().map(|source| source.next_deadline());
        let workers = self.workers.iter().map(|worker| worker.next_deadline(&self.sources));
        let events = self.recorder.next_deadline().filter(|_| self.calls.has_room());
        sources.chain(workers).chain([self.calls.next_deadline(), events]).flatten().min()
    }
}

impl Machine for Controllers {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        if !self.drained {
            return Err(Misuse::NotDrained);
        }
        self.deliver(now, input)?;
        // The input of one collection may come late, when others have missed a deadline.
        self.sources.values_mut().for_each(|source| source.handle_due(now));
        self.drained = false;
        Ok(())
    }

    fn poll_output(&mut self, now: Now) -> Output {
        let output = match (self.cancels.pop(), &self.state) {
            (Some(id), _) => Output::Cancel(id),
            (None, State::Running) => self.poll_running(now).unwrap_or_else(|| {
                self.workers.iter_mut().for_each(|worker| worker.handle_due(now.instant));
                Output::Wait { until: self.next_deadline() }
            }),
            (None, &State::Stopping { until }) => self.poll_stopping(now, until),
            (None, State::Stopped) => Output::Stopped,
        };
        self.drained = matches!(output, Output::Wait { .. } | Output::Stopped);
        output
    }
}
