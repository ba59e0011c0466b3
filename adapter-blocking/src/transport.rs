//! The calls in flight, each on a thread: a bounded pool for short calls, one thread a watch.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use sanskube::machine::{Answer, Part};
use sanskube::request::{Call, CallId, Failure, Head};
use ureq::config::AutoHeaderValue;
use ureq::http::{self, HeaderMap, HeaderValue, StatusCode};
use ureq::{Agent, AsSendBody, Body, Error, Timeout};

use crate::driver::Event;
use crate::peer::Peer;
use crate::server::Server;

/// The size of a piece of a body, at most.
pub(crate) const PIECE: usize = 16 << 10;
/// How long past the core's own deadline a thread waits. The core gives a call up first; this only frees the thread.
const MARGIN: Duration = Duration::from_secs(1);

/// A call to be made by a thread.
struct Job {
    agent: Agent,
    call: Call,
    /// When the core gives it up.
    until: Instant,
}

/// Sends requests and reports their answers as [`Event`]s.
pub(crate) struct Transport {
    peer: Arc<Peer>,
    events: SyncSender<Event>,
    short_calls: Agent,
    /// With which certificate that agent was made.
    generation: u64,
    /// The agent with the certificate before, whose calls may still be in flight.
    retired: Option<Agent>,
    workers: usize,
    /// The calls in flight. A watch has an agent of its own, so that it can be shut down alone.
    in_flight: HashMap<CallId, Option<Agent>>,
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Transport {
    pub(crate) fn new(server: Server, workers: usize, events: SyncSender<Event>) -> std::io::Result<Self> {
        let (generation, short_calls) = (server.credentials.generation(), server.agent(workers));
        let peer = Arc::new(Peer::new(server));
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut threads = Vec::new();
        for _ in 0..workers.max(1) {
            let (peer, events, waiting) = (peer.clone(), events.clone(), waiting.clone());
            threads.push(Builder::new().name("sanskube-call".into()).spawn(move || work(&peer, &waiting, &events))?);
        }
        Ok(Self {
            peer,
            events,
            short_calls,
            generation,
            retired: None,
            workers,
            in_flight: HashMap::new(),
            jobs: Some(jobs),
            threads,
        })
    }

    /// Begins a call. Its thread gives up by itself a little after `limit`.
    ///
    /// # Errors
    /// No thread could be started for a watch. The call is not in flight.
    pub(crate) fn start(&mut self, call: Call, limit: Duration) -> std::io::Result<()> {
        let id = call.id;
        let until = Instant::now() + limit;
        let job = |agent, call| Job { agent, call, until };
        if !call.watch {
            self.use_newest_certificate();
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

    /// Makes the agent for short calls anew, if there is another certificate than when it was made.
    fn use_newest_certificate(&mut self) {
        let generation = self.peer.server.credentials.generation();
        if generation != self.generation {
            let agent = self.peer.server.agent(self.workers);
            self.retired = Some(std::mem::replace(&mut self.short_calls, agent));
            self.generation = generation;
        }
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
        if let Some(agent) = self.retired.take() {
            agent.shutdown();
        }
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
    let Job { agent, call, until } = job;
    if until <= Instant::now() {
        // It has waited for a thread until nobody waited for it any more. What is not sent cannot do harm.
        report(Part::Failed(Failure::Refused));
        return Ok(());
    }
    let mut response = open(peer, &agent, &call, until)?;
    if !report(Part::Head(head(&response))) {
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

/// Sends a call, and returns when the head of its answer is there.
pub(crate) fn open(peer: &Peer, agent: &Agent, call: &Call, until: Instant) -> Result<http::Response<Body>, Error> {
    let authorization = peer.server.credentials.header();
    let mut response = send(peer, agent, call, authorization.clone(), until)?;
    if response.status() == StatusCode::UNAUTHORIZED && peer.server.credentials.renew(authorization.as_ref()) {
        // Credentials change while they are in use, and are the transport's to look after: a request that was refused for them is made once more. A
        // watch can be cancelled only through the agent it has, so it is left to the core.
        if !call.watch {
            drop(response);
            let certified = peer.server.credentials.certificate().map(|_| peer.server.agent(0));
            let agent = certified.as_ref().unwrap_or(agent);
            response = send(peer, agent, call, peer.server.credentials.header(), until)?;
        }
    }
    peer.handle_answer();
    Ok(response)
}

/// What the core looks at in the head of an answer.
pub(crate) fn head(response: &http::Response<Body>) -> Head {
    Head { status: response.status().as_u16(), retry_after: retry_after(response.headers()) }
}

fn send(
    peer: &Peer,
    agent: &Agent,
    call: &Call,
    authorization: Option<HeaderValue>,
    until: Instant,
) -> Result<http::Response<Body>, Error> {
    let (request, server) = (&call.request, &peer.server);
    let mut builder = http::Request::builder()
        .method(request.method.as_str())
        .uri(format!("{}{}", peer.url, request.path))
        .header(http::header::ACCEPT, "application/json");
    if let Some(authorization) = authorization {
        builder = builder.header(http::header::AUTHORIZATION, authorization);
    }
    if let Some(host) = &peer.host {
        builder = builder.header(http::header::HOST, host);
    }
    if !request.content_type.is_empty() {
        builder = builder.header(http::header::CONTENT_TYPE, request.content_type);
    }
    for (name, value) in &server.headers {
        builder = builder.header(name, value);
    }
    // A compressed watch would hold events back until a block is full.
    let plain = call.watch || !server.compression;
    let limit = until.saturating_duration_since(Instant::now()) + MARGIN;
    if request.body.is_empty() {
        run(agent, builder.body(())?, plain, limit)
    } else {
        run(agent, builder.body(&request.body[..])?, plain, limit)
    }
}

fn run<B: AsSendBody>(
    agent: &Agent,
    request: http::Request<B>,
    plain: bool,
    limit: Duration,
) -> Result<http::Response<Body>, Error> {
    let mut request = agent.configure_request(request).timeout_global(Some(limit));
    if plain {
        request = request.accept_encoding(AutoHeaderValue::None);
    }
    agent.run(request.build())
}

/// `Retry-After` in seconds. The other form, a date, is not used by API servers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// What an error says about whether the server may have acted.
pub(crate) fn classify(error: &Error) -> Failure {
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
