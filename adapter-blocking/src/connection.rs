//! How ureq connects to a server: the proxy, the certificates and the names of a [`Server`], as ureq wants to be told.

use std::io;

use sanskube_access::rustls::pki_types::CertificateDer;
use sanskube_access::{Identity, Proxy, Server, Tls};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::http::uri::Authority;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    ConnectProxyConnector, ConnectionDetails, Connector, NextTimeout, RustlsConnector, TcpConnector, Transport,
};
use ureq::{Agent, Error, ProxyProtocol};

/// An agent that keeps up to `most_idle` connections. Every status and every redirect is an answer, to be judged by the core.
pub(crate) fn agent(server: &Server, most_idle: usize) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(most_idle)
        .max_idle_connections_per_host(most_idle)
        .proxy(server.proxy.as_ref().map(proxy))
        .tls_config(tls(&server.tls_now()))
        .user_agent(&server.user_agent)
        .build();
    let connector = ().chain(ConnectProxyConnector::default()).chain(Resolved::default()).chain(Named::new(server));
    Agent::with_parts(config, connector, NotYet)
}

fn proxy(proxy: &Proxy) -> ureq::Proxy {
    let host = proxy.host();
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let protocol = if proxy.is_tls() { ProxyProtocol::Https } else { ProxyProtocol::Http };
    let mut builder = ureq::Proxy::builder(protocol).host(&host).port(proxy.port());
    if let Some((name, password)) = proxy.user() {
        builder = builder.username(name).password(password);
    }
    builder.build().expect("host and port were read from a URL")
}

fn tls(tls: &Tls) -> TlsConfig {
    let mut config = TlsConfig::builder().disable_verification(tls.insecure);
    if let Some(authorities) = &tls.authorities {
        config = config.root_certs(RootCerts::new_with_certs(&certificates(authorities.certificates())));
    }
    config.client_cert(tls.identity.as_ref().map(client_certificate)).build()
}

fn client_certificate(identity: &Identity) -> ClientCert {
    // ureq does not say how to make a key of anything else.
    let key = PrivateKey::from_pem(identity.key_pem()).expect("the key was read before");
    ClientCert::new_with_certs(&certificates(identity.certificates()), key)
}

fn certificates(certificates: &[CertificateDer<'_>]) -> Vec<Certificate<'static>> {
    certificates.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect()
}

/// Looks up no address: ureq wants them for each request, also for one that goes out by a connection that is there, and starts a thread to find them.
#[derive(Debug)]
struct NotYet;

impl Resolver for NotYet {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// TCP that looks up the addresses of the host when it is to connect to it.
#[derive(Debug, Default)]
struct Resolved {
    tcp: TcpConnector,
    resolver: DefaultResolver,
}

impl<In: Transport> Connector<In> for Resolved {
    type Out = <TcpConnector as Connector<In>>::Out;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        if chained.is_some() {
            // There is a connection already, to a proxy.
            return self.tcp.connect(details, chained);
        }
        // Where a name has no address, nothing was sent to anybody: the kind of the error says so, which the system leaves open.
        let addrs =
            self.resolver.resolve(details.uri, details.config, details.timeout).map_err(|error| match error {
                Error::Io(e) => Error::Io(io::Error::new(io::ErrorKind::HostUnreachable, e)),
                error => error,
            })?;
        self.tcp.connect(&ConnectionDetails { addrs, ..again(details) }, None)
    }
}

/// The same details once more, so that some of them can be others.
fn again<'a>(details: &ConnectionDetails<'a>) -> ConnectionDetails<'a> {
    ConnectionDetails {
        uri: details.uri,
        addrs: details.addrs.clone(),
        config: details.config,
        request_level: details.request_level,
        resolver: details.resolver,
        now: details.now,
        timeout: details.timeout,
        current_time: details.current_time.clone(),
        run_connector: details.run_connector.clone(),
        register_shutdown: details.register_shutdown.clone(),
    }
}

/// TLS that expects another name in the server's certificate than the host of its URL, where there is one to be expected.
#[derive(Debug)]
struct Named {
    tls: RustlsConnector,
    /// Where the server is, and the URL that has its other name.
    other: Option<(Authority, Uri)>,
}

impl Named {
    fn new(server: &Server) -> Self {
        let address = server.url.parse::<Uri>().ok().and_then(|url| url.authority().cloned());
        let name = server.server_name.as_ref().and_then(|name| format!("https://{name}").parse().ok());
        Self { tls: RustlsConnector::default(), other: address.zip(name) }
    }
}

impl<In: Transport> Connector<In> for Named {
    type Out = <RustlsConnector as Connector<In>>::Out;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        match &self.other {
            // A proxy has its own name.
            Some((address, uri)) if details.needs_tls() && details.uri.authority() == Some(address) => {
                self.tls.connect(&ConnectionDetails { uri, ..again(details) }, chained)
            }
            _ => self.tls.connect(details, chained),
        }
    }
}
