//! A server that speaks TLS, says who it is, and looks at who asks.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use sanskube_blocking::access::rustls::server::WebPkiClientVerifier;
use sanskube_blocking::access::rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, crypto::ring};

/// An authority that signs certificates of servers and clients.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, both in PEM.
#[derive(Debug)]
pub struct Signed {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// The certificate as it is sent.
    pub der: Vec<u8>,
}

impl Authority {
    /// An authority with this name.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, key()).expect("it can be signed"))
    }

    /// Its own certificate, in PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for somebody with these names.
    pub fn sign(&self, names: &[&str]) -> Signed {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let (key, params) = (key(), CertificateParams::new(names).expect("the names are names"));
        let certificate = params.signed_by(&key, &self.0).expect("it can be signed");
        Signed { certificate: certificate.pem(), key: key.serialize_pem(), der: certificate.der().to_vec() }
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("there is randomness")
}

/// A request as it was seen.
#[derive(Debug)]
pub struct Seen {
    /// The certificate that the client showed.
    pub certificate: Option<Vec<u8>>,
    /// The head of the request, in lower case.
    pub head: String,
}

/// A server on 127.0.0.1 that answers every request with the same object.
#[derive(Debug)]
pub struct TlsServer {
    /// Where it is.
    pub address: SocketAddr,
    seen: Receiver<Seen>,
}

impl TlsServer {
    /// A server whose certificate is for `name`, and that asks clients for one of the same authority.
    pub fn start(authority: &Authority, name: &str, object: &'static str) -> Self {
        let signed = authority.sign(&[name]);
        let mut clients = RootCertStore::empty();
        clients.add(authority.0.der().clone()).expect("it is a certificate");
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(clients.into(), provider.clone());
        let key = KeyPair::from_pem(&signed.key).expect("it is a key").serialize_der();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports them")
            .with_client_cert_verifier(verifier.allow_unauthenticated().build().expect("there is an authority"))
            .with_single_cert(vec![signed.der.into()], key.try_into().expect("it is a key"))
            .expect("they belong together");
        let (listener, config) = (TcpListener::bind("127.0.0.1:0").expect("a port is free"), Arc::new(config));
        let address = listener.local_addr().expect("the socket is bound");
        let (tell, seen) = channel();
        spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let (config, tell) = (config.clone(), tell.clone());
                // A client that does not trust this server, or has said all, hangs up.
                spawn(move || serve(socket, config, object, &tell));
            }
        });
        Self { address, seen }
    }

    /// `https://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The requests that were seen since this was asked last.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.try_iter().collect()
    }
}

fn serve(socket: TcpStream, config: Arc<ServerConfig>, object: &str, tell: &Sender<Seen>) -> Option<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, socket);
    loop {
        let head = read_head(&mut stream)?;
        let shown = stream.conn.peer_certificates().and_then(<[_]>::first);
        tell.send(Seen { certificate: shown.map(|shown| shown.to_vec()), head }).ok()?;
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{object}", object.len()).ok()?;
        stream.flush().ok()?;
    }
}

/// A proxy on 127.0.0.1 that connects those with a password to one server.
#[derive(Debug)]
pub struct ConnectProxy {
    /// Where it is.
    pub address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl ConnectProxy {
    /// A proxy that leads to `server`, wherever one wants to go.
    pub fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("the socket is bound");
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let ours = Arc::clone(&heads);
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let heads = Arc::clone(&ours);
                spawn(move || connect(client, server, &heads));
            }
        });
        Self { address, heads }
    }

    /// What it was asked so far, in lower case.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no thread panics").clone()
    }
}

fn connect(mut client: TcpStream, server: SocketAddr, heads: &Mutex<Vec<String>>) -> Option<()> {
    let head = read_head(&mut client)?;
    let known = head.contains("proxy-authorization: ");
    heads.lock().ok()?.push(head);
    if !known {
        return client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").ok();
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let mut upstream = TcpStream::connect(server).ok()?;
    let (mut from, mut to) = (client.try_clone().ok()?, upstream.try_clone().ok()?);
    spawn(move || std::io::copy(&mut from, &mut to));
    std::io::copy(&mut upstream, &mut client).ok()?;
    Some(())
}

fn read_head(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).ok()?.to_ascii_lowercase())
}
