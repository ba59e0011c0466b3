//! A connection to the server: TCP, a proxy where one is asked for, and TLS on top where the URL says so.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use async_io::Async;
use futures_lite::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use futures_rustls::TlsConnector;
use futures_rustls::pki_types::ServerName;
use futures_rustls::rustls::ClientConfig;
use sanskube_access::{Proxy, Server, Target};

/// How many bytes are read at once.
const READ: usize = 16 << 10;
/// The size of what a proxy answers, at most.
const PROXY_HEAD: usize = 8 << 10;

/// A stream of bytes to the server and what was read from it but not used yet.
pub(crate) struct Connection {
    /// The socket, shared with `stream`, to ask whether the server has hung up.
    socket: Arc<Async<TcpStream>>,
    stream: Pin<Box<dyn Stream>>,
    input: Vec<u8>,
    /// Of which generation of credentials the certificate is that was shown.
    generation: u64,
}

trait Stream: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

impl Connection {
    /// Connects to the first address of the server that answers. Where there is to be TLS, it is as `tls` says.
    pub(crate) async fn open(
        server: &Server,
        generation: u64,
        tls: impl Fn() -> Arc<ClientConfig>,
    ) -> io::Result<Self> {
        let target =
            Target::of(&server.url).ok_or_else(|| invalid(format!("{:?} is no URL of a server", server.url)))?;
        let (host, port) = match &server.proxy {
            None => (target.host.clone(), target.port),
            Some(proxy) => (proxy.host().to_owned(), proxy.port()),
        };
        let socket = Arc::new(connect(host, port).await?);
        socket.get_ref().set_nodelay(true)?;
        let mut stream: Pin<Box<dyn Stream>> = Box::pin(Shared(socket.clone()));
        if let Some(proxy) = &server.proxy {
            if proxy.is_tls() {
                stream = encrypt(tls(), proxy.host(), stream).await?;
            }
            pass(proxy, &target, &mut stream).await?;
        }
        if target.tls {
            let name = server.server_name.as_ref().unwrap_or(&target.host);
            stream = encrypt(tls(), name, stream).await?;
        }
        Ok(Self { socket, stream, input: Vec::new(), generation })
    }

    /// Of which generation of credentials the certificate is that was shown.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
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
        if self.input.is_empty() {
            // A quiet watch should not hold a buffer.
            self.input = Vec::new();
        }
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

async fn encrypt(tls: Arc<ClientConfig>, name: &str, stream: Pin<Box<dyn Stream>>) -> io::Result<Pin<Box<dyn Stream>>> {
    let name = ServerName::try_from(name.to_owned()).map_err(|_| invalid(format!("{name:?} is no host name")))?;
    Ok(Box::pin(TlsConnector::from(tls).connect(name, stream).await?))
}

/// Asks a proxy to connect us to the target, and waits until it has.
async fn pass(proxy: &Proxy, target: &Target, stream: &mut Pin<Box<dyn Stream>>) -> io::Result<()> {
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n");
    if let Some(authorization) = proxy.authorization() {
        request.push_str(&format!("proxy-authorization: {authorization}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut head = Vec::new();
    let mut byte = [0];
    // Byte by byte: what comes after the head is the server's.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= PROXY_HEAD || stream.read(&mut byte).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the proxy {proxy:?} does not answer")));
        }
        head.push(byte[0]);
    }
    let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    if status.first() == Some(&b'2') {
        Ok(())
    } else {
        let status = String::from_utf8_lossy(status);
        Err(io::Error::new(io::ErrorKind::ConnectionRefused, format!("the proxy {proxy:?} answers {status}")))
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
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
