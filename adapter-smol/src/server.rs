//! Where requests are sent, and how.

use std::env::var;
use std::fmt;
use std::sync::Arc;

use futures_rustls::rustls::ClientConfig;
use sanskube_access::{Credentials, Proxy, Tls};
use ureq_proto::http::Uri;

/// Where requests are sent, and how.
#[derive(Clone)]
pub struct Server {
    /// The URL of the server without a trailing slash, such as `https://10.0.0.1:6443`.
    pub url: String,
    /// What is sent as `Authorization`.
    pub credentials: Credentials,
    /// The proxy to connect by. A new server takes it from the environment (`HTTPS_PROXY`, `NO_PROXY` and the like), except to a loopback address.
    pub proxy: Option<Proxy>,
    /// The name to expect in the server's certificate, where it is not the host in the URL.
    pub server_name: Option<String>,
    /// Trusted certificates and the client's own.
    pub tls: Arc<ClientConfig>,
    /// Whether answers may be compressed; watches never are.
    pub compression: bool,
    /// Headers that are sent with every request, names and values.
    pub headers: Vec<(String, String)>,
    /// The `User-Agent` header. API servers name the manager of a field by its part before the slash.
    pub user_agent: String,
}

/// The parts of a URL that lead to a server.
pub(crate) struct Target {
    pub(crate) tls: bool,
    /// Without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Server {
    /// A server that asks for no credentials and whose certificate, if it has one, an authority of the web has signed.
    pub fn new(url: impl Into<String>) -> Self {
        let tls = Tls::default().config().expect("nothing is asked for that could be wrong");
        let user_agent = concat!("sanskube/", env!("CARGO_PKG_VERSION")).to_owned();
        let url = url.into();
        let proxy = Target::of(&url).and_then(|to| Proxy::from_environment(to.tls, &to.host, |name| var(name).ok()));
        Self {
            url,
            credentials: Credentials::default(),
            proxy,
            server_name: None,
            tls,
            compression: true,
            headers: Vec::new(),
            user_agent,
        }
    }
}

/// A server that a kubeconfig or the environment leads to.
#[cfg(feature = "kubeconfig")]
impl From<sanskube_access::Found> for Server {
    fn from(found: sanskube_access::Found) -> Self {
        let new = Self::new(found.url);
        Self {
            credentials: found.credentials,
            proxy: found.proxy.or(new.proxy),
            server_name: found.server_name,
            tls: found.tls,
            compression: found.compression,
            headers: found.headers,
            url: new.url,
            user_agent: new.user_agent,
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Target {
    /// None if it is not the URL of a server.
    pub(crate) fn of(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return None,
        };
        let host = uri.host()?.trim_matches(['[', ']']).to_owned();
        Some(Self { tls, host, port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }) })
    }

    /// `host:port`, as it is written in requests.
    pub(crate) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}
