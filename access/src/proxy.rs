//! The proxy that leads to a server.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::uri::Authority;

use crate::credentials::basic;
use crate::server::Target;

/// A proxy that connects to a server for us (`CONNECT`, RFC 9110, section 9.3.6).
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    tls: bool,
    host: String,
    port: u16,
    /// Name and password.
    user: Option<(String, String)>,
}

impl Proxy {
    /// Reads a URL such as `http://name:password@proxy.example:3128`. Without a scheme it is `http`. None if it is not one.
    pub fn parse(url: &str) -> Option<Self> {
        let (tls, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some(_) => return None,
            None => (false, url),
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let (user, address) = authority.rsplit_once('@').map_or((None, authority), |(user, rest)| (Some(user), rest));
        address.parse::<Authority>().ok()?;
        let (host, port) = split_port(address)?;
        let user = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (decode(name), decode(password))
        });
        Some(Self { tls, host: host.to_owned(), port: port.unwrap_or(if tls { 443 } else { 80 }), user })
    }

    /// The proxy that the environment names for a server: `HTTPS_PROXY` or `HTTP_PROXY` by its scheme, unless `NO_PROXY` has it; each also in lower case. None
    /// to a loopback address, which no proxy can reach.
    ///
    /// `NO_PROXY` has, separated by commas, names (`example.com`, and what is under it), what is under a name (`.example.com`, `*.example.com`), addresses,
    /// networks (`10.0.0.0/8`), or `*` for everything. All but networks may be followed by a port.
    ///
    /// Mirrors Go's `golang.org/x/net/http/httpproxy`, `Config.ProxyFunc`.
    pub fn from_environment(target: &Target, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let read = |name: &str| {
            let set = variable(name).filter(|value| !value.is_empty());
            set.or_else(|| variable(&name.to_ascii_lowercase()).filter(|value| !value.is_empty()))
        };
        let is_excluded = |list: String| list.split(',').any(|entry| excludes(entry.trim(), target));
        if is_loopback(&target.host) || read("NO_PROXY").is_some_and(is_excluded) {
            return None;
        }
        Self::parse(&read(if target.tls { "HTTPS_PROXY" } else { "HTTP_PROXY" })?)
    }

    /// Whether it is spoken to by TLS.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Its host name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The name and the password that it wants, if it wants them.
    pub fn user(&self) -> Option<(&str, &str)> {
        self.user.as_ref().map(|(name, password)| (&**name, &**password))
    }

    /// The value of `Proxy-Authorization`, if it wants one.
    pub fn authorization(&self) -> Option<String> {
        self.user().map(|(name, password)| basic(name, password))
    }
}

impl fmt::Debug for Proxy {
    /// Where it is, never the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Host and port of an address. None if it has no host, its port is no number, or brackets have something else than an address of version 6.
pub(crate) fn split_port(address: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""))?)
        }
        None if address.contains(['[', ']']) => return None,
        None => address.split_once(':').unwrap_or((address, "")),
    };
    let port = if port.is_empty() { None } else { Some(number(port)?) };
    (!host.is_empty()).then_some((host, port))
}

/// A number without a sign.
fn number<N: FromStr>(digits: &str) -> Option<N> {
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether an entry of `NO_PROXY` has a server.
fn excludes(entry: &str, target: &Target) -> bool {
    let address = target.host.parse::<IpAddr>().ok();
    if let Some((network, prefix)) = entry.split_once('/') {
        let (Some(address), Ok(network), Some(prefix)) = (address, network.parse(), number(prefix)) else {
            return false;
        };
        return is_within(address, network, prefix);
    }
    let (host, port) = match entry.parse::<IpAddr>() {
        // Its colons do not lead to a port.
        Ok(_) => (entry, None),
        Err(_) => match split_port(entry) {
            Some(parts) => parts,
            None => return false,
        },
    };
    if port.is_some_and(|port| port != target.port) {
        return false;
    }
    if let Ok(excluded) = host.parse::<IpAddr>() {
        return address.is_some_and(|address| address.to_canonical() == excluded.to_canonical());
    }
    let (host, name) = (host.to_ascii_lowercase(), target.host.to_ascii_lowercase());
    match host.strip_prefix('*').unwrap_or(&host).strip_prefix('.') {
        Some(domain) => name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => host == "*" || name == host || name.strip_suffix(&*host).is_some_and(|rest| rest.ends_with('.')),
    }
}

/// Whether an address is in a network whose first `prefix` bits count.
fn is_within(address: IpAddr, network: IpAddr, prefix: u32) -> bool {
    // The network as a number, shifted until only what counts is left; addresses of the two families are never alike.
    let same =
        |a: u128, b: u128, bits: u32| prefix <= bits && a.checked_shr(bits - prefix) == b.checked_shr(bits - prefix);
    match (address.to_canonical(), network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
        // A network of version 4 that is written as one of version 6.
        (IpAddr::V4(a), IpAddr::V6(b)) => prefix >= 96 && same(a.to_ipv6_mapped().to_bits(), b.to_bits(), 128),
        (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

/// Whether a host is this very machine.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Undoes percent-encoding; what is not well encoded stays.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).filter(|hex| bytes[at] == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
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
        Proxy::parse(url).map(|proxy| format!("{} {proxy:?} {:?}", proxy.tls, proxy.authorization()))
    }

    #[test]
    fn a_url_says_where_the_proxy_is_and_who_asks() {
        assert_eq!(proxy("http://p:3128").unwrap(), "false p:3128 None");
        assert_eq!(proxy("https://p/").unwrap(), "true p:443 None");
        assert_eq!(proxy("p").unwrap(), "false p:80 None");
        assert_eq!(proxy("HTTPS://p").unwrap(), "true p:443 None");
        assert_eq!(proxy("http://me:a%40b@[::1]:1").unwrap(), format!("false ::1:1 {:?}", Some("Basic bWU6YUBi")));
        assert_eq!(Proxy::parse("http://%+1%4:%zz%@p").unwrap().user(), Some(("%+1%4", "%zz%")));
        for url in [
            "",
            "::",
            "socks5://p:1",
            "http://p:port",
            "http://[::1",
            "http://@",
            "http://a b",
            "http://p:99999",
            "http://p:+1",
            "http://[p]",
            "http://a[p]",
        ] {
            assert_eq!(proxy(url), None, "{url}");
        }
    }

    /// The host of the proxy that leads to a URL, where these are the exceptions.
    fn way(url: &str, exceptions: &str) -> Option<String> {
        let all = |name: &str| match name {
            "HTTPS_PROXY" => Some("http://secure".to_owned()),
            "http_proxy" => Some("http://plain".to_owned()),
            "NO_PROXY" => Some(exceptions.to_owned()),
            _ => None,
        };
        Proxy::from_environment(&Target::of(url).unwrap(), all).map(|proxy| proxy.host)
    }

    #[test]
    fn the_environment_is_asked_by_scheme_and_this_machine_has_no_proxy() {
        assert_eq!(way("https://k8s.io", "").unwrap(), "secure");
        assert_eq!(way("http://k8s.io", "").unwrap(), "plain");
        for url in [
            "http://127.0.0.1:1",
            "http://127.9.9.9/",
            "https://[::1]:6443",
            "http://LocalHost",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert_eq!(way(url, ""), None, "{url}");
        }
        for url in ["http://10.0.0.1", "https://[::2]", "http://localhost.example"] {
            assert!(way(url, "").is_some(), "{url}");
        }
    }

    #[test]
    fn exceptions_are_names_addresses_networks_and_ports() {
        for (exceptions, host, direct) in [
            ("a, inside", "inside", true),
            ("inside", "a.INSIDE", true),
            ("inside", "notinside", false),
            (".inside", "a.inside", true),
            (".inside", "inside", false),
            ("*.inside", "a.b.inside", true),
            ("*.inside", "inside", false),
            ("*", "anything", true),
            ("**.inside", "a.inside", false),
            ("inside:6443", "inside:6443", true),
            ("inside:6443", "inside", false),
            ("inside:443", "inside", true),
            ("inside:+443", "inside", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.10", false),
            ("10.0.0.1:1", "10.0.0.1:2", false),
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.96.0.1/12", "10.111.255.255", true),
            ("10.96.0.0/12", "10.112.0.0", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("10.0.0.1/32", "10.0.0.1", true),
            ("10.0.0.1/32", "10.0.0.2", false),
            ("10.0.0.0/33", "10.0.0.0", false),
            ("10.0.0.0/+8", "10.0.0.1", false),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "11.1.2.3", false),
            ("::ffff:10.0.0.0/95", "10.1.2.3", false),
            ("10.0.0.0/8", "[::ffff:10.0.0.1]", true),
            ("10.0.0.0/8", "ten.example", false),
            ("fd00::/8", "[fd12::1]", true),
            ("fd00::/8", "[fe80::1]", false),
            ("::/0", "10.0.0.1", false),
            ("fd00::1", "[fd00:0::1]", true),
            ("[fd00::1]:443", "[fd00::1]", true),
            ("", "k8s.io", false),
            (",.,:,/,[", "k8s.io", false),
        ] {
            assert_eq!(way(&format!("https://{host}"), exceptions).is_none(), direct, "{exceptions} {host}");
        }
    }
}
