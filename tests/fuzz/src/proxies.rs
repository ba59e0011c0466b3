//! The URLs of servers and of proxies, and for which servers there is no proxy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sanskube_access::http::Uri;
use sanskube_access::{Proxy, Target};

/// Three lines: the URL of a server, that of a proxy, and what `NO_PROXY` says. URLs lead where a general reader of them says, and read back as they are
/// written; the entries of the list mean what their parts say, one by one.
pub fn proxies(input: &[u8]) {
    let Ok(text) = core::str::from_utf8(input) else { return };
    let mut lines = text.splitn(3, '\n');
    let (server, proxy, exceptions) =
        (lines.next().unwrap_or_default(), lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    for url in [server, proxy] {
        if let Some(proxy) = Proxy::parse(url) {
            check_proxy(url, &proxy);
        }
        if let Some(target) = Target::of(url) {
            check_target(url, &target);
            check_variables(&target, proxy);
            check_exceptions(&target, exceptions);
        }
    }
}

/// A proxy is where its URL says, asks as its URL says, and its password is not shown.
fn check_proxy(url: &str, proxy: &Proxy) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (user, address) = authority.rsplit_once('@').map_or((None, authority), |(user, rest)| (Some(user), rest));
    check_address(address, proxy.is_tls(), proxy.host(), proxy.port());
    let user = user.map(|user| match user.find(':') {
        Some(at) => (decode(&user[..at]), decode(&user[at + 1..])),
        None => (decode(user), String::new()),
    });
    assert_eq!(proxy.user(), user.as_ref().map(|(name, password)| (&**name, &**password)), "{url:?}");
    assert_eq!(proxy.authorization().is_some(), user.is_some());
    assert_eq!(format!("{proxy:?}"), format!("{}:{}", proxy.host(), proxy.port()));
    let encode = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let user = user.map(|(name, password)| format!("{}:{}@", encode(&name), encode(&password))).unwrap_or_default();
    let written = format!("{}://{user}{}", scheme(proxy.is_tls()), address_of(proxy.host(), proxy.port()));
    assert!(Proxy::parse(&written).as_ref() == Some(proxy), "{url:?} {written:?}");
}

/// A server is where its URL says, and there is a proxy where there is a server.
fn check_target(url: &str, target: &Target) {
    let uri: Uri = url.parse().expect("the URL of a server is a URL");
    assert!(uri.scheme_str().is_some_and(|found| found.eq_ignore_ascii_case(scheme(target.tls))), "{url:?}");
    let authority = uri.authority().expect("a URL with a host has an authority").as_str();
    let address = authority.rsplit('@').next().unwrap_or_default();
    check_address(address, target.tls, &target.host, target.port);
    let written = format!("{}://{target}", scheme(target.tls));
    assert_eq!(Target::of(&written).as_ref(), Some(target), "{url:?}");
    assert_eq!(target.to_string(), address_of(&target.host, target.port));
    let proxy = Proxy::parse(url).expect("what may be a server may be a proxy");
    assert_eq!((proxy.is_tls(), proxy.host(), proxy.port()), (target.tls, &*target.host, target.port), "{url:?}");
}

/// An address is a host and, perhaps, a colon and digits.
fn check_address(address: &str, tls: bool, host: &str, port: u16) {
    assert!(!host.is_empty() && !host.contains(['/', '?', '#', '@', '[', ']']), "{address:?}");
    assert_eq!(host.contains(':'), host.parse::<Ipv6Addr>().is_ok(), "{address:?}");
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let rest = address.strip_prefix(&host).expect("an address begins with its host");
    let digits = rest.strip_prefix(':').unwrap_or(rest);
    assert!(digits.chars().all(|c| c.is_ascii_digit()) && (rest.is_empty() || rest.starts_with(':')), "{address:?}");
    let default = if tls { 443 } else { 80 };
    let wanted = digits.chars().fold(0, |n: u128, digit| n.saturating_mul(10) + u128::from(digit) - u128::from('0'));
    assert_eq!(u128::from(port), if digits.is_empty() { default } else { wanted }, "{address:?}");
}

/// Each variable counts in lower case, too, and that of the other scheme does not.
fn check_variables(target: &Target, proxy: &str) {
    let names = if target.tls { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
    let wanted = if is_loopback(&target.host) { None } else { Proxy::parse(proxy) };
    for name in names {
        let found = Proxy::from_environment(target, |asked| (asked == name).then(|| proxy.to_owned()));
        assert!(found == wanted, "{target} by {proxy:?}: {found:?}");
    }
    let other = if target.tls { "HTTP_PROXY" } else { "HTTPS_PROXY" };
    assert!(Proxy::from_environment(target, |asked| (asked == other).then(|| proxy.to_owned())).is_none());
}

fn check_exceptions(target: &Target, list: &str) {
    if is_loopback(&target.host) {
        return assert!(is_direct(target, ""));
    }
    assert!(!is_direct(target, ""), "{target}");
    let entries: Vec<bool> = list.split(',').map(|entry| is_direct(target, entry)).collect();
    assert_eq!(is_direct(target, list), entries.contains(&true), "{target} {list:?}");
    for (entry, found) in list.split(',').zip(entries) {
        assert_eq!(found, is_excluded(target, entry.trim()), "{target} {entry:?}");
        assert_eq!(found, is_direct(target, &format!(" {}\t", entry.to_ascii_uppercase())), "{target} {entry:?}");
    }
    // A comma is no part of a name, wherever else it may stand.
    if target.host.contains(',') {
        return;
    }
    let other = Target { port: target.port ^ 1, ..target.clone() };
    let under = format!(".{}", target.host);
    assert!(is_direct(target, &target.host) && is_direct(target, &target.to_string()), "{target}");
    assert!(!is_direct(target, &other.to_string()) && !is_direct(target, &under), "{target}");
    if target.host.parse::<IpAddr>().is_err() {
        let below = Target { host: format!("www{under}"), ..target.clone() };
        assert!(is_direct(&below, &target.host) && is_direct(&below, &under), "{target}");
        assert!(is_direct(&below, &format!("*{under}:{}", target.port)), "{target}");
    }
}

/// Whether `NO_PROXY` has a server, in either case of its name.
fn is_direct(target: &Target, list: &str) -> bool {
    let way = |name: &str| {
        Proxy::from_environment(target, |asked| match asked {
            "HTTPS_PROXY" | "HTTP_PROXY" => Some("proxy".to_owned()),
            _ => (asked == name).then(|| list.to_owned()),
        })
    };
    let ways = [way("NO_PROXY"), way("no_proxy")];
    assert!(ways[0] == ways[1]);
    ways[0].is_none()
}

/// What an entry means, by its parts.
fn is_excluded(target: &Target, entry: &str) -> bool {
    let host = target.host.to_ascii_lowercase();
    if entry.contains('/') {
        return is_in_network(&host, entry).unwrap_or(false);
    }
    let entry = entry.to_ascii_lowercase();
    let (name, port) = match entry.rfind(':') {
        Some(at) if !entry.ends_with(']') && entry.parse::<IpAddr>().is_err() => entry.split_at(at),
        _ => (&*entry, ""),
    };
    let digits = port.trim_start_matches(':');
    if port.len() > 1 && (!digits.chars().all(|c| c.is_ascii_digit()) || digits.parse() != Ok(target.port)) {
        return false;
    }
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    if let Some(excluded) = number(bare.unwrap_or(name)) {
        // Brackets are for addresses with colons, which need them where there is a port.
        let is_well_written = if name.contains(':') { bare.is_some() || port.is_empty() } else { bare.is_none() };
        return is_well_written && number(&host) == Some(excluded);
    }
    if name.is_empty() || name.contains(':') || name.starts_with('[') {
        return false;
    }
    let name = if name.starts_with("*.") { &name[1..] } else { name };
    name == "*" || host == name && !name.starts_with('.') || {
        let dotted = format!(".{}", name.strip_prefix('.').unwrap_or(name));
        host.ends_with(&dotted)
    }
}

/// Whether an address is in a network, by its mask. Addresses of the fourth version are where those of the sixth have them.
fn is_in_network(host: &str, network: &str) -> Option<bool> {
    let (base, length) = network.split_once('/')?;
    if length.is_empty() || !length.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let (base, address, length): (IpAddr, u128, u32) = (base.parse().ok()?, number(host)?, length.parse().ok()?);
    let length = length.checked_add(if base.is_ipv4() { 96 } else { 0 }).filter(|length| *length <= 128)?;
    // A larger network has none of those.
    if length < 96 && address >> 32 == 0xffff {
        return None;
    }
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    Some((address ^ number(&base.to_string())?) & mask == 0)
}

fn number(address: &str) -> Option<u128> {
    if let Ok(address) = address.parse::<Ipv4Addr>() {
        return Some(0xffff << 32 | u128::from(u32::from_be_bytes(address.octets())));
    }
    address.parse::<Ipv6Addr>().ok().map(|address| u128::from_be_bytes(address.octets()))
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || number(host).is_some_and(|number| number == 1 || number >> 24 == 0x00ff_ff7f)
}

fn scheme(tls: bool) -> &'static str {
    if tls { "https" } else { "http" }
}

fn address_of(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Undoes percent-encoding, part by part.
fn decode(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.as_bytes() {
            [high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |byte: u8| char::from(byte).to_digit(16).expect("it is a digit") as u8;
                bytes.push(digit(*high) << 4 | digit(*low));
                bytes.extend_from_slice(rest);
            }
            whole => {
                bytes.push(b'%');
                bytes.extend_from_slice(whole);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
