use std::env::join_paths;
use std::fs::{create_dir_all, write};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use super::*;

/// A kubeconfig whose cluster is at `url`, with more in the body of its cluster and of its user.
fn kubeconfig(url: &str, cluster: &str, user: &str) -> String {
    format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
           clusters: [{{name: k, cluster: {{server: '{url}', {cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    )
}

/// A folder in which everything is that could be looked for.
struct World {
    folder: TempDir,
    environment: Environment,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for name in ["home/.kube", "pod", "etc"] {
            create_dir_all(at(name)).unwrap();
        }
        write(at("home/.kube/config"), kubeconfig("http://home", "", "")).unwrap();
        write(at("etc/first"), kubeconfig("http://first", "", "tokenFile: token")).unwrap();
        write(at("etc/second"), kubeconfig("http://second", "", "")).unwrap();
        write(at("etc/token"), "etc-token\n").unwrap();
        write(at("pod/token"), "pod-token\n").unwrap();
        write(at("pod/ca.crt"), authority().pem()).unwrap();
        let environment = Environment {
            kubeconfig: Some(
                join_paths(
                    [at(""), at("missing"), at("etc/first"), at("etc/second")]
                        .map(|path| if path == at("") { PathBuf::new() } else { path }),
                )
                .unwrap(),
            ),
            home: Some(at("home")),
            service_host: Some("fd00::1".into()),
            service_port: Some("443".into()),
            service_account: at("pod"),
        };
        Self { folder, environment }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Where a wish leads, and the token that is sent there.
    fn find(&self, wish: &Wish) -> Result<(String, Option<String>), String> {
        let server = wish.find(&self.environment).map_err(|e| e.to_string())?;
        let token = server.credentials.header().map(|value| value.to_str().unwrap().to_owned());
        Ok((server.url, token))
    }
}

#[test]
fn the_first_place_that_is_there_counts() {
    let mut world = World::new();
    let nothing = Wish::default();
    let file = Wish { kubeconfig: Some(world.at("etc/second")), ..Wish::default() };
    let server = Wish { server: Some("http://named/".into()), ..file.clone() };
    assert_eq!(world.find(&server), Ok(("http://named".into(), None)));
    assert_eq!(world.find(&file), Ok(("http://second".into(), None)));
    // CASES C-05: empty and missing paths are passed over, the first entry counts, its paths start at its file.
    assert_eq!(world.find(&nothing), Ok(("http://first".into(), Some("Bearer etc-token".into()))));
    world.environment.kubeconfig = None;
    assert_eq!(world.find(&nothing), Ok(("https://[fd00::1]:443".into(), Some("Bearer pod-token".into()))));
    world.environment.service_account = world.at("no-pod");
    assert_eq!(world.find(&nothing), Ok(("http://home".into(), None)));
    world.environment.home = Some(world.at("no-home"));
    assert!(world.find(&nothing).unwrap_err().starts_with("no cluster: pass --server or --kubeconfig"));
}

#[test]
fn a_named_context_is_not_looked_for_in_the_pod() {
    let mut world = World::new();
    world.environment.kubeconfig = None;
    let wish = Wish { context: Some("c".into()), ..Wish::default() };
    assert_eq!(world.find(&wish), Ok(("http://home".into(), None)));
}

#[test]
fn what_cannot_be_used_is_named() {
    let mut world = World::new();
    let config = world.at("etc/second");
    let wish = Wish { kubeconfig: Some(config.clone()), ..Wish::default() };
    let refused = |cluster: &str, user: &str, problem: &str| {
        write(&config, kubeconfig("https://k", cluster, user)).unwrap();
        let message = world.find(&wish).unwrap_err();
        assert!(message.replace(world.folder.path().to_str().unwrap(), "DIR").contains(problem), "{message}");
    };
    refused(
        "certificate-authority: gone.crt",
        "",
        "cannot read the certificate authority DIR/etc/gone.crt: No such file",
    );
    refused("certificate-authority: first", "", "the certificate authority DIR/etc/first: holds no certificate in PEM");
    refused(
        "certificate-authority-data: aGVsbG8=",
        "",
        "the certificate authority in the kubeconfig: holds no certificate",
    );
    let proxied = "tls-server-name: other, proxy-url: 'http://p'";
    refused(proxied, "", "tls-server-name \"other\": cannot be honoured through a proxy");
    refused("", "tokenFile: gone", "cannot read the token DIR/etc/gone: No such file");
    refused("", "token: \"a\\nb\"", "the token: has characters that a header cannot hold");
    refused("proxy-url: '::'", "", "\"::\" is not the URL of a proxy");
    for (file, text) in [("me.crt", authority().pem()), ("other.key", KeyPair::generate().unwrap().serialize_pem())] {
        write(world.at("etc").join(file), text).unwrap();
    }
    let refused = |user: &str, problem: &str| {
        write(&config, kubeconfig("https://k", "", user)).unwrap();
        let message = world.find(&wish).unwrap_err();
        assert!(message.contains(problem), "{message}");
    };
    refused("client-certificate: me.crt, client-key: me.crt", "me.crt: holds no private key in PEM");
    refused("client-certificate: me.crt, client-key: other.key", "me.crt: does not go with its key");
    write(&config, "{").unwrap();
    assert!(world.find(&wish).unwrap_err().contains("etc/second: is not a kubeconfig"));
    world.environment.kubeconfig = Some("gone:missing".into());
    assert_eq!(world.find(&Wish::default()).unwrap_err(), "no file named in KUBECONFIG exists: gone:missing");
}

#[test]
fn a_bad_url_says_what_a_good_one_is() {
    for (url, problem) in [
        ("localhost:8080", "has no scheme: use a URL that begins with https:// or http://"),
        ("ftp://a", "has another scheme than http and https, and only these are served"),
        ("http://", "is not a URL: use one like https://10.0.0.1:6443"),
        ("not a url", "is not a URL: use one like https://10.0.0.1:6443"),
        ("http://a?b", "has a query: use a URL like https://10.0.0.1:6443"),
    ] {
        let wish = Wish { server: Some(url.into()), ..Wish::default() };
        let message = wish.find(&Environment::default()).unwrap_err().to_string();
        assert_eq!(message, format!("{url:?} {problem}"));
    }
}

/// An authority that everybody may be told to trust.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    authority_named("authority")
}

fn authority_named(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server on 127.0.0.1 that answers one request with the number of certificates that the client showed.
fn serve_one(authority: &CertifiedIssuer<'_, KeyPair>, name: &str) -> (String, JoinHandle<()>) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.into()]).unwrap().signed_by(&key, authority).unwrap();
    let mut clients = RootCertStore::empty();
    clients.add(authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(clients.into(), provider.clone())
        .allow_unauthenticated()
        .build()
        .unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let serve = move || {
        let (socket, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(config.into()).unwrap(), socket);
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            // A client that does not trust this server hangs up.
            if stream.read_exact(&mut byte).is_err() {
                return;
            }
            request.push(byte[0]);
        }
        let shown = stream.conn.peer_certificates().map_or(0, <[_]>::len);
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\n{shown}").unwrap();
        stream.flush().unwrap();
    };
    (url, spawn(serve))
}

/// What a client that follows this kubeconfig is answered.
fn ask(world: &World, authority: &CertifiedIssuer<'_, KeyPair>, cluster: &str, user: &str) -> Result<String, String> {
    ask_for("127.0.0.1", world, authority, cluster, user)
}

/// The same, of a server whose certificate is for `name`.
fn ask_for(
    name: &str,
    world: &World,
    authority: &CertifiedIssuer<'_, KeyPair>,
    cluster: &str,
    user: &str,
) -> Result<String, String> {
    let (url, thread) = serve_one(authority, name);
    let config = world.at("etc/second");
    write(&config, kubeconfig(&url, cluster, user)).unwrap();
    let server = Wish { kubeconfig: Some(config), ..Wish::default() }.find(&world.environment).unwrap();
    let (url, host) = server.target();
    let mut request = server.agent(0).get(&url);
    if let Some(host) = host {
        request = request.header("host", host);
    }
    let answer = request.call();
    let answer = answer.and_then(|mut answer| answer.body_mut().read_to_string()).map_err(|e| e.to_string());
    thread.join().unwrap();
    answer
}

// CASES C-07: an address in a certificate is as good as a name.
#[test]
fn a_server_is_trusted_by_its_authority_or_by_order() {
    let (world, authority, other) = (World::new(), authority(), authority_named("other"));
    write(world.at("etc/ca.crt"), authority.pem()).unwrap();
    write(world.at("etc/other.crt"), other.pem()).unwrap();
    assert_eq!(ask(&world, &authority, "certificate-authority: ca.crt", ""), Ok("0".into()));
    let data = format!("certificate-authority-data: {}", STANDARD.encode(authority.pem()));
    assert_eq!(ask(&world, &authority, &data, ""), Ok("0".into()));
    assert_eq!(ask(&world, &authority, "insecure-skip-tls-verify: true", ""), Ok("0".into()));
    for untrusted in ["certificate-authority: other.crt", ""] {
        let message = ask(&world, &authority, untrusted, "").unwrap_err();
        assert!(message.contains("invalid peer certificate: UnknownIssuer"), "{message}");
    }
}

#[test]
fn a_client_shows_its_certificate() {
    let (world, authority) = (World::new(), authority());
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::default().signed_by(&key, &authority).unwrap();
    write(world.at("etc/ca.crt"), authority.pem()).unwrap();
    write(world.at("etc/me.crt"), certificate.pem()).unwrap();
    let user = format!("client-certificate: me.crt, client-key-data: {}", STANDARD.encode(key.serialize_pem()));
    assert_eq!(ask(&world, &authority, "certificate-authority: ca.crt", &user), Ok("1".into()));
}

// CASES C-07.
#[test]
fn a_server_may_go_by_another_name() {
    let (world, authority) = (World::new(), authority());
    write(world.at("etc/ca.crt"), authority.pem()).unwrap();
    let ask = |cluster| ask_for("kubernetes.example", &world, &authority, cluster, "");
    let named = "certificate-authority: ca.crt, tls-server-name: kubernetes.example";
    assert_eq!(ask(named), Ok("0".into()));
    let message = ask("certificate-authority: ca.crt").unwrap_err();
    assert!(message.contains("invalid peer certificate"), "{message}");
}
