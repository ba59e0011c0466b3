//! Where requests are sent, and how.

use std::env::var;
use std::fmt;

use http::{HeaderMap, Uri};

use crate::credentials::Credentials;
use crate::proxy::{Proxy, split_port};
use crate::tls::Tls;

/// Where requests are sent, and how.
#[derive(Clone)]
pub struct Server {
    /// The URL of the server without a trailing slash, such as `https://10.0.0.1:6443`.
    pub url: String,
    /// What is sent as `Authorization`.
    pub credentials: Credentials,
    /// Whether answers may come compressed. Default yes; watches never do.
    pub compression: bool,
    /// Headers that every request has beside those it needs, such as those of an impersonation.
    pub headers: HeaderMap,
    /// The namespace that the context of the kubeconfig names, for whoever wants to stay there. Requests do not depend on it.
    pub namespace: Option<String>,
    /// The proxy to connect by. A new server takes it from the environment; see [`Proxy::from_environment`].
    pub proxy: Option<Proxy>,
    /// The name to expect in the server's certificate, where it is not the host in the URL.
    pub server_name: Option<String>,
    /// Trusted certificates and the client's own.
    pub tls: Tls,
    /// The `User-Agent` header. API servers name the manager of a field by its part before the slash.
    pub user_agent: String,
}

impl Server {
    /// A server that asks for no credentials and whose certificate, if it has one, an authority of the web has signed.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into();
        let proxy = Target::of(&url).and_then(|target| Proxy::from_environment(&target, |name| var(name).ok()));
        Self {
            url,
            credentials: Credentials::default(),
            compression: true,
            headers: HeaderMap::new(),
            namespace: None,
            proxy,
            server_name: None,
            tls: Tls::default(),
            user_agent: concat!("sanskube/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    /// Whom to trust, and as whom to appear now: a certificate that goes with the credentials takes the place of the client's own. It is another one when the
    /// [generation](Credentials::generation) of the credentials has changed.
    pub fn tls_now(&self) -> Tls {
        let mut tls = self.tls.clone();
        if let Some(identity) = self.credentials.identity() {
            tls.identity = Some(identity);
        }
        tls
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &without_user(&self.url)).finish_non_exhaustive()
    }
}

/// A URL, or what was to be one, with stars for the name and the password that it may have: as it may be shown.
pub(crate) fn without_user(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
    rest.rsplit_once('@').map_or_else(|| url.to_owned(), |(_, address)| format!("{scheme}***@{address}"))
}

/// The parts of a URL that lead to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whether it is spoken to by TLS.
    pub tls: bool,
    /// The host name or address, without brackets.
    pub host: String,
    /// The port, which is that of the scheme if the URL has none.
    pub port: u16,
}

impl Target {
    /// None if it is not the URL of a server.
    pub fn of(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return None,
        };
        let (host, port) = split_port(uri.authority()?.as_str().rsplit('@').next()?)?;
        Some(Self { tls, host: host.to_owned(), port: port.unwrap_or(if tls { 443 } else { 80 }) })
    }
}

impl fmt::Display for Target {
    /// `host:port`, as it is written in requests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_a_server_is() {
        let target = |url: &str| Target::of(url).map(|target| format!("{} {target}", target.tls));
        for (url, wanted) in [
            ("https://k8s.example", "true k8s.example:443"),
            ("HTTP://k8s.example:/api?a@b:1", "false k8s.example:80"),
            ("https://me:1@k8s.example:6443", "true k8s.example:6443"),
            ("https://[fd00::1]:6443/", "true [fd00::1]:6443"),
        ] {
            assert_eq!(target(url).as_deref(), Some(wanted), "{url}");
        }
        for url in ["", "k8s.example", "ftp://a", "https://", "https://:443", "https://me@", "https://a b"] {
            assert_eq!(target(url), None, "{url}");
        }
    }

    #[test]
    fn a_port_that_is_none_does_not_lead_to_that_of_the_scheme() {
        for url in
            ["https://a:99999", "https://a:b", "https://a:+80", "https://[::1]:x", "https://[::1]x", "https://[a]"]
        {
            assert_eq!(Target::of(url), None, "{url}");
        }
    }

    #[test]
    fn a_url_is_shown_without_its_name_and_password() {
        for (url, wanted) in [
            ("https://me:secret@k8s.example:6443", "https://***@k8s.example:6443"),
            ("me:sec/ret@proxy", "***@proxy"),
            ("http://proxy:3128", "http://proxy:3128"),
        ] {
            assert_eq!(without_user(url), wanted);
        }
        let shown = format!("{:?}", Server::new("https://me:secret@k8s.example"));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
