//! One exchange, as a thread makes it: a request is sent, and its answer reported piece by piece.

use std::io::Read;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use sanskube::machine::{Answer, Part};
use sanskube::request::{Call, CallId, Encoding, Failure, Head};
use sanskube_access::Server;
use ureq::config::AutoHeaderValue;
use ureq::http::{self, HeaderMap, HeaderValue, StatusCode};
use ureq::{Agent, AsSendBody, Body, Error, Timeout};

use crate::event::Event;
use crate::pool::Pool;

/// The size of a piece of a body, at most.
pub(crate) const PIECE: usize = 16 << 10;
/// How long past the core's own deadline a thread waits. The core gives a call up first; this only frees the thread.
const MARGIN: Duration = Duration::from_secs(1);

/// A call to be made by a thread.
pub(crate) struct Job {
    /// The agent of a watch. Short calls share those of the pool.
    pub(crate) agent: Option<Agent>,
    pub(crate) call: Call,
    /// When the core gives it up.
    pub(crate) until: Instant,
}

/// Makes one call and reports what comes. Returns early when nobody listens any more.
pub(crate) fn exchange(pool: &Pool, job: Job, events: &SyncSender<Event>) {
    let mut report = Report { call: job.call.id, events, parts: Vec::new() };
    if let Err(error) = attempt(pool, &job, &mut report) {
        let failure = classify(&error);
        log::debug!("{:?}: {error}", job.call.request);
        if failure == Failure::Refused {
            pool.reach.handle_refusal(&pool.server.url, &error);
        }
        report.add(Part::Failed(failure));
    }
    report.send();
}

/// Tells the driver of an answer. Each time wakes it, so parts that come together are told together.
struct Report<'a> {
    call: CallId,
    events: &'a SyncSender<Event>,
    parts: Vec<Answer>,
}

impl Report<'_> {
    fn add(&mut self, part: Part) {
        self.parts.push(Answer { call: self.call, part });
    }

    /// Returns whether somebody listens.
    fn send(&mut self) -> bool {
        self.events.send(Event::Answer(std::mem::take(&mut self.parts))).is_ok()
    }
}

fn attempt(pool: &Pool, job: &Job, report: &mut Report<'_>) -> Result<(), Error> {
    let Job { agent, call, until } = job;
    if *until <= Instant::now() {
        // It has waited for a thread until nobody waited for it any more. What is not sent cannot do harm.
        report.add(Part::Failed(Failure::Refused));
        return Ok(());
    }
    let mut response = open(pool, agent.as_ref(), call, *until)?;
    report.add(Part::Head(head(&response)));
    // What a watch has to tell is told at once; of another answer a piece is filled first.
    if call.watch && !report.send() {
        return Ok(());
    }
    let mut body = response.body_mut().as_reader();
    let (mut piece, mut filled) = ([0; PIECE], 0);
    loop {
        let read = body.read(&mut piece[filled..]);
        filled += *read.as_ref().unwrap_or(&0);
        let ended = match read {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => true,
            Ok(_) => false,
        };
        if filled > 0 && (ended || call.watch || filled == PIECE) {
            report.add(Part::Body(piece[..filled].to_vec()));
            filled = 0;
        }
        if ended {
            report.add(read.map(|_| Part::End)?);
            return Ok(());
        }
        if filled == 0 && !report.send() {
            return Ok(());
        }
    }
}

/// Sends a call, by its own agent or else by the newest of the pool, and returns when the head of its answer is there.
pub(crate) fn open(
    pool: &Pool,
    agent: Option<&Agent>,
    call: &Call,
    until: Instant,
) -> Result<http::Response<Body>, Error> {
    let credentials = &pool.server.credentials;
    let try_with = |authorization: Option<HeaderValue>| {
        let agent = agent.cloned().unwrap_or_else(|| pool.agent());
        send(&pool.server, &agent, call, authorization, until)
    };
    let authorization = credentials.header();
    let mut response = try_with(authorization.clone())?;
    // Credentials change while they are in use, and are the transport's to look after: a request that was refused for them is made once more. A
    // watch can be cancelled only through the agent it has, so it is left to the core.
    let renewed = response.status() == StatusCode::UNAUTHORIZED && credentials.renew(authorization.as_ref());
    if renewed && !call.watch {
        drop(response);
        response = try_with(credentials.header())?;
    }
    pool.reach.handle_answer(&pool.server.url);
    Ok(response)
}

/// What the core looks at in the head of an answer.
pub(crate) fn head(response: &http::Response<Body>) -> Head {
    let headers = response.headers();
    Head { status: response.status().as_u16(), retry_after: retry_after(headers), encoding: encoding(headers) }
}

fn send(
    server: &Server,
    agent: &Agent,
    call: &Call,
    authorization: Option<HeaderValue>,
    until: Instant,
) -> Result<http::Response<Body>, Error> {
    let request = &call.request;
    let mut builder = http::Request::builder()
        .method(request.method.as_str())
        .uri(format!("{}{}", server.url, request.path))
        .header(http::header::ACCEPT, call.accept.accept());
    if let Some(authorization) = authorization {
        builder = builder.header(http::header::AUTHORIZATION, authorization);
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

fn encoding(headers: &HeaderMap) -> Encoding {
    Encoding::of_content_type(headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()))
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
