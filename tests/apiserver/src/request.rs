//! Requests: an HTTP message without its transport, and the resource path it names.

use std::sync::Arc;

use crate::error::ApiError;
use crate::kind::{Kind, Sub};

/// A request as it came over the wire, body complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The method, in upper case.
    pub method: String,
    /// Path and query, percent-encoded.
    pub target: String,
    /// Header names (any case) and values.
    pub headers: Vec<(String, String)>,
    /// The body, empty if there is none.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without headers and body.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() }
    }

    /// A GET.
    #[must_use]
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// The same request with a JSON body of that content type.
    #[must_use]
    pub fn with_body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.headers.push(("content-type".to_owned(), content_type.to_owned()));
        self.body = body.into();
        self
    }

    /// The same request with another header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The first header of that name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// The `User-Agent`; empty if there is none.
    pub(crate) fn agent(&self) -> &str {
        self.header("user-agent").unwrap_or_default()
    }

    /// The path, decoded.
    #[must_use]
    pub fn path(&self) -> String {
        decode(self.target.split('?').next().unwrap_or_default(), false)
    }
}

/// A complete answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// HTTP status code.
    pub status: u16,
    /// Header names in lower case, and values. Lengths and encodings of transfer are the front's.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The body as JSON, if it is that.
    #[must_use]
    pub fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The first header of that name (in lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }
}

/// Percent-decodes; in a query `+` is a space.
fn decode(text: &str, query: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = |b: u8| (b as char).to_digit(16);
        match bytes[i] {
            b'%' if i + 2 < bytes.len() && hex(bytes[i + 1]).is_some() && hex(bytes[i + 2]).is_some() => {
                let high = hex(bytes[i + 1]).unwrap_or(0);
                let low = hex(bytes[i + 2]).unwrap_or(0);
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                i += 2;
            }
            b'+' if query => out.push(b' '),
            b => out.push(b),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The parameters of a query, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(target: &str) -> Self {
        let Some((_, query)) = target.split_once('?') else {
            return Self::default();
        };
        let pairs = query.split('&').filter(|p| !p.is_empty()).map(|pair| {
            let (k, v) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(k, true), decode(v, true))
        });
        Self(pairs.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(k, _)| k == name).map(|(_, v)| v.as_str()).collect()
    }

    /// A boolean as the API reads it: there, and neither `0` nor `false`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|v| v != "0" && !v.eq_ignore_ascii_case("false"))
    }

    pub(crate) fn int(&self, name: &str) -> Result<Option<i64>, ApiError> {
        match self.get(name) {
            None | Some("") => Ok(None),
            Some(v) => v
                .parse()
                .map(Some)
                .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing \"{v}\": invalid syntax"))),
        }
    }
}

/// What a path names.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) kind: Arc<Kind>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) sub: Option<Sub>,
    /// The deprecated `/watch/` prefix.
    pub(crate) watch: bool,
}

/// Where a path leads.
pub(crate) enum Route {
    Resource(Place),
    /// A known resource with an unknown subresource, or such.
    Nowhere,
    /// Not under `/api` or a known group.
    NotServed,
}
