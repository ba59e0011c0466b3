//! A machine that makes given calls and writes down what comes back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::request::{Call, CallId, CallIds, Encoding, Failure, Head, Method, Request};
use sanskube::time::{Instant, Now};

/// What came back for one call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The head.
    pub head: Option<Head>,
    /// The body, so far.
    pub body: Vec<u8>,
    /// How it ended; none if it was cancelled.
    pub end: Option<Result<(), Failure>>,
}

/// Makes its calls one after the other, each when the last one has ended or was cancelled, and then stops.
#[derive(Debug, Default)]
pub struct Probe {
    ids: CallIds,
    waiting: VecDeque<Planned>,
    current: Option<(CallId, Planned)>,
    deadline: Option<Instant>,
    cancel: bool,
    /// What came back, by the order of the calls.
    pub seen: BTreeMap<CallId, Seen>,
}

#[derive(Debug)]
struct Planned {
    request: Request,
    watch: bool,
    accept: Encoding,
    cancel_after_body: bool,
    silence: Duration,
    /// Not to be made before so many of something have happened.
    gate: Option<(Arc<AtomicUsize>, usize)>,
}

/// How often a call that waits for something looks whether it has happened.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl Probe {
    /// A probe without calls.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a short call.
    #[must_use]
    pub fn call(self, method: Method, path: &str, body: &[u8]) -> Self {
        let content_type = if body.is_empty() { "" } else { sanskube::request::JSON };
        self.plan(Request { method, path: path.into(), content_type, body: body.to_vec() }, false, false)
    }

    /// Adds a watch that is cancelled once the first piece of its body has come.
    #[must_use]
    pub fn watch_and_cancel(self, path: &str) -> Self {
        self.plan(Request::get(path.into()), true, true)
    }

    /// Adds a watch.
    #[must_use]
    pub fn watch(self, path: &str) -> Self {
        self.plan(Request::get(path.into()), true, false)
    }

    /// Asks for the answer of the last call added in this.
    #[must_use]
    pub fn accept(mut self, encoding: Encoding) -> Self {
        if let Some(last) = self.waiting.back_mut() {
            last.accept = encoding;
        }
        self
    }

    /// Cancels the last call added when it has not ended after this time.
    #[must_use]
    pub fn patience(mut self, silence: Duration) -> Self {
        if let Some(last) = self.waiting.back_mut() {
            last.silence = silence;
        }
        self
    }

    /// Makes the last call added only when `count` has come to `wanted`.
    #[must_use]
    pub fn once(mut self, count: Arc<AtomicUsize>, wanted: usize) -> Self {
        if let Some(last) = self.waiting.back_mut() {
            last.gate = Some((count, wanted));
        }
        self
    }

    /// What came back for the n-th call.
    pub fn nth(&self, n: usize) -> &Seen {
        self.seen.values().nth(n).expect("so many calls were made")
    }

    fn plan(mut self, request: Request, watch: bool, cancel_after_body: bool) -> Self {
        self.waiting.push_back(Planned {
            request,
            watch,
            accept: Encoding::Json,
            cancel_after_body,
            silence: Duration::from_secs(60),
            gate: None,
        });
        self
    }

    fn seen(&mut self, call: CallId) -> Result<&mut Seen, Misuse> {
        match &self.current {
            Some((current, _)) if *current == call => Ok(self.seen.entry(call).or_default()),
            _ => Err(Misuse::UnknownCall),
        }
    }
}

impl Machine for Probe {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Head { call, head } => self.seen(call)?.head = Some(head),
            Input::Body { call, bytes } => {
                self.seen(call)?.body.extend_from_slice(bytes);
                self.cancel |= self.current.as_ref().is_some_and(|(_, planned)| planned.cancel_after_body);
            }
            Input::End { call } => {
                self.seen(call)?.end = Some(Ok(()));
                self.current = None;
            }
            Input::Failed { call, failure } => {
                self.seen(call)?.end = Some(Err(failure));
                self.current = None;
            }
            Input::Timeout => self.cancel |= self.deadline.is_some_and(|deadline| deadline <= now.instant),
            Input::Stop => self.waiting.clear(),
        }
        Ok(())
    }

    fn poll_output(&mut self, now: Now) -> Output {
        if self.cancel {
            self.cancel = false;
            if let Some((id, _)) = self.current.take() {
                self.seen.entry(id).or_default();
                return Output::Cancel(id);
            }
        }
        if self.current.is_some() {
            return Output::Wait { until: self.deadline };
        }
        let Some(planned) = self.waiting.front() else { return Output::Stopped };
        if planned.gate.as_ref().is_some_and(|(count, wanted)| count.load(Ordering::SeqCst) < *wanted) {
            return Output::Wait { until: Some(now.instant + LOOK_AGAIN) };
        }
        let Some(planned) = self.waiting.pop_front() else { return Output::Stopped };
        let (id, deadline) = (self.ids.next_id(), now.instant + planned.silence);
        let call =
            Call { id, request: planned.request.clone(), watch: planned.watch, accept: planned.accept, deadline };
        self.deadline = Some(deadline);
        self.seen.entry(id).or_default();
        self.current = Some((id, planned));
        Output::Call(call)
    }
}
