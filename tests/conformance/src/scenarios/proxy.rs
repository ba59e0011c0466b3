//! The recording proxy: stands between a controller and its API server, and writes down what passes.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::spawn;

use sanskube::time::Timestamp;
use ureq::http::{self, Response};

use super::log::{Entry, SharedLog};
use crate::api::is_watch;

/// Headers of a request, at most.
const MAX_HEADERS: usize = 32;
/// What is between two ends of a connection, and not between a client and a server.
const HOP_BY_HOP: [&str; 5] = ["connection", "content-encoding", "content-length", "host", "transfer-encoding"];

/// Passes requests on to a server, and answers back. It listens on a port of its own for as long as the process lives.
#[derive(Debug)]
pub(super) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    upstream: String,
    token: String,
    agent: ureq::Agent,
    log: SharedLog,
    /// Whether the server is to seem to be gone.
    gone: AtomicBool,
    /// The connections that are open.
    clients: Mutex<HashMap<u64, TcpStream>>,
    next: AtomicU64,
}

struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Proxy {
    /// A proxy before the server at a URL, which is given the token unless it is empty.
    pub(super) fn start(upstream: &str, token: &str, log: SharedLog) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let config = ureq::Agent::config_builder().http_status_as_error(false).allow_non_standard_methods(true);
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            token: token.to_owned(),
            agent: config.build().into(),
            log,
            gone: AtomicBool::new(false),
            clients: Mutex::default(),
            next: AtomicU64::new(0),
        });
        let ours = Arc::clone(&shared);
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&ours);
                spawn(move || shared.serve(client));
            }
        });
        Ok(Self { address, shared })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Cuts every connection, and every new one, or passes on again.
    pub(super) fn set_gone(&self, gone: bool) {
        self.shared.gone.store(gone, Ordering::SeqCst);
        if gone {
            self.shared.clients().drain().for_each(|(_, client)| drop(client.shutdown(Shutdown::Both)));
        }
    }
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        // Nothing is left half done while the lock is held.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Serves a connection until it ends, whoever ends it.
    fn serve(&self, mut client: TcpStream) {
        let (number, Ok(other)) = (self.number(), client.try_clone()) else { return };
        self.clients().insert(number, other);
        let mut input = Vec::new();
        // Looked at after the connection is known: who says that the server is gone cuts what is known.
        while !self.gone.load(Ordering::SeqCst)
            && let Ok(Some(request)) = receive(&mut client, &mut input)
            && self.pass(&request, &mut client).is_ok()
        {}
        self.clients().remove(&number);
        // The other end may have closed it.
        let _ = client.shutdown(Shutdown::Both);
    }

    fn pass(&self, request: &Request, client: &mut TcpStream) -> io::Result<()> {
        let entry = (request.method != "GET").then(|| {
            let mut log = self.log.lock();
            log.entries.push(request.entry());
            log.entries.len() - 1
        });
        let answered = self.forward(request);
        let (status, answer) = match answered {
            Ok(answer) if is_watch(&request.target) => return self.stream(answer, client),
            Ok(answer) => {
                let (head, mut body) = answer.into_parts();
                let mut bytes = Vec::new();
                body.as_reader().read_to_end(&mut bytes)?;
                (head.status.as_u16(), Ok((head, bytes)))
            }
            Err(e) => (0, Err(e)),
        };
        if let Some(entry) = entry {
            let mut log = self.log.lock();
            log.entries[entry].status = status;
            log.entries[entry].ended = Some(now());
            log.entries[entry].answer = answer.as_ref().map(|(_, bytes)| bytes.clone()).unwrap_or_default();
        }
        let (head, bytes) = answer?;
        client.write_all(&head_of(&head, &format!("content-length: {}", bytes.len())))?;
        client.write_all(&bytes)
    }

    fn forward(&self, request: &Request) -> io::Result<Response<ureq::Body>> {
        let url = format!("{}{}", self.upstream, request.target);
        let mut made = http::Request::builder().method(request.method.as_str()).uri(url);
        for (name, value) in &request.headers {
            made = made.header(name, value);
        }
        if !self.token.is_empty() {
            made = made.header("authorization", format!("Bearer {}", self.token));
        }
        let made = made.body(request.body.clone()).map_err(io::Error::other)?;
        self.agent.run(made).map_err(io::Error::other)
    }

    /// Passes a watch on, piece by piece, until it ends.
    fn stream(&self, answer: Response<ureq::Body>, client: &mut TcpStream) -> io::Result<()> {
        let (head, body) = answer.into_parts();
        client.write_all(&head_of(&head, "transfer-encoding: chunked"))?;
        let watch = self.number();
        if head.status == 200 {
            self.log.lock().open_watch(watch, now());
        }
        let mut body = body.into_reader();
        let mut piece = [0; 16 << 10];
        let ended = loop {
            match body.read(&mut piece) {
                Ok(0) => break client.write_all(b"0\r\n\r\n"),
                Ok(length) => {
                    let chunk = [format!("{length:x}\r\n").as_bytes(), &piece[..length], b"\r\n"].concat();
                    if let Err(e) = client.write_all(&chunk) {
                        break Err(e);
                    }
                }
                Err(e) => break Err(e),
            }
        };
        self.log.lock().close_watch(watch, now());
        ended
    }
}

impl Request {
    fn entry(&self) -> Entry {
        let content_type = self.headers.iter().find(|(name, _)| name == "content-type");
        Entry {
            sent: now(),
            ended: None,
            method: self.method.clone(),
            path: self.target.clone(),
            content_type: content_type.map(|(_, value)| value.clone()).unwrap_or_default(),
            body: self.body.clone(),
            status: 0,
            answer: Vec::new(),
        }
    }
}

/// Reads the next request from a connection; none if it has ended instead.
fn receive(client: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let bad = |what: &str| io::Error::new(ErrorKind::InvalidData, what);
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        if let httparse::Status::Complete(length) = head.parse(input).map_err(io::Error::other)? {
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let headers: Vec<(String, String)> =
                head.headers.iter().map(|header| (header.name.to_lowercase(), text(header.value))).collect();
            let (method, target) =
                (head.method.unwrap_or_default().to_owned(), head.path.unwrap_or_default().to_owned());
            let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
            if header("transfer-encoding").is_some() {
                return Err(bad("a controller tells the length of what it sends"));
            }
            let body = match header("content-length") {
                Some(length) => length.parse().map_err(|_| bad("a length is a number"))?,
                None => 0,
            };
            while input.len() < length + body {
                if !read_some(client, input)? {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
            }
            let body = input[length..length + body].to_vec();
            input.drain(..length + body.len());
            let headers = headers.into_iter().filter(|(name, _)| !HOP_BY_HOP.contains(&&**name)).collect();
            return Ok(Some(Request { method, target, headers, body }));
        }
        if !read_some(client, input)? {
            return Ok(None);
        }
    }
}

/// Reads what there is; whether there was something.
fn read_some(client: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 16 << 10];
    let length = client.read(&mut piece)?;
    input.extend_from_slice(&piece[..length]);
    Ok(length > 0)
}

/// The bytes of an answer before its body, of which the framing is given.
fn head_of(head: &http::response::Parts, framing: &str) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {} -\r\n{framing}\r\n", head.status.as_u16()).into_bytes();
    for (name, value) in head.headers.iter().filter(|(name, _)| !HOP_BY_HOP.contains(&name.as_str())) {
        bytes.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// The time on the wall.
pub(super) fn now() -> Timestamp {
    Timestamp::from_nanos(i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
}
