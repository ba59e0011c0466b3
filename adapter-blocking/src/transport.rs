//! The calls in flight, each on a thread: a bounded pool for short calls, one thread a watch.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use sanskube::machine::{Answer, Part};
use sanskube::request::{Call, CallId, Failure, Head};
use ureq::config::AutoHeaderValue;
use ureq::http::{self, HeaderMap};
use ureq::{Agent, AsSendBody, Body, Error, Timeout};

use crate::driver::Event;
use crate::peer::Peer;
use crate::server::Server;

/// The size of a piece of a body, at most.
const PIECE: usize = 16 << 10;
/// How long past the core's own deadline a thread waits. The core gives a call up first; this only frees the thread.
const MARGIN: Duration = Duration::from_secs(1);

/// A call to be made by a thread.
struct Job {
    agent: Agent,
    call: Call,
    limit: Duration,
}

/// Sends requests and reports their answers as [`Event`]s.
pub(crate) struct Transport {
    peer: Arc<Peer>,
    events: SyncSender<Event>,
    short_calls: Agent,
    /// The calls in flight. A watch has an agent of its own, so that it can be shut down alone.
    in_flight: HashMap<CallId, Option<Agent>>,
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Transport {
    pub(crate) fn new(server: Server, workers: usize, events: SyncSender<Event>) -> std::io::Result<Self> {
        let short_calls = server.agent(workers);
        let peer = Arc::new(Peer::new(server));
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut threads = Vec::new();
        for _ in 0..workers.max(1) {
            let (peer, events, waiting) = (peer.clone(), events.clone(), waiting.clone());
            threads.push(Builder::new().name("sanskube-call".into()).spawn(move || work(&peer, &waiting, &events))?);
        }
        Ok(Self { peer, events, short_calls, in_flight: HashMap::new(), jobs: Some(jobs), threads })
    }

    /// Begins a call. Its thread gives up by itself a little after `limit`.
    ///
    /// # Errors
    /// No thread could be started for a watch. The call is not in flight.
    pub(crate) fn start(&mut self, call: Call, limit: Duration) -> std::io::Result<()> {
        let id = call.id;
        let job = |agent, call| Job { agent, call, limit: limit + MARGIN };
        if !call.watch {
            self.in_flight.insert(id, None);
            if let Some(jobs) = &self.jobs {
                // The workers live as long as the sender, so there is someone to take it.
                let _ = jobs.send(job(self.short_calls.clone(), call));
            }
            return Ok(());
        }
        let agent = self.peer.server.agent(0);
        let (peer, events, job) = (self.peer.clone(), self.events.clone(), job(agent.clone(), call));
        let thread = Builder::new().name("sanskube-watch".into()).spawn(move || exchange(&peer, job, &events))?;
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(thread);
        self.in_flight.insert(id, Some(agent));
        Ok(())
    }

    /// Gives a call up. A watch's connection is shut down; a short call's answer is ignored when it comes.
    pub(crate) fn cancel(&mut self, id: CallId) {
        if let Some(Some(agent)) = self.in_flight.remove(&id) {
            agent.shutdown();
        }
    }

    /// Whether the machine still waits for this. Forgets the call if this is its end.
    pub(crate) fn is_awaited(&mut self, answer: &Answer) -> bool {
        if answer.is_last() {
            self.in_flight.remove(&answer.call).is_some()
        } else {
            self.in_flight.contains_key(&answer.call)
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("server", &self.peer.server)
            .field("in_flight", &self.in_flight.len())
            .finish()
    }
}

impl Drop for Transport {
    /// Shuts every connection down and waits for the threads, which end at once: their sockets are closed, and nobody
    /// takes their events any more.
    fn drop(&mut self) {
        self.jobs = None;
        for agent in self.in_flight.drain().filter_map(|(_, agent)| agent) {
            agent.shutdown();
        }
        self.short_calls.clone().shutdown();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}

/// The life of a pool thread: one call after the other, until the transport is dropped.
fn work(peer: &Peer, waiting: &Mutex<Receiver<Job>>, events: &SyncSender<Event>) {
    loop {
        // Nothing can panic while the lock is held, and a receiver has no state to be broken.
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        exchange(peer, job, events);
    }
}

/// Makes one call and reports what comes. Returns early when nobody listens any more.
fn exchange(peer: &Peer, job: Job, events: &SyncSender<Event>) {
    let id = job.call.id;
    let report = |part| events.send(Event::Answer(Answer { call: id, part })).is_ok();
    let name = format!("{:?}", job.call.request);
    if let Err(error) = attempt(peer, job, &report) {
        let failure = classify(&error);
        log::debug!("{name}: {error}");
        if failure == Failure::Refused {
            peer.handle_refusal(&error);
        }
        report(Part::Failed(failure));
    }
}

fn attempt(peer: &Peer, job: Job, report: &impl Fn(Part) -> bool) -> Result<(), Error> {
    let request = job.call.request;
    let mut builder = http::Request::builder()
        .method(request.method.as_str())
        .uri(format!("{}{}", peer.url, request.path))
        .header(http::header::ACCEPT, "application/json");
    if let Some(authorization) = peer.server.credentials.header() {
        builder = builder.header(http::header::AUTHORIZATION, authorization);
    }
    if let Some(host) = &peer.host {
        builder = builder.header(http::header::HOST, host);
    }
    if !request.content_type.is_empty() {
        builder = builder.header(http::header::CONTENT_TYPE, request.content_type);
    }
    let (agent, watch, limit) = (&job.agent, job.call.watch, job.limit);
    let mut response = if request.body.is_empty() {
        send(agent, builder.body(())?, watch, limit)?
    } else {
        send(agent, builder.body(request.body)?, watch, limit)?
    };
    peer.handle_answer();
    let head = Head { status: response.status().as_u16(), retry_after: retry_after(response.headers()) };
    if !report(Part::Head(head)) {
        return Ok(());
    }
    let mut body = response.body_mut().as_reader();
    let mut piece = [0; PIECE];
    loop {
        match body.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => {
                if !report(Part::Body(piece[..length].to_vec())) {
                    return Ok(());
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::from(e)),
        }
    }
    report(Part::End);
    Ok(())
}

fn send<B: AsSendBody>(
    agent: &Agent,
    request: http::Request<B>,
    watch: bool,
    limit: Duration,
) -> Result<http::Response<Body>, Error> {
    let mut request = agent.configure_request(request).timeout_global(Some(limit));
    if watch {
        // A compressed watch would hold events back until a block is full.
        request = request.accept_encoding(AutoHeaderValue::None);
    }
    agent.run(request.build())
}

/// `Retry-After` in seconds. The other form, a date, is not used by API servers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// What an error says about whether the server may have acted.
fn classify(error: &Error) -> Failure {
    use std::io::ErrorKind;
    match error {
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => Failure::Refused,
        Error::Timeout(_) => Failure::TimedOut,
        Error::Io(e) => match e.kind() {
            ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable
            // A certificate that is not trusted: rustls reports it so, before anything of the request is sent.
            | ErrorKind::InvalidData => Failure::Refused,
            ErrorKind::TimedOut => Failure::TimedOut,
            _ => Failure::Cut,
        },
        Error::HostNotFound
        | Error::ConnectionFailed
        | Error::ConnectProxyFailed(_)
        | Error::InvalidProxyUrl
        | Error::Tls(_)
        | Error::Pem(_)
        | Error::Rustls(_)
        | Error::BadUri(_)
        | Error::Http(_) => Failure::Refused,
        _ => Failure::Cut,
    }
}
