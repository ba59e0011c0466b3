//! The loop that drives a machine: one thread, one timer, a channel of what comes in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use sanskube::machine::{Input, Machine, Output};
use sanskube::request::Failure;
use sanskube::time::{Instant, Now};
use sanskube_access::{Clock, Server};

use crate::event::Event;
use crate::transport::Transport;

/// How many pieces of answers may wait for the machine. A piece has at most 16 KiB; when the channel is full, the threads that read
/// from sockets wait, and so does the server.
const WAITING_PIECES: usize = 64;

/// Drives one machine over HTTP until it says that it has stopped.
#[derive(Debug)]
pub struct Driver {
    clock: Clock,
    // Dropped before the transport: threads that wait to hand an answer over must see that nobody takes it.
    events: Receiver<Event>,
    transport: Transport,
    stopper: Stopper,
}

/// Asks a [`Driver`] to stop, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    asked: Arc<AtomicBool>,
    events: SyncSender<Event>,
}

impl Stopper {
    /// Lets what is in flight end, then makes [`Driver::run`] return. Never waits; has no effect when it has returned already.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Release);
        // If the channel is full the driver is awake; if the receiver is gone there is nothing to stop.
        let _ = self.events.try_send(Event::Wake);
    }

    /// Whether somebody has asked since this was called last.
    fn take(&self) -> bool {
        self.asked.swap(false, Ordering::Acquire)
    }
}

/// Wakes a [`Driver`], from any thread: the machine is told the time, and then its observer is called.
#[derive(Clone, Debug)]
pub struct Waker(SyncSender<Event>);

impl Waker {
    #[cfg(all(test, feature = "status"))]
    pub(crate) fn new(events: SyncSender<Event>) -> Self {
        Self(events)
    }

    /// Wakes it. Never waits; has no effect when it has returned already.
    pub fn wake(&self) {
        // If the channel is full the driver is awake; if the receiver is gone there is nobody to be woken.
        let _ = self.0.try_send(Event::Wake);
    }
}

impl Driver {
    /// A driver that talks to `server`, with `workers` threads for short calls (at least one). Each watch gets a thread of its own, so that
    /// watches never take the place of short calls.
    ///
    /// # Errors
    /// A thread could not be started.
    pub fn new(server: Server, workers: usize) -> std::io::Result<Self> {
        let (sender, events) = sync_channel(WAITING_PIECES);
        let transport = Transport::new(server, workers, sender.clone())?;
        Ok(Self {
            clock: Clock::start(),
            events,
            transport,
            stopper: Stopper { asked: Arc::default(), events: sender },
        })
    }

    /// A handle that stops the driver.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// A handle that wakes the driver.
    pub fn waker(&self) -> Waker {
        Waker(self.stopper.events.clone())
    }

    /// The clock that the machine is told.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Drives `machine` until it has stopped. `observe` is called each time the machine has come to rest; it may ask for the stop.
    pub fn run<M: Machine>(mut self, machine: &mut M, mut observe: impl FnMut(&M, Now)) {
        let mut unsent = Vec::new();
        let mut parts = Vec::new().into_iter();
        loop {
            let until = loop {
                match machine.poll_output(self.clock.now()) {
                    Output::Call(call) => {
                        let (id, limit) = (call.id, self.clock.until(call.deadline));
                        if let Err(e) = self.transport.start(call, limit) {
                            log::error!("no thread for a watch: {e}");
                            unsent.push(id);
                        }
                    }
                    Output::Cancel(id) => self.transport.cancel(id),
                    Output::Stopped => return,
                    Output::Wait { until } => break until,
                }
            };
            let answer;
            let input = if let Some(call) = unsent.pop() {
                Input::Failed { call, failure: Failure::Refused }
            } else if self.stopper.take() {
                Input::Stop
            } else if let Some(part) = parts.next() {
                answer = part;
                if !self.transport.is_awaited(&answer) {
                    continue;
                }
                answer.input()
            } else {
                observe(machine, self.clock.now());
                match self.next_event(until) {
                    Some(Event::Answer(came)) => {
                        parts = came.into_iter();
                        continue;
                    }
                    Some(Event::Wake) | None => Input::Timeout,
                }
            };
            machine
                .handle_input(self.clock.now(), input)
                .expect("the driver drains every output and reports only calls in flight");
        }
    }

    /// Waits for something to come in. None when the machine's deadline has come before.
    fn next_event(&self, until: Option<Instant>) -> Option<Event> {
        // The driver holds a sender itself, so the channel never disconnects: what fails is the waiting.
        match until {
            None => self.events.recv().ok(),
            Some(until) => self.events.recv_timeout(self.clock.until(until)).ok(),
        }
    }
}
