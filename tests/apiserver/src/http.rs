//! The HTTP/1.1 front: the state machine on a real socket, all connections on one thread.
//!
//! Each connection is a task of a single-threaded executor. A task that serves a watch waits
//! to be woken, so that a client that does not read stalls nobody: its cursor falls behind the history, and
//! what it gets at last is a 410.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use smol::channel::{Receiver, Sender, bounded};
use smol::{Async, LocalExecutor, Timer};

use crate::config::Config;
use crate::kubelet::{Kubelet, KubeletConfig};
use crate::server::ApiServer;
use crate::time::Now;
use crate::watch::{WatchId, WatchState};

mod codec;
mod connection;
mod incoming;

pub use incoming::{Bad, Incoming, RequestReader};

/// Settings of a [`Server`].
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where to listen. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// The state machine.
    pub api: Config,
    /// A pretend kubelet that runs the pods, if there shall be one.
    pub kubelet: Option<KubeletConfig>,
    /// How long a client may take for a request, from its first byte to its last.
    pub request_deadline: Duration,
    /// How long a client may take to accept what is written to it.
    pub write_deadline: Duration,
    /// How many connections may be open; more are closed at once.
    pub max_connections: usize,
    /// Ends every watch after so long (a fault, for tests).
    pub close_watches_after: Option<Duration>,
    /// Breaks one in so many watches in the middle of a frame of that number (a fault, for tests).
    pub cut_watches: Option<(u32, u32)>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            api: Config::default(),
            kubelet: None,
            request_deadline: Duration::from_secs(20),
            write_deadline: Duration::from_secs(30),
            max_connections: 20_000,
            close_watches_after: None,
            cut_watches: None,
        }
    }
}

/// A running API server. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    shared: Arc<Shared>,
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server on its own thread.
    ///
    /// # Errors
    /// When the address cannot be listened on, or no thread can be had.
    pub fn start(config: ServerConfig) -> io::Result<Self> {
        let listener = TcpListener::bind(config.listen)?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared::new(&config));
        let (stop, stopped) = bounded(1);
        let for_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("apiserver".to_owned())
            .spawn(move || serve(&listener_or_log(listener), &for_thread, &config, &stopped))?;
        Ok(Self { addr, shared, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The address as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// How many connections are open.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    /// Calls into the state machine while it runs; its watches see what that changes.
    pub fn with_api<T>(&self, call: impl FnOnce(&mut ApiServer, Now) -> T) -> T {
        let now = self.shared.now();
        let result = call(&mut self.shared.lock().api, now);
        self.shared.dispatch();
        result
    }

    /// Calls into the pretend kubelet; `None` if there is none.
    pub fn with_kubelet<T>(&self, call: impl FnOnce(&mut Kubelet, &mut ApiServer, Now) -> T) -> Option<T> {
        let now = self.shared.now();
        let result = {
            let mut state = self.shared.lock();
            let State { api, kubelet, .. } = &mut *state;
            kubelet.as_mut().map(|k| call(k, api, now))
        };
        self.shared.dispatch();
        result
    }

    /// Stops: connections are closed, the thread is joined.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        self.stop.close();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// What the thread and the callers of [`Server::with_api`] share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    begun: Instant,
    /// How many connections are open.
    open: AtomicUsize,
    /// Tells the timer task that deadlines changed.
    timer: Sender<()>,
    timer_wake: Receiver<()>,
}

#[derive(Debug)]
struct State {
    api: ApiServer,
    kubelet: Option<Kubelet>,
    /// Who waits for which watch.
    watchers: HashMap<WatchId, Sender<()>>,
    /// When the timer task looks again by itself.
    next_tick: Option<Duration>,
}

impl State {
    fn deadline(&self) -> Option<Duration> {
        let kubelet = self.kubelet.as_ref().and_then(Kubelet::poll_deadline);
        [self.api.poll_deadline(), kubelet].into_iter().flatten().min()
    }
}

impl Shared {
    fn new(config: &ServerConfig) -> Self {
        let begun = Instant::now();
        let now = Now { monotonic: Duration::ZERO, wall: Timestamp::now() };
        let mut api = ApiServer::new(config.api.clone(), now);
        api.faults_mut().close_watches_after(config.close_watches_after);
        if let Some((one_in, frame)) = config.cut_watches {
            api.faults_mut().cut_watches(one_in, frame);
        }
        let kubelet = config.kubelet.clone().map(Kubelet::new);
        let (timer, timer_wake) = bounded(1);
        Self {
            state: Mutex::new(State { api, kubelet, watchers: HashMap::new(), next_tick: None }),
            begun,
            open: AtomicUsize::new(0),
            timer,
            timer_wake,
        }
    }

    fn now(&self) -> Now {
        Now { monotonic: self.begun.elapsed(), wall: Timestamp::now() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of a caller's closure must not take the server down.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the watches that have something to say, lets the kubelet look, and the timer.
    fn dispatch(&self) {
        let mut state = self.lock();
        let State { api, kubelet, watchers, .. } = &mut *state;
        let mut kubelet_is_due = false;
        loop {
            while let Some(id) = api.poll_ready() {
                match watchers.get(&id) {
                    Some(waiter) => {
                        let _ = waiter.try_send(());
                    }
                    None => kubelet_is_due = true,
                }
            }
            match kubelet {
                Some(k) if std::mem::take(&mut kubelet_is_due) => k.handle_timeout(self.now(), api),
                _ => break,
            }
        }
        self.reschedule(&state);
    }

    /// Does what is due, and says when to come again.
    fn tick(&self) -> Option<Duration> {
        let now = self.now();
        let mut state = self.lock();
        let State { api, kubelet, .. } = &mut *state;
        if api.poll_deadline().is_some_and(|at| at <= now.monotonic) {
            api.handle_timeout(now);
        }
        if let Some(k) = kubelet
            && k.poll_deadline().is_none_or(|at| at <= now.monotonic)
        {
            k.handle_timeout(now, api);
        }
        state.next_tick = state.deadline();
        state.next_tick
    }

    /// Wakes the timer task if something is due earlier than it thinks.
    fn reschedule(&self, state: &State) {
        let due = state.deadline();
        if due.is_some_and(|at| state.next_tick.is_none_or(|next| at < next)) {
            let _ = self.timer.try_send(());
        }
    }

    fn poll_watch(&self, id: WatchId, limit: usize, out: &mut Vec<u8>) -> WatchState {
        let now = self.now();
        let mut state = self.lock();
        let polled = state.api.poll_watch(id, now, limit, out);
        self.reschedule(&state);
        polled
    }
}

fn listener_or_log(listener: TcpListener) -> Option<Async<TcpListener>> {
    Async::new(listener).map_err(|e| log::error!("the listening socket cannot be used: {e}")).ok()
}

fn serve(listener: &Option<Async<TcpListener>>, shared: &Arc<Shared>, config: &ServerConfig, stopped: &Receiver<()>) {
    let Some(listener) = listener else { return };
    let executor = Rc::new(LocalExecutor::new());
    let timer = shared.clone();
    executor
        .spawn(async move {
            loop {
                let next = timer.tick();
                timer.dispatch();
                let wake = timer.timer_wake.recv();
                match next {
                    Some(at) => {
                        let sleep = at.saturating_sub(timer.begun.elapsed());
                        let sleeping = async {
                            Timer::after(sleep).await;
                            Ok(())
                        };
                        let _ = smol::future::or(sleeping, wake).await;
                    }
                    None => {
                        let _ = wake.await;
                    }
                }
            }
        })
        .detach();
    let accepting = {
        let executor = executor.clone();
        let config = Rc::new(config.clone());
        async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // Out of descriptors, most likely: wait for some to be closed.
                    Timer::after(Duration::from_millis(50)).await;
                    continue;
                };
                if shared.open.load(Ordering::Relaxed) >= config.max_connections {
                    continue;
                }
                drop(stream.get_ref().set_nodelay(true));
                shared.open.fetch_add(1, Ordering::Relaxed);
                let (shared, config) = (shared.clone(), config.clone());
                executor
                    .spawn(async move {
                        if let Err(e) = connection::serve(stream, &shared, &config).await {
                            log::debug!("a connection ended: {e}");
                        }
                        shared.open.fetch_sub(1, Ordering::Relaxed);
                    })
                    .detach();
            }
        }
    };
    let until_stopped = async {
        let _ = stopped.recv().await;
    };
    smol::block_on(executor.run(smol::future::or(until_stopped, accepting)));
}

#[cfg(test)]
mod tests;
