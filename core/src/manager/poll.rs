//! What a manager wants done, by the state it is in.

use core::time::Duration;

use super::worker::Worker;
use super::{Manager, Owner, State, dry_run};
use crate::machine::{Feed, Output};
use crate::request::{Method, Request};
use crate::time::{Instant, Now};

/// How long calls in flight may take to end after a stop.
const STOP_GRACE: Duration = Duration::from_millis(700);
/// How long it may take after that to give the lease back.
const RELEASE_GRACE: Duration = Duration::from_millis(150);

impl Manager {
    /// Begins no call any more.
    pub(super) fn begin_stop(&mut self, now: Now) {
        if matches!(self.state, State::Running) {
            let until = now.instant + STOP_GRACE;
            self.state = State::Stopping { until, clean: true, resigned: false };
        }
    }

    pub(super) fn poll_state(&mut self, now: Now) -> Output {
        if matches!(self.state, State::Running) && self.leadership.is_lost(now.instant) {
            // From here on there is not one more write: what is in flight is cut off, and nothing is begun.
            self.state = State::Lost;
        }
        match self.state {
            State::Running => self.poll_running(now).unwrap_or_else(|| Output::Wait { until: self.next_deadline(now) }),
            State::Stopping { until, clean, resigned } => self.poll_stopping(now, until, clean, resigned),
            State::Lost => self.poll_lost(now),
            State::Stopped { .. } => Output::Stopped,
        }
    }

    fn poll_running(&mut self, now: Now) -> Option<Output> {
        if let Some(output) = self.leadership.poll_output(now, &mut self.ids) {
            return Some(output);
        }
        if !self.leadership.may_act(now.instant) {
            return None;
        }
        // A call that waits for its turn in an adapter must not go out after the lease has ended.
        self.calls.end_by(self.leadership.leads_until(now.instant));
        if let Some(event) = self.leadership.poll_event() {
            self.recorder.record(event, now);
        }
        if let Some((id, owner, outcome)) = self.calls.poll_overdue(now.instant) {
            self.handle_outcome(now, owner, outcome);
            return Some(Output::Cancel(id));
        }
        if let Some(output) = self.poll_feeds(now) {
            return Some(output);
        }
        if let Some(call) = self.calls.poll_due(now.instant, &mut self.ids) {
            return Some(Output::Call(call));
        }
        while self.calls.has_room() {
            let (owner, request) = self.poll_request(now)?;
            if self.dry_run && request.method != Method::Get {
                self.handle_outcome(now, owner, dry_run::pretend(&request));
            } else if let Some(call) = self.calls.begin(now.instant, &mut self.ids, request, owner) {
                return Some(Output::Call(call));
            }
        }
        None
    }

    /// What the informers want done next.
    fn poll_feeds(&mut self, now: Now) -> Option<Output> {
        let Self { ids, pods, workers, lists, .. } = self;
        let sets = workers.iter_mut().map(|worker| &mut worker.sets as &mut dyn Feed);
        for feed in core::iter::once(pods as &mut dyn Feed).chain(sets) {
            while let Some(output) = feed.poll_output(now, ids) {
                if let Some(output) = lists.pass(now.instant, output) {
                    return Some(output);
                }
            }
        }
        // After them: a list that was given up is not made, even if its turn has come by now.
        lists.poll_due(now.instant).map(Output::Call)
    }

    /// The next request of a sync, or else of the recorder: what keeps the sets right goes before what tells of it.
    fn poll_request(&mut self, now: Now) -> Option<(Owner, Request)> {
        if self.has_synced() {
            let pods = self.pods.informer.store();
            for (index, worker) in self.workers.iter_mut().enumerate() {
                if let Some((key, ticket, request)) = worker.poll_request(pods, now) {
                    return Some((Owner::Sync { worker: index, sync: (key, ticket) }, request));
                }
            }
        }
        self.recorder.poll_request(now).map(|request| (Owner::Recorder, request))
    }

    /// A watch or list that nobody waits for any more.
    fn poll_unwatched(&mut self, now: Now) -> Option<Output> {
        loop {
            let id = self.feeds().find_map(|feed| feed.stop())?;
            if let Some(cancel) = self.lists.pass(now.instant, Output::Cancel(id)) {
                return Some(cancel);
            }
        }
    }

    fn poll_stopping(&mut self, now: Now, until: Instant, clean: bool, resigned: bool) -> Output {
        if let Some(cancel) = self.poll_unwatched(now) {
            return cancel;
        }
        // A renewal that took too long.
        if let Some(id) = self.leadership.poll_cancel() {
            return Output::Cancel(id);
        }
        if let Some(id) = self.calls.poll_abandoned(now.instant, until) {
            self.state = State::Stopping { until, clean: false, resigned };
            return Output::Cancel(id);
        }
        if !self.calls.is_empty() {
            let deadlines = [self.calls.next_deadline(), self.leadership.call_deadline()];
            return Output::Wait { until: deadlines.into_iter().flatten().chain([until]).min() };
        }
        // A lease is given back only if nothing that was sent may still take effect, and only for as long as there is time.
        let late = until + RELEASE_GRACE <= now.instant;
        if !resigned || late {
            self.leadership.resign(now, clean && !late);
            self.state = State::Stopping { until, clean, resigned: true };
        }
        if let Some(output) = self.leadership.poll_output(now, &mut self.ids) {
            return output;
        }
        if !self.leadership.is_done() {
            return Output::Wait { until: Some(until + RELEASE_GRACE) };
        }
        self.state = State::Stopped { lost: false };
        Output::Stopped
    }

    fn poll_lost(&mut self, now: Now) -> Output {
        if let Some(cancel) = self.poll_unwatched(now) {
            return cancel;
        }
        if let Some(id) = self.calls.poll_abandoned(now.instant, now.instant) {
            return Output::Cancel(id);
        }
        // What the election itself had in flight.
        if let Some(cancel) = self.leadership.poll_output(now, &mut self.ids) {
            return cancel;
        }
        self.state = State::Stopped { lost: true };
        Output::Stopped
    }

    fn next_deadline(&self, now: Now) -> Option<Instant> {
        if !self.leadership.may_act(now.instant) {
            return self.leadership.next_deadline();
        }
        let feeds = self.workers.iter().map(|worker| worker.sets.next_deadline());
        let calls = [self.pods.next_deadline(), self.calls.next_deadline(), self.lists.next_deadline()];
        // What would make a call is of no use to wake for as long as none may be made.
        let syncs = self.workers.iter().map(Worker::next_deadline).filter(|_| self.has_synced());
        let requests = syncs.chain([self.recorder.next_deadline()]).filter(|_| self.calls.has_room());
        feeds.chain(calls).chain(requests).chain([self.leadership.next_deadline()]).flatten().min()
    }
}
