//! One connection: requests in, responses out, one after the other.

use std::io::{self, Read as _};
use std::net::TcpStream;
use std::pin::pin;
use std::time::Duration;

use smol::channel::{Receiver, bounded};
use smol::future::{FutureExt as _, or};
use smol::io::AsyncWriteExt as _;
use smol::{Async, Timer};

use super::codec::{self, Bad};
use super::incoming::{Incoming, RequestReader};
use super::{ServerConfig, Shared};
use crate::request::{Request, Response};
use crate::server::Reply;
use crate::watch::{WatchId, WatchState};

/// Bytes of frames that are written at once.
const WATCH_BUFFER: usize = 64 * 1024;

/// What reading a request came to.
enum Read {
    Request(Incoming),
    Refuse(Bad),
    Closed,
}

/// Serves a connection to its end.
pub(super) async fn serve(stream: Async<TcpStream>, shared: &Shared, config: &ServerConfig) -> io::Result<()> {
    let mut input = Vec::new();
    let mut output = Vec::new();
    loop {
        let incoming = match read_request(&stream, &mut input, config).await? {
            Read::Request(incoming) => incoming,
            Read::Closed => return Ok(()),
            Read::Refuse(Bad(status)) => {
                let body = format!(
                    "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{{}},\"status\":\"Failure\",\"message\":\"malformed HTTP request\",\"code\":{status}}}\n"
                );
                let response = Response {
                    status,
                    headers: vec![("content-type", "application/json".to_owned())],
                    body: body.into_bytes(),
                };
                output.clear();
                codec::response(&Request::default(), response, false, &mut output);
                return write(&stream, &output, config.write_deadline).await;
            }
        };
        let reply = {
            let now = shared.now();
            shared.lock().api.handle_request(now, &incoming.request)
        };
        output.clear();
        match reply {
            Reply::Response(response) => {
                shared.dispatch();
                codec::response(&incoming.request, response, incoming.keep_alive, &mut output);
                write(&stream, &output, config.write_deadline).await?;
            }
            Reply::Delayed { at, response } => {
                Timer::after(at.saturating_sub(shared.begun.elapsed())).await;
                codec::response(&incoming.request, response, incoming.keep_alive, &mut output);
                write(&stream, &output, config.write_deadline).await?;
            }
            Reply::Hangup => {
                shared.dispatch();
                return Ok(());
            }
            Reply::Watch { id, head: response } => {
                codec::stream_head(&response, &mut output);
                let watching = Watching::begin(shared, id);
                if !watch(&stream, shared, config, &watching, &mut output, &mut input).await? {
                    return Ok(());
                }
            }
        }
        if !incoming.keep_alive {
            return Ok(());
        }
        // Large buffers are not kept for idle connections.
        output = Vec::new();
        input.shrink_to_fit();
    }
}

/// A watch and whoever waits for it; it is dropped with the connection.
struct Watching<'a> {
    shared: &'a Shared,
    id: WatchId,
    wake: Receiver<()>,
}

impl<'a> Watching<'a> {
    fn begin(shared: &'a Shared, id: WatchId) -> Self {
        let (waker, wake) = bounded(1);
        // The watch may be in the ready queue already.
        let _ = waker.try_send(());
        shared.lock().watchers.insert(id, waker);
        shared.dispatch();
        Self { shared, id, wake }
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.watchers.remove(&self.id);
        state.api.drop_watch(self.id);
    }
}

/// Streams a watch; whether the connection can be used again.
async fn watch(
    stream: &Async<TcpStream>,
    shared: &Shared,
    config: &ServerConfig,
    watching: &Watching<'_>,
    output: &mut Vec<u8>,
    input: &mut Vec<u8>,
) -> io::Result<bool> {
    let mut frames = Vec::new();
    // One future for the whole stream, so that its interest in the socket is registered once.
    let mut gone = pin!(async {
        // A request after this one has to wait.
        while fill(stream, input).await? > 0 && input.len() <= codec::MAX_HEAD {}
        Ok(false)
    });
    loop {
        frames.clear();
        let state = shared.poll_watch(watching.id, WATCH_BUFFER, &mut frames);
        match state {
            WatchState::Cut => codec::broken_chunk(&frames, output),
            _ => codec::chunk(&frames, output),
        }
        if state == WatchState::Ended {
            output.extend_from_slice(codec::LAST_CHUNK);
        }
        if !output.is_empty() {
            write(stream, output, config.write_deadline).await?;
            output.clear();
        }
        match state {
            WatchState::Ended => return Ok(true),
            WatchState::Cut => return Ok(false),
            WatchState::More => continue,
            WatchState::Open => {}
        }
        let woken = async {
            let _ = watching.wake.recv().await;
            // Requests that wait already go first, so that their events make one chunk.
            smol::future::yield_now().await;
            Ok::<bool, io::Error>(true)
        };
        if !or(woken, gone.as_mut()).await? {
            return Ok(false);
        }
    }
}

async fn read_request(mut stream: &Async<TcpStream>, input: &mut Vec<u8>, config: &ServerConfig) -> io::Result<Read> {
    // An idle connection may stay as it is; from the first byte on the time counts.
    while input.is_empty() {
        if fill(stream, input).await? == 0 {
            return Ok(Read::Closed);
        }
    }
    let reading = async {
        let mut reader = RequestReader::default();
        loop {
            match reader.take(input) {
                Ok(Some(incoming)) => return Ok(Read::Request(incoming)),
                Ok(None) => {}
                Err(bad) => return Ok(Read::Refuse(bad)),
            }
            if reader.poll_continue() {
                stream.write_all(codec::CONTINUE).await?;
            }
            if fill(stream, input).await? == 0 {
                return Ok(Read::Closed);
            }
        }
    };
    let late = async {
        Timer::after(config.request_deadline).await;
        Ok(Read::Refuse(Bad(408)))
    };
    reading.or(late).await
}

async fn fill(stream: &Async<TcpStream>, input: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        stream.readable().await?;
        // The buffer lives between two awaits, so that an idle connection has none.
        let mut buffer = [0u8; 16 * 1024];
        match stream.get_ref().read(&mut buffer) {
            Ok(n) => {
                input.extend_from_slice(&buffer[..n]);
                return Ok(n);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
}

async fn write(mut stream: &Async<TcpStream>, data: &[u8], deadline: Duration) -> io::Result<()> {
    let writing = stream.write_all(data);
    let late = async {
        Timer::after(deadline).await;
        Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read"))
    };
    writing.or(late).await
}
