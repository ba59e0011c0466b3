//! The loop that drives a machine: one future, one timer, a channel of what comes in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_channel::{Receiver, Sender};
use async_executor::Executor;
use async_io::Timer;
use futures_lite::future;
use sanskube::machine::{Input, Machine, Output};
use sanskube::time::{Instant, Now};
use sanskube_access::{Clock, Server};

use crate::client::Client;
use crate::event::Event;
use crate::pool::Pool;
use crate::transport::Transport;

/// How many pieces of answers may wait for the machine. When the channel is full, the tasks that read
/// from sockets wait, and so does the server.
const WAITING_PIECES: usize = 64;

/// Drives one machine over HTTP until it says that it has stopped.
#[derive(Debug)]
pub struct Driver {
    clock: Clock,
    events: Receiver<Event>,
    executor: Arc<Executor<'static>>,
    transport: Transport,
    stopper: Stopper,
}

/// Asks a [`Driver`] to stop, from anywhere.
#[derive(Clone, Debug)]
pub struct Stopper {
    asked: Arc<AtomicBool>,
    events: Sender<Event>,
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

/// Wakes a [`Driver`], from anywhere: the machine is told the time, and then its observer is called.
#[derive(Clone, Debug)]
pub struct Waker(Sender<Event>);

impl Waker {
    /// Wakes it. Never waits; has no effect when it has returned already.
    pub fn wake(&self) {
        // If the channel is full the driver is awake; if the receiver is gone there is nobody to be woken.
        let _ = self.0.try_send(Event::Wake);
    }
}

impl Driver {
    /// A driver that talks to `server` and keeps up to `most_idle` connections for later calls. Watches have connections of their own.
    pub fn new(server: Server, most_idle: usize) -> Self {
        Self::with_pool(Arc::new(Pool::new(server, most_idle)))
    }

    /// A driver that shares the server and the connections of a client.
    pub fn of_client(client: &Client) -> Self {
        Self::with_pool(client.pool.clone())
    }

    fn with_pool(pool: Arc<Pool>) -> Self {
        let (sender, events) = async_channel::bounded(WAITING_PIECES);
        let executor = Arc::new(Executor::new());
        let transport = Transport::new(pool, executor.clone(), sender.clone());
        let stopper = Stopper { asked: Arc::default(), events: sender };
        Self { clock: Clock::start(), events, executor, transport, stopper }
    }

    /// What runs the calls in flight, and whatever else is to end with the driver.
    pub(crate) fn executor(&self) -> Arc<Executor<'static>> {
        self.executor.clone()
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

    /// Drives `machine` until it has stopped. `observe` is called each time the machine has come to rest.
    ///
    /// All calls in flight run inside this future, on whatever executor polls it; dropping it drops their connections.
    pub async fn run<M: Machine>(mut self, machine: &mut M, observe: impl FnMut(&M, Now)) {
        let executor = self.executor.clone();
        executor.run(self.drive(machine, observe)).await;
    }

    async fn drive<M: Machine>(&mut self, machine: &mut M, mut observe: impl FnMut(&M, Now)) {
        loop {
            let until = loop {
                match machine.poll_output(self.clock.now()) {
                    Output::Call(call) => self.transport.start(call),
                    Output::Cancel(id) => self.transport.cancel(id),
                    Output::Stopped => return,
                    Output::Wait { until } => break until,
                }
            };
            let event = if self.stopper.take() {
                Event::Stop
            } else {
                observe(machine, self.clock.now());
                self.next_event(until).await
            };
            let input = match &event {
                Event::Answer(answer) if self.transport.is_awaited(answer) => answer.input(),
                Event::Answer(_) => continue,
                Event::Due | Event::Wake => Input::Timeout,
                Event::Stop => Input::Stop,
            };
            machine
                .handle_input(self.clock.now(), input)
                .expect("the driver drains every output and reports only calls in flight");
        }
    }

    /// Waits for something to come in, or for the machine's deadline.
    async fn next_event(&self, until: Option<Instant>) -> Event {
        // The driver holds a sender itself, so the channel is never closed.
        let coming = async { self.events.recv().await.unwrap_or(Event::Due) };
        let due = async {
            match until {
                None => future::pending().await,
                Some(until) => Timer::after(self.clock.until(until)).await,
            };
            Event::Due
        };
        future::or(coming, due).await
    }
}
