//! An HTTP server that follows a script to the byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};

/// What the server does with one request, after reading it whole.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes these bytes and keeps the connection.
    Answer(Vec<u8>),
    /// Writes these bytes and closes the connection.
    AnswerAndClose(Vec<u8>),
    /// Writes these bytes and then waits until the client closes the connection.
    AnswerAndHold(Vec<u8>),
}

/// What the server saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A connection was opened.
    Connected,
    /// A request: its head without the header that names the host, lower-cased but for the first line, and its body.
    Request(Vec<String>, Vec<u8>),
    /// A held connection was closed by the client.
    HungUp,
}

/// The running server. Connections are served one after the other.
#[derive(Debug)]
pub struct Script {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    /// How many connections the server has closed.
    pub closed: Arc<AtomicUsize>,
    sights: Receiver<Sight>,
    thread: JoinHandle<()>,
}

impl Script {
    /// Starts a server that takes one step a request and ends with the last one.
    pub fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let url = format!("http://{}", listener.local_addr().expect("the socket is bound"));
        let (sender, sights) = channel();
        let closed = Arc::new(AtomicUsize::new(0));
        let count = closed.clone();
        let thread = spawn(move || serve(&listener, steps, &sender, &count));
        Self { url, closed, sights, thread }
    }

    /// Waits for the end of the script and returns what the server saw.
    pub fn finish(self) -> Vec<Sight> {
        self.thread.join().expect("the script was followed");
        self.sights.iter().collect()
    }
}

fn serve(listener: &TcpListener, steps: Vec<Step>, sights: &Sender<Sight>, closed: &AtomicUsize) {
    let say = |sight| sights.send(sight).expect("the test waits for it");
    let mut steps = steps.into_iter().peekable();
    while steps.peek().is_some() {
        let (mut stream, _) = listener.accept().expect("a client connects");
        say(Sight::Connected);
        while steps.peek().is_some() {
            let Some((head, body)) = read_request(&mut stream) else { break };
            say(Sight::Request(head, body));
            match steps.next().expect("there was another step") {
                Step::Answer(bytes) => write(&mut stream, &bytes),
                Step::AnswerAndClose(bytes) => {
                    write(&mut stream, &bytes);
                    break;
                }
                Step::AnswerAndHold(bytes) => {
                    write(&mut stream, &bytes);
                    // Nothing more is sent by a client that waits, so this ends with the connection.
                    while stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
                    say(Sight::HungUp);
                    break;
                }
            }
        }
        drop(stream);
        closed.fetch_add(1, Ordering::SeqCst);
    }
}

fn write(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).and_then(|()| stream.flush()).expect("the client reads");
}

/// Reads one request with a `content-length` or without a body. `None` if the client closed the connection before one.
fn read_request(stream: &mut TcpStream) -> Option<(Vec<String>, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(0) => return None,
            Ok(_) => bytes.push(byte[0]),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return None,
            Err(e) => panic!("reading a request: {e}"),
        }
    }
    let text = String::from_utf8(bytes).expect("a head is text");
    let mut lines = text.trim_end().split("\r\n");
    let first = lines.next().expect("there is a first line").to_owned();
    let mut headers: Vec<String> =
        lines.map(str::to_ascii_lowercase).filter(|line| !line.starts_with("host:")).collect();
    headers.sort();
    let length = headers.iter().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().expect("a length is a number"))];
    stream.read_exact(&mut body).expect("the body is as long as announced");
    headers.insert(0, first);
    Some((headers, body))
}
