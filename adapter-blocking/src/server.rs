//! Where requests are sent, and how.

use std::fmt;
use std::net::IpAddr;

use ureq::config::Config;
use ureq::http::{HeaderMap, Uri};
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error, Proxy};

use crate::credentials::Credentials;

/// Where requests are sent, and how.
#[derive(Clone)]
pub struct Server {
    /// The URL of the server without a trailing slash, such as `https://10.0.0.1:6443`.
    pub url: String,
    /// What is sent as `Authorization`.
    pub credentials: Credentials,
    /// Whether lists may come compressed. Default yes; watches never do.
    pub compression: bool,
    /// Headers that every request has beside those it needs, such as those of an impersonation.
    pub headers: HeaderMap,
    /// The proxy to connect by. A new server takes it from the environment (`HTTPS_PROXY`, `NO_PROXY` and the like), except to a loopback address.
    pub proxy: Option<Proxy>,
    /// The name to expect in the server's certificate, where it is not the host in the URL. Cannot be honoured through a proxy.
    pub server_name: Option<String>,
    /// Trusted certificates and the client's own.
    pub tls: TlsConfig,
    /// The `User-Agent` header. API servers name the manager of a field by its part before the slash.
    pub user_agent: String,
}

impl Server {
    /// A server that asks for no credentials.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into();
        // As Go's `net/http`, `ProxyFromEnvironment`: no proxy can reach what is local to this machine.
        let proxy = if is_loopback(&url) { None } else { Proxy::try_from_env() };
        let user_agent = concat!("sanskube/", env!("CARGO_PKG_VERSION")).to_owned();
        let (credentials, tls) = (Credentials::default(), TlsConfig::default());
        Self {
            url,
            credentials,
            compression: true,
            headers: HeaderMap::new(),
            proxy,
            server_name: None,
            tls,
            user_agent,
        }
    }

    /// Every status and every redirect is an answer, to be judged by the core.
    pub(crate) fn agent(&self, idle_connections: usize) -> Agent {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(idle_connections)
            .max_idle_connections_per_host(idle_connections)
            .proxy(self.proxy.clone())
            .tls_config(self.tls())
            .user_agent(&self.user_agent)
            .build();
        match (&self.server_name, self.url.parse()) {
            (Some(_), Ok(address)) => {
                let resolver = FixedAddress { address, resolver: DefaultResolver::default() };
                Agent::with_parts(config, DefaultConnector::default(), resolver)
            }
            _ => config.new_agent(),
        }
    }

    /// The certificate that goes with the credentials, where there is one, takes the place of the client's own.
    fn tls(&self) -> TlsConfig {
        let Some(certificate) = self.credentials.certificate() else { return self.tls.clone() };
        TlsConfig::builder()
            .disable_verification(self.tls.disable_verification())
            .root_certs(self.tls.root_certs().clone())
            .client_cert(Some(certificate))
            .build()
    }

    /// The URL that requests go to, and the value of their `Host` header where it does not follow from that.
    ///
    /// ureq expects the host of the URL in the certificate. So where another name is to be expected, the URL has that name, and the agent looks
    /// elsewhere for its address.
    pub(crate) fn target(&self) -> (String, Option<String>) {
        let uri = self.url.parse::<Uri>().unwrap_or_default();
        let (Some(name), Some(authority)) = (&self.server_name, uri.authority()) else {
            return (self.url.clone(), None);
        };
        let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
        let scheme = uri.scheme_str().unwrap_or("https");
        let path = uri.path().trim_end_matches('/');
        (format!("{scheme}://{name}{port}{path}"), Some(authority.to_string()))
    }
}

/// Looks up one address, whatever is asked for.
#[derive(Debug)]
struct FixedAddress {
    address: Uri,
    resolver: DefaultResolver,
}

impl Resolver for FixedAddress {
    fn resolve(&self, _: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        self.resolver.resolve(&self.address, config, timeout)
    }
}

/// Whether a URL names this very machine.
fn is_loopback(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_is_in_the_url_and_the_address_in_the_host_header() {
        let mut server = Server::new("https://10.0.0.1:6443/prefix");
        assert_eq!(server.target(), ("https://10.0.0.1:6443/prefix".into(), None));
        server.server_name = Some("kubernetes".into());
        assert_eq!(server.target(), ("https://kubernetes:6443/prefix".into(), Some("10.0.0.1:6443".into())));
    }

    #[test]
    fn this_machine_has_many_names() {
        for url in ["http://127.0.0.1:1", "http://127.9.9.9/", "https://[::1]:6443", "http://LocalHost"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["http://10.0.0.1", "https://[::2]", "http://localhost.example", "nonsense"] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
