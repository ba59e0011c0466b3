//! A connection to the server: TCP, and TLS on top of it where the URL says so.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use async_io::Async;
use futures_lite::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use futures_rustls::TlsConnector;
use futures_rustls::pki_types::ServerName;
use ureq_proto::http::Uri;

use crate::transport::Server;

/// How many bytes are read at once.
const READ: usize = 16 << 10;

/// A stream of bytes to the server and what was read from it but not used yet.
pub(crate) struct Connection {
    /// The socket, shared with `stream`, to ask whether the server has hung up.
    socket: Arc<Async<TcpStream>>,
    stream: Pin<Box<dyn Stream>>,
    input: Vec<u8>,
}

trait Stream: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

impl Connection {
    /// Connects to the first address of the server that answers.
    pub(crate) async fn open(server: &Server) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {what}", server.url));
        let uri: Uri = server.url.parse().map_err(|_| invalid("not a URL"))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(invalid("not an http or https URL")),
        };
        let host = uri.host().ok_or_else(|| invalid("no host"))?.trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });

        let socket = Arc::new(connect(host.clone(), port).await?);
        socket.get_ref().set_nodelay(true)?;
        let stream: Pin<Box<dyn Stream>> = if tls {
            let name = ServerName::try_from(host).map_err(|_| invalid("not a host name"))?;
            Box::pin(TlsConnector::from(server.tls.clone()).connect(name, Shared(socket.clone())).await?)
        } else {
            Box::pin(Shared(socket.clone()))
        };
        Ok(Self { socket, stream, input: Vec::new() })
    }

    /// Whether the connection can carry another exchange: the server has neither hung up nor said anything unasked.
    pub(crate) fn is_quiet(&self) -> bool {
        let peeked = self.socket.get_ref().peek(&mut [0]);
        self.input.is_empty() && peeked.is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sends all of it.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// What was read and not consumed.
    pub(crate) fn input(&self) -> &[u8] {
        &self.input
    }

    /// Forgets the first `length` bytes of the input.
    pub(crate) fn consume(&mut self, length: usize) {
        self.input.drain(..length);
    }

    /// Waits for more input. `false` at the end of the stream.
    pub(crate) async fn fill(&mut self) -> io::Result<bool> {
        let start = self.input.len();
        self.input.resize(start + READ, 0);
        let read = self.stream.read(&mut self.input[start..]).await;
        self.input.truncate(start + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }
}

async fn connect(host: String, port: u16) -> io::Result<Async<TcpStream>> {
    // The system's resolver only comes blocking.
    let addresses = blocking::unblock(move || (host.as_str(), port).to_socket_addrs()).await?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in addresses {
        match Async::<TcpStream>::connect(address).await {
            Ok(socket) => return Ok(socket),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// A socket that can also be looked at while a TLS stream owns it.
struct Shared(Arc<Async<TcpStream>>);

impl AsyncRead for Shared {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut [u8],
    ) -> std::task::Poll<io::Result<usize>> {
        Pin::new(&mut &*self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Shared {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        Pin::new(&mut &*self.0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        Pin::new(&mut &*self.0).poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        Pin::new(&mut &*self.0).poll_close(context)
    }
}
