//! The way to a cluster that a kubeconfig describes: TLS both ways, tokens, proxies.
#![cfg(feature = "kubeconfig")]

use std::fs::write;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

use futures_lite::future::block_on;
use futures_rustls::rustls::server::WebPkiClientVerifier;
use futures_rustls::rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, crypto::ring};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use sanskube::client::{Api, Error};
use sanskube::object::{MetadataOnly, Resource};
use sanskube::request::Failure;
use sanskube_smol::access::{Environment, Wish};
use sanskube_smol::{Client, Server};
use tempfile::TempDir;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server on 127.0.0.1 with a certificate for `name`. It answers as many requests, each on a connection of its own, and says what it has seen of each: how
/// many certificates the client showed, and the head of the request.
fn serve(authority: &Authority, name: &str, requests: usize) -> (TcpListener, JoinHandle<Vec<(usize, String)>>) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.into()]).unwrap().signed_by(&key, authority).unwrap();
    let mut clients = RootCertStore::empty();
    clients.add(authority.der().clone()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(clients.into(), provider.clone());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    let (listener, config) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(config));
    let ours = listener.try_clone().unwrap();
    let serving = spawn(move || {
        let answer = |_| {
            let (socket, _) = ours.accept().unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
            // A client that does not trust this server hangs up.
            let head = read_head(&mut stream)?;
            let body = r#"{"metadata":{"namespace":"default","name":"a"}}"#;
            let length = body.len();
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").unwrap();
            stream.flush().unwrap();
            Some((stream.conn.peer_certificates().map_or(0, <[_]>::len), head))
        };
        (0..requests).filter_map(answer).collect()
    });
    (listener, serving)
}

fn read_head(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Asks for a config map, as a kubeconfig with these bodies of its cluster and its user says.
fn ask(folder: &TempDir, url: &str, cluster: &str, user: &str) -> Result<Client, Error> {
    let config = folder.path().join("config");
    let text = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: '{url}', {cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    );
    write(&config, text).unwrap();
    let found = Wish { kubeconfig: Some(config), ..Wish::default() }.find(&Environment::default()).unwrap();
    let client = Client::new(Server::from(found), 1);
    again(&client).map(|()| client)
}

fn again(client: &Client) -> Result<(), Error> {
    let resource = Resource { plural: "configmaps".into(), kind: "ConfigMap".into(), ..Resource::PODS };
    block_on(client.send(Api::<MetadataOnly>::new(resource).within("default").get("a"))).map(drop)
}

#[test]
fn both_sides_show_certificates_and_a_token_is_read_anew() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), authority());
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::default().signed_by(&key, &authority).unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, text) in [("ca", authority.pem()), ("me", certificate.pem()), ("key", key.serialize_pem())] {
        write(at(name), text).unwrap();
    }
    write(at("token"), "t1").unwrap();
    let (listener, serving) = serve(&authority, "127.0.0.1", 2);
    let url = format!("https://{}", listener.local_addr().unwrap());
    let user = "client-certificate: me, client-key: key, tokenFile: token, as: somebody";
    let client = ask(&folder, &url, "certificate-authority: ca", user).unwrap();
    write(at("token"), "t2").unwrap();
    again(&client).unwrap();
    let seen = serving.join().unwrap();
    for ((shown, head), token) in seen.iter().zip(["t1", "t2"]) {
        assert_eq!(*shown, 1);
        assert!(head.contains(&format!("authorization: Bearer {token}\r\n")), "{head}");
        assert!(head.to_ascii_lowercase().contains("impersonate-user: somebody\r\n"), "{head}");
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_server_is_trusted_by_its_authority_by_its_name_or_by_order() {
    let (folder, ours, other) = (tempfile::tempdir().unwrap(), authority(), authority());
    write(folder.path().join("ca"), ours.pem()).unwrap();
    write(folder.path().join("other"), other.pem()).unwrap();
    for (name, cluster, trusted) in [
        ("127.0.0.1", "certificate-authority: ca", true),
        ("127.0.0.1", "certificate-authority: other", false),
        ("127.0.0.1", "", false),
        ("127.0.0.1", "insecure-skip-tls-verify: true", true),
        ("k8s.example", "certificate-authority: ca", false),
        ("k8s.example", "certificate-authority: ca, tls-server-name: k8s.example", true),
    ] {
        let (listener, serving) = serve(&ours, name, 1);
        let url = format!("https://{}", listener.local_addr().unwrap());
        let asked = ask(&folder, &url, cluster, "").map(drop);
        assert_eq!(asked, if trusted { Ok(()) } else { Err(Error::Failed(Failure::Refused)) }, "{name} {cluster}");
        assert_eq!(serving.join().unwrap().len(), usize::from(trusted));
    }
}

#[test]
fn a_proxy_connects_and_is_told_who_asks() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), authority());
    write(folder.path().join("ca"), authority.pem()).unwrap();
    let (server, serving) = serve(&authority, "k8s.example", 1);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = proxy.local_addr().unwrap();
    let proxying = spawn(move || {
        let mut heads = Vec::new();
        for answer in ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "HTTP/1.1 200 Connected\r\n\r\n"] {
            let (mut client, _) = proxy.accept().unwrap();
            heads.push(read_head(&mut client).unwrap());
            client.write_all(answer.as_bytes()).unwrap();
            if answer.contains("200") {
                let mut upstream = TcpStream::connect(server.local_addr().unwrap()).unwrap();
                let (mut from, mut to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
                let up = spawn(move || std::io::copy(&mut from, &mut to));
                std::io::copy(&mut upstream, &mut client).unwrap();
                drop((client, upstream));
                drop(up);
            }
        }
        heads
    });
    let asked = |user: &str| {
        let cluster = format!("certificate-authority: ca, proxy-url: 'http://{user}@{address}'");
        ask(&folder, "https://k8s.example:6443", &cluster, "").map(drop)
    };
    assert_eq!(asked("nobody"), Err(Error::Failed(Failure::Refused)));
    assert_eq!(asked("me:secret"), Ok(()));
    let heads = proxying.join().unwrap();
    assert!(heads[1].starts_with("CONNECT k8s.example:6443 HTTP/1.1\r\nhost: k8s.example:6443\r\n"), "{}", heads[1]);
    assert!(heads[1].contains("proxy-authorization: Basic bWU6c2VjcmV0\r\n"), "{}", heads[1]);
    assert_eq!(serving.join().unwrap().len(), 1);
}
