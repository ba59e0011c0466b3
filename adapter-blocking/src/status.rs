//! Health and metrics over HTTP, answered by the loop that they are about.
//!
//! A question is put to the driver's loop, which answers it when it comes by: so a loop that hangs is one that is not healthy, and nothing is
//! shared or locked. Threads of their own read the questions, so that a slow client keeps nobody else waiting.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use crate::driver::Waker;

/// How many clients are served at a time.
const THREADS: usize = 4;
/// How long a client may take to ask, and the loop to answer. Probes of a kubelet wait a second unless told otherwise.
const PATIENCE: Duration = Duration::from_millis(900);
/// The longest request line and headers that are read.
const REQUEST_BYTES: u64 = 16 << 10;
/// How many questions may wait for the loop. There are no more, as each thread asks one.
const QUESTIONS: usize = THREADS;

/// Serves `/healthz`, `/readyz` and `/metrics` for a loop.
pub struct StatusServer {
    address: SocketAddr,
    questions: Receiver<Question>,
    stopped: Arc<AtomicBool>,
}

/// What a loop says of itself.
pub trait Status {
    /// Whether it does its work, or stands by to do so; or else what is missing.
    ///
    /// # Errors
    /// It does not yet, for this reason.
    fn ready(&self) -> Result<(), String>;

    /// What it has counted, in Prometheus' text format.
    fn metrics(&self) -> String;
}

/// A page that somebody wants to see.
struct Question {
    page: Page,
    answer: Sender<Answer>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    Health,
    Metrics,
    Readiness,
}

struct Answer {
    status: &'static str,
    body: String,
}

impl StatusServer {
    /// Serves on this address; on a free port if it names port 0. `waker` wakes the loop that is to call [`answer`](Self::answer).
    ///
    /// # Errors
    /// The address cannot be had, or no thread can be started.
    pub fn start(address: SocketAddr, waker: &Waker) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (ask, questions) = sync_channel(QUESTIONS);
        let stopped = Arc::new(AtomicBool::new(false));
        for _ in 0..THREADS {
            let (listener, ask, waker, stopped) = (listener.try_clone()?, ask.clone(), waker.clone(), stopped.clone());
            Builder::new().name("sanskube-status".into()).spawn(move || serve(&listener, &ask, &waker, &stopped))?;
        }
        Ok(Self { address, questions, stopped })
    }

    /// Where it serves.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers those who have asked. To be called each time the loop comes by.
    pub fn answer(&self, status: &impl Status) {
        while let Ok(Question { page, answer }) = self.questions.try_recv() {
            let reply = match page {
                Page::Health => Answer::ok("ok".into()),
                Page::Metrics => Answer::ok(status.metrics()),
                Page::Readiness => match status.ready() {
                    Ok(()) => Answer::ok("ok".into()),
                    Err(why) => Answer::unavailable(why),
                },
            };
            // Who has asked may have gone.
            let _ = answer.send(reply);
        }
    }
}

impl Drop for StatusServer {
    /// Ends the threads: each is woken by a connection, unless it is just at work, after which it ends as well.
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        for _ in 0..THREADS {
            let _ = TcpStream::connect_timeout(&self.address, PATIENCE);
        }
    }
}

impl fmt::Debug for StatusServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Answer {
    fn ok(body: String) -> Self {
        Self { status: "200 OK", body }
    }

    fn unavailable(body: String) -> Self {
        Self { status: "503 Service Unavailable", body }
    }
}

/// The life of a thread: one client after the other.
fn serve(listener: &TcpListener, ask: &SyncSender<Question>, waker: &Waker, stopped: &AtomicBool) {
    loop {
        let client = listener.accept();
        if stopped.load(Ordering::Acquire) {
            return;
        }
        match client {
            Ok((client, _)) => {
                if let Err(e) = reply(client, ask, waker) {
                    log::debug!("a client of the status server: {e}");
                }
            }
            // No file descriptors are left, or the like: not to be tried in a busy loop.
            Err(_) => std::thread::sleep(PATIENCE),
        }
    }
}

/// Reads one request and answers it.
fn reply(mut client: TcpStream, ask: &SyncSender<Question>, waker: &Waker) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut request = BufReader::new(Read::take(&client, REQUEST_BYTES)).lines();
    let line = request.next().transpose()?.unwrap_or_default();
    // The headers say nothing of interest, but a connection that is closed before they are read is reset.
    for header in request {
        if header?.is_empty() {
            break;
        }
    }
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let page = match path.split('?').next().unwrap_or_default() {
        "/healthz" | "/livez" => Some(Page::Health),
        "/readyz" => Some(Page::Readiness),
        "/metrics" => Some(Page::Metrics),
        _ => None,
    };
    let Answer { status, body } = match (method, page) {
        ("GET" | "HEAD", Some(page)) => question(page, ask, waker),
        ("GET" | "HEAD", None) => Answer { status: "404 Not Found", body: "not found".into() },
        _ => Answer { status: "405 Method Not Allowed", body: "only GET is allowed".into() },
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    if method != "HEAD" {
        client.write_all(body.as_bytes())?;
    }
    Ok(())
}

/// Puts a question to the loop.
fn question(page: Page, ask: &SyncSender<Question>, waker: &Waker) -> Answer {
    let (answer, answered) = channel();
    let asked = ask.try_send(Question { page, answer });
    waker.wake();
    match asked.ok().and_then(|()| answered.recv_timeout(PATIENCE).ok()) {
        Some(answer) => answer,
        None => Answer::unavailable("the loop does not answer".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    struct Fixed(Result<(), String>);

    impl Status for Fixed {
        fn ready(&self) -> Result<(), String> {
            self.0.clone()
        }

        fn metrics(&self) -> String {
            "up 1\n".into()
        }
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks, and answers as a loop does when it is woken.
    fn ask_loop(request: &str, status: &Fixed) -> String {
        let (sender, events) = sync_channel(4);
        let server = StatusServer::start(([127, 0, 0, 1], 0).into(), &Waker::new(sender)).unwrap();
        let (address, request) = (server.address(), request.to_owned());
        let asking = std::thread::spawn(move || ask(address, &request));
        while !asking.is_finished() {
            if events.recv_timeout(Duration::from_millis(10)).is_ok() {
                server.answer(status);
            }
        }
        asking.join().unwrap()
    }

    #[test]
    fn pages_are_answered_by_the_loop() {
        let ready = Fixed(Ok(()));
        for (path, body) in [("/healthz", "ok"), ("/readyz?verbose", "ok"), ("/metrics", "up 1\n")] {
            let answer = ask_loop(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"), &ready);
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(body), "{answer}");
        }
        let answer = ask_loop("HEAD /metrics HTTP/1.1\r\n\r\n", &ready);
        assert!(answer.contains("content-length: 5") && answer.ends_with("\r\n\r\n"), "{answer}");
    }

    #[test]
    fn what_is_not_ready_says_why() {
        let answer = ask_loop("GET /readyz HTTP/1.1\r\n\r\n", &Fixed(Err("no list of pods yet".into())));
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("no list of pods yet"), "{answer}");
    }

    #[test]
    fn a_loop_that_hangs_is_not_healthy_and_other_requests_are_refused_without_it() {
        let (sender, _events) = sync_channel(4);
        let server = StatusServer::start(([127, 0, 0, 1], 0).into(), &Waker::new(sender)).unwrap();
        let answer = ask(server.address(), "GET /healthz HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(ask(server.address(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(server.address(), "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(ask(server.address(), "\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }
}
