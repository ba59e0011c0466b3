//! The proxy that leads to a server.

use std::fmt;
use std::net::IpAddr;

use crate::credentials::basic;

/// A proxy that connects to a server for us (`CONNECT`, RFC 9110, section 9.3.6).
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Whether it is spoken to by TLS.
    pub tls: bool,
    /// Its host name or address, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The value of `Proxy-Authorization`, if it wants one.
    pub authorization: Option<String>,
}

impl Proxy {
    /// Reads a URL such as `http://name:password@proxy.example:3128`. Without a scheme it is `http`. None if it is not one.
    pub fn parse(url: &str) -> Option<Self> {
        let (tls, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return None,
            None => (false, url),
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let (user, address) = authority.rsplit_once('@').map_or((None, authority), |(user, rest)| (Some(user), rest));
        let (host, port) = split_port(address)?;
        let authorization = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            basic(&decode(name), &decode(password))
        });
        Some(Self { tls, host: host.to_owned(), port: port.unwrap_or(if tls { 443 } else { 80 }), authorization })
    }

    /// The proxy that the environment names for a server: `HTTPS_PROXY` or `HTTP_PROXY` by its scheme, unless `NO_PROXY` has its host; each also in lower case. None
    /// to a loopback address, which no proxy can reach.
    ///
    /// Mirrors Go's `net/http`, `ProxyFromEnvironment`, but for networks in `NO_PROXY`.
    pub fn from_environment(tls: bool, host: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let read = |name: &str| {
            let set = variable(name).filter(|value| !value.is_empty());
            set.or_else(|| variable(&name.to_ascii_lowercase()).filter(|value| !value.is_empty()))
        };
        let is_excluded = |list: String| list.split(',').any(|entry| excludes(entry.trim(), host));
        if is_loopback(host) || read("NO_PROXY").is_some_and(is_excluded) {
            return None;
        }
        Self::parse(&read(if tls { "HTTPS_PROXY" } else { "HTTP_PROXY" })?)
    }
}

impl fmt::Debug for Proxy {
    /// Where it is, never the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Host and port of an address. None if it has no host or its port is no number.
fn split_port(address: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""))?)
        }
        None => address.split_once(':').unwrap_or((address, "")),
    };
    let port = if port.is_empty() { None } else { Some(port.parse().ok()?) };
    (!host.is_empty()).then_some((host, port))
}

/// Whether an entry of `NO_PROXY` has a host: the host itself, a domain that it is in, or everything.
fn excludes(entry: &str, host: &str) -> bool {
    let domain = entry.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    entry == "*" || !domain.is_empty() && (host == domain || host.ends_with(&format!(".{domain}")))
}

/// Whether a host is this very machine.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Undoes percent-encoding; what is not well encoded stays.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| bytes[at] == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &str) -> Option<String> {
        Proxy::parse(url).map(|proxy| format!("{} {proxy:?} {:?}", proxy.tls, proxy.authorization))
    }

    #[test]
    fn a_url_says_where_the_proxy_is_and_who_asks() {
        assert_eq!(proxy("http://p:3128").unwrap(), "false p:3128 None");
        assert_eq!(proxy("https://p/").unwrap(), "true p:443 None");
        assert_eq!(proxy("p").unwrap(), "false p:80 None");
        assert_eq!(proxy("http://me:a%40b@[::1]:1").unwrap(), format!("false ::1:1 {:?}", Some("Basic bWU6YUBi")));
        for url in ["", "::", "socks5://p:1", "http://p:port", "http://[::1", "http://@"] {
            assert_eq!(proxy(url), None, "{url}");
        }
    }

    #[test]
    fn the_environment_is_asked_by_scheme_and_exceptions_count() {
        let all = |name: &str| match name {
            "HTTPS_PROXY" => Some("http://secure".to_owned()),
            "http_proxy" => Some("http://plain".to_owned()),
            "NO_PROXY" => Some("inside, .example.com,10.0.0.1".to_owned()),
            _ => None,
        };
        let host = |tls, host: &str| Proxy::from_environment(tls, host, all).map(|proxy| proxy.host);
        assert_eq!(host(true, "k8s.io").unwrap(), "secure");
        assert_eq!(host(false, "k8s.io").unwrap(), "plain");
        for direct in
            ["inside", "a.inside", "example.com", "A.example.com", "10.0.0.1", "localhost", "127.0.0.1", "::1"]
        {
            assert_eq!(host(true, direct), None, "{direct}");
        }
        assert!(host(true, "notexample.com").is_some());
    }
}
