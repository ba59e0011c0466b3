//! Who takes part in a simulation: managers, and observers that look at the same things.

use sanskube::error::Misuse;
use sanskube::informer::{Change, HandlerId, HandlerOptions, Informer};
use sanskube::key::Key;
use sanskube::machine::{Input, Machine, Output};
use sanskube::manager::Manager;
use sanskube::object::{Object, Pod};
use sanskube::request::CallIds;
use sanskube::time::Now;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A machine of a simulation.
#[derive(Debug)]
pub enum Member {
    /// One that keeps sets right.
    Manager(Box<Manager>),
    /// One that has a cache of pods, and handlers that are told of changes.
    Observer(Box<Observer>),
}

impl Member {
    /// The manager, if it is one.
    pub fn manager(&self) -> Option<&Manager> {
        match self {
            Self::Manager(manager) => Some(manager),
            Self::Observer(_) => None,
        }
    }

    /// The observer, if it is one.
    pub fn observer(&self) -> Option<&Observer> {
        match self {
            Self::Manager(_) => None,
            Self::Observer(observer) => Some(observer),
        }
    }
}

impl Machine for Member {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        match self {
            Self::Manager(manager) => manager.handle_input(now, input),
            Self::Observer(observer) => observer.handle_input(now, input),
        }
    }

    fn poll_output(&mut self, now: Now) -> Output {
        match self {
            Self::Manager(manager) => manager.poll_output(now),
            Self::Observer(observer) => observer.poll_output(now),
        }
    }
}

/// What a handler has been told, put together: what it believes there is.
#[derive(Debug, Default)]
pub struct View {
    /// The pods that it believes in.
    pub pods: BTreeMap<Key, Arc<Pod>>,
    /// What it was told that cannot follow on what it was told before.
    pub nonsense: Option<String>,
}

impl View {
    fn take(&mut self, key: &Key, change: &Change<Pod>) {
        let before = match change {
            Change::Add { object, .. } => self.pods.insert(key.clone(), Arc::clone(object)),
            Change::Update { new, .. } => self.pods.insert(key.clone(), Arc::clone(new)),
            Change::Delete(_) => self.pods.remove(key),
        };
        let fits = match (change, &before) {
            (Change::Add { .. }, None) | (Change::Delete(_), Some(_)) => true,
            (Change::Update { old, new }, Some(before)) => same(old, before) && old.uid() == new.uid(),
            _ => false,
        };
        if !fits {
            self.nonsense = Some(format!("{change:?} of {key} on top of {before:?}"));
        }
    }
}

/// Whether two states of a pod are one.
pub(crate) fn same(a: &Pod, b: &Pod) -> bool {
    a.uid() == b.uid() && a.resource_version() == b.resource_version()
}

/// An informer of pods with two handlers: one that is told at once, and one that can be made slow.
#[derive(Debug)]
pub struct Observer {
    informer: Informer<Pod>,
    ids: CallIds,
    prompt: (HandlerId, View),
    slow: (HandlerId, View),
    /// Whether the slow handler takes nothing.
    pub stalled: bool,
    stopping: bool,
}

impl Observer {
    /// An observer that has seen nothing yet.
    pub fn new(mut informer: Informer<Pod>) -> Self {
        let mut handler = || (informer.add_handler(Now::default(), HandlerOptions::default()), View::default());
        let (prompt, slow) = (handler(), handler());
        Self { informer, ids: CallIds::default(), prompt, slow, stalled: false, stopping: false }
    }

    /// The informer.
    pub fn informer(&self) -> &Informer<Pod> {
        &self.informer
    }

    /// What the prompt handler believes.
    pub fn prompt(&self) -> &View {
        &self.prompt.1
    }

    /// What the slow handler believes, and how much it was not told yet.
    pub fn slow(&self) -> (&View, usize) {
        (&self.slow.1, self.informer.backlog(self.slow.0))
    }

    fn tell(&mut self) {
        while let Some((key, change)) = self.informer.poll_change(self.prompt.0) {
            self.prompt.1.take(&key, &change);
        }
        while !self.stalled
            && let Some((key, change)) = self.informer.poll_change(self.slow.0)
        {
            self.slow.1.take(&key, &change);
        }
    }
}

impl Machine for Observer {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Body { call, bytes } => self.informer.handle_body(now, call, bytes)?,
            Input::End { call } => self.informer.handle_end(now, call)?,
            Input::Failed { call, failure } => self.informer.handle_failure(now, call, failure)?,
            Input::Head { call, head } => self.informer.handle_head(now, call, head)?,
            Input::Stop => self.stopping = true,
            Input::Timeout => {}
        }
        self.informer.handle_timeout(now);
        while self.informer.poll_error().is_some() {}
        self.tell();
        Ok(())
    }

    fn poll_output(&mut self, now: Now) -> Output {
        if self.stopping {
            return Output::Stopped;
        }
        if let Some(call) = self.informer.poll_cancel() {
            return Output::Cancel(call);
        }
        match self.informer.poll_call(now, &mut self.ids) {
            Some(call) => Output::Call(call),
            None => Output::Wait { until: self.informer.next_deadline() },
        }
    }
}
