//! One HTTP exchange: `ureq-proto` decides, the connection carries.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use async_channel::Sender;
use flate2::write::GzDecoder;
use sanskube::machine::{Answer, Part};
use sanskube::request::{Call, CallId, Encoding, Failure, Head};
use sanskube_access::Server;
use ureq_proto::BodyMode;
use ureq_proto::client::{self, RecvBodyResult, RecvResponseResult, SendRequestResult, state};
use ureq_proto::http::{self, HeaderMap, HeaderValue, Request, header};

use crate::connection::Connection;
use crate::event::Event;

/// The size of a piece of a body before a content encoding is undone, at most.
const PIECE: usize = 16 << 10;
/// The size of the head of a request or of an answer, at most.
const HEAD: usize = 64 << 10;

/// Why an exchange failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// Nobody listens to the answer any more.
    Abandoned,
    /// The connection broke, or ended too early.
    Io(io::Error),
    /// What came was not HTTP, or what was to be sent could not be.
    Protocol(ureq_proto::Error),
    /// There is no connection.
    Refused(io::Error),
}

impl Error {
    /// What it says about whether the server may have acted.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Refused(_) => Failure::Refused,
            Self::Abandoned | Self::Io(_) | Self::Protocol(_) => Failure::Cut,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Abandoned => f.write_str("abandoned"),
            Self::Io(e) | Self::Refused(e) => e.fmt(f),
            Self::Protocol(e) => e.fmt(f),
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl From<ureq_proto::Error> for Error {
    fn from(e: ureq_proto::Error) -> Self {
        Self::Protocol(e)
    }
}

impl From<http::Error> for Error {
    fn from(e: http::Error) -> Self {
        Self::Refused(io::Error::new(io::ErrorKind::InvalidInput, e))
    }
}

/// Where the parts of one answer go.
pub(crate) struct Reporter {
    pub(crate) id: CallId,
    pub(crate) events: Sender<Event>,
}

impl Reporter {
    pub(crate) async fn report(&self, part: Part) -> Result<(), Error> {
        let answer = Answer { call: self.id, part };
        self.events.send(Event::Answer(answer)).await.map_err(|_| Error::Abandoned)
    }
}

/// An exchange whose answer has begun to come.
pub(crate) struct Answering {
    pub(crate) head: Head,
    connection: Connection,
    gzip: bool,
    next: RecvResponseResult,
}

impl Answering {
    /// Sends a request, and returns when the head of its answer is there.
    pub(crate) async fn open(
        mut connection: Connection,
        server: &Server,
        call: &Call,
        authorization: Option<HeaderValue>,
    ) -> Result<Self, Error> {
        let receiving = send(&mut connection, request(server, call, authorization)?, &call.request.body).await?;
        let (head, gzip, next) = receive_head(&mut connection, receiving).await?;
        Ok(Self { head, connection, gzip, next })
    }

    /// Reports the answer up to its end. Returns the connection, if it can be used again.
    pub(crate) async fn report(mut self, reporter: &Reporter) -> Result<Option<Connection>, Error> {
        reporter.report(Part::Head(self.head)).await?;
        let closing = match self.next {
            RecvResponseResult::RecvBody(body) => receive_body(&mut self.connection, body, self.gzip, reporter).await?,
            RecvResponseResult::Redirect(redirect) => redirect.proceed(),
            RecvResponseResult::Cleanup(cleanup) => cleanup,
        };
        reporter.report(Part::End).await?;
        Ok((!closing.must_close_connection()).then_some(self.connection))
    }
}

async fn send(
    connection: &mut Connection,
    request: Request<()>,
    body: &[u8],
) -> Result<client::Call<state::RecvResponse>, Error> {
    let mut prepared = client::Call::new(request)?;
    if !body.is_empty() {
        prepared.force_send_body();
    }
    let mut sending = prepared.proceed();
    let mut output = vec![0; HEAD];
    while !sending.can_proceed() {
        let length = sending.write(&mut output)?;
        connection.write(&output[..length]).await?;
    }
    match sending.proceed()? {
        Some(SendRequestResult::SendBody(mut sending)) => {
            connection.write(body).await?;
            sending.consume_direct_write(body.len())?;
            sending.proceed().ok_or_else(|| early_end("the body does not fill its announced length"))
        }
        Some(SendRequestResult::RecvResponse(receiving)) => Ok(receiving),
        Some(SendRequestResult::Await100(_)) | None => Err(early_end("the request was not sent")),
    }
}

fn request(server: &Server, call: &Call, authorization: Option<HeaderValue>) -> Result<Request<()>, Error> {
    let request = &call.request;
    let mut builder = Request::builder()
        .method(request.method.as_str())
        .uri(format!("{}{}", server.url, request.path))
        .header(header::ACCEPT, call.accept.accept())
        .header(header::USER_AGENT, &server.user_agent);
    if !call.watch && server.compression {
        // A compressed watch would hold events back until a block is full.
        builder = builder.header(header::ACCEPT_ENCODING, "gzip");
    }
    for (name, value) in &server.headers {
        builder = builder.header(name, value);
    }
    if let Some(authorization) = authorization {
        builder = builder.header(header::AUTHORIZATION, authorization);
    }
    if !request.body.is_empty() {
        builder = builder.header(header::CONTENT_TYPE, request.content_type);
        builder = builder.header(header::CONTENT_LENGTH, request.body.len());
    }
    Ok(builder.body(())?)
}

async fn receive_head(
    connection: &mut Connection,
    mut receiving: client::Call<state::RecvResponse>,
) -> Result<(Head, bool, RecvResponseResult), Error> {
    let response = loop {
        let (used, response) = receiving.try_response(connection.input(), false)?;
        connection.consume(used);
        if let Some(response) = response {
            break response;
        }
        // An informational answer was taken off; the next may be there already.
        if used > 0 {
            continue;
        }
        if connection.input().len() > HEAD {
            return Err(early_end("the head of the answer is too long"));
        }
        if !connection.fill().await? {
            return Err(early_end("the connection was closed before the answer"));
        }
    };
    let headers = response.headers();
    let gzip = headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip");
    let head =
        Head { status: response.status().as_u16(), retry_after: retry_after(headers), encoding: encoding(headers) };
    let next = receiving.proceed().ok_or_else(|| early_end("the answer has no end"))?;
    Ok((head, gzip, next))
}

async fn receive_body(
    connection: &mut Connection,
    mut body: client::Call<state::RecvBody>,
    gzip: bool,
    reporter: &Reporter,
) -> Result<client::Call<state::Cleanup>, Error> {
    let mut inflate = gzip.then(|| GzDecoder::new(Vec::new()));
    let mut piece = vec![0; PIECE];
    let until_close = matches!(body.body_mode(), BodyMode::CloseDelimited);
    loop {
        let (used, made) = body.read(connection.input(), &mut piece)?;
        connection.consume(used);
        if made > 0 {
            let bytes = match &mut inflate {
                None => piece[..made].to_vec(),
                Some(inflate) => {
                    inflate.write_all(&piece[..made])?;
                    std::mem::take(inflate.get_mut())
                }
            };
            reporter.report(Part::Body(bytes)).await?;
        }
        if !until_close && body.can_proceed() {
            break;
        }
        if used == 0 && made == 0 && !connection.fill().await? {
            if body.can_proceed() {
                break;
            }
            return Err(early_end("the connection was closed within the answer"));
        }
    }
    if let Some(inflate) = inflate {
        reporter.report(Part::Body(inflate.finish()?)).await?;
    }
    match body.proceed() {
        Some(RecvBodyResult::Cleanup(cleanup)) => Ok(cleanup),
        Some(RecvBodyResult::Redirect(redirect)) => Ok(redirect.proceed()),
        None => Err(early_end("the answer has no end")),
    }
}

fn early_end(what: &str) -> Error {
    Error::Io(io::Error::new(io::ErrorKind::UnexpectedEof, what.to_owned()))
}

/// `Retry-After` in seconds. The other form, a date, is not used by API servers.
fn encoding(headers: &HeaderMap) -> Encoding {
    Encoding::of_content_type(headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
