//! The bytes of HTTP/1.1: request heads and bodies in, response heads and chunks out.

use crate::request::{Request, Response};

/// Headers of a request, at most.
const MAX_HEADERS: usize = 64;
/// Bytes of a request's head, at most.
pub(super) const MAX_HEAD: usize = 64 * 1024;
/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Chunked,
    Length(usize),
}

/// The head of a request.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) request: Request,
    /// Bytes that it took.
    pub(super) len: usize,
    pub(super) framing: Framing,
    pub(super) keep_alive: bool,
    pub(super) expects_continue: bool,
}

/// Why bytes are no request.
#[derive(Debug, PartialEq, Eq)]
pub struct Bad(
    /// The status to answer with.
    pub u16,
);

/// Parses a head, if it is complete.
pub(super) fn head(input: &[u8]) -> Result<Option<Head>, Bad> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let len = match parsed.parse(input) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) if input.len() > MAX_HEAD => return Err(Bad(431)),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Bad(431)),
        Err(_) => return Err(Bad(400)),
    };
    let mut request = Request::new(parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    if let Some(rest) = request.target.strip_prefix("http://") {
        // The absolute form, as proxies send it.
        request.target = rest.find('/').map_or_else(|| "/".to_owned(), |i| rest[i..].to_owned());
    }
    let mut length = None;
    let mut chunked = false;
    let mut keep_alive = parsed.version == Some(1);
    let mut expects_continue = false;
    for h in parsed.headers.iter() {
        let value = std::str::from_utf8(h.value).map_err(|_| Bad(400))?.trim();
        let has = |word: &str| value.split(',').any(|w| w.trim().eq_ignore_ascii_case(word));
        match h.name.to_ascii_lowercase().as_str() {
            "content-length" => {
                let n: usize = value.parse().map_err(|_| Bad(400))?;
                if length.is_some_and(|l| l != n) {
                    return Err(Bad(400));
                }
                length = Some(n);
            }
            "transfer-encoding" if has("chunked") => chunked = true,
            "transfer-encoding" => return Err(Bad(501)),
            "connection" if has("close") => keep_alive = false,
            "connection" if has("keep-alive") => keep_alive = true,
            "expect" if has("100-continue") => expects_continue = true,
            _ => {}
        }
        request.headers.push((h.name.to_owned(), value.to_owned()));
    }
    let framing = match (chunked, length) {
        // Both together is how requests are smuggled.
        (true, Some(_)) => return Err(Bad(400)),
        (true, None) => Framing::Chunked,
        (false, n) => Framing::Length(n.unwrap_or(0)),
    };
    Ok(Some(Head { request, len, framing, keep_alive, expects_continue }))
}

/// A chunked body as it arrives.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// Bytes left of the present chunk.
    left: usize,
    in_chunk: bool,
    in_trailer: bool,
}

impl Chunks {
    /// Takes what it can from `input`; whether the body is complete.
    pub(super) fn take(&mut self, input: &mut Vec<u8>, body: &mut Vec<u8>, max: usize) -> Result<bool, Bad> {
        let mut at = 0;
        let done = loop {
            let rest = &input[at..];
            if self.in_trailer {
                // Trailers end with an empty line, and are not looked at.
                let Some(end) = rest.windows(2).position(|w| w == b"\r\n") else {
                    if rest.len() > MAX_HEAD {
                        return Err(Bad(431));
                    }
                    break false;
                };
                at += end + 2;
                if end == 0 {
                    break true;
                }
            } else if self.in_chunk {
                let n = self.left.min(rest.len());
                if body.len() + n <= max {
                    body.extend_from_slice(&rest[..n]);
                } else {
                    // Too large; the length tells, the bytes do not matter.
                    body.resize(max + 1, 0);
                }
                at += n;
                self.left -= n;
                if self.left > 0 || input.len() < at + 2 {
                    break false;
                }
                if &input[at..at + 2] != b"\r\n" {
                    return Err(Bad(400));
                }
                at += 2;
                self.in_chunk = false;
            } else {
                match httparse::parse_chunk_size(rest) {
                    Ok(httparse::Status::Complete((n, size))) => {
                        at += n;
                        self.left = usize::try_from(size).map_err(|_| Bad(413))?;
                        if size == 0 {
                            self.in_trailer = true;
                        } else {
                            self.in_chunk = true;
                        }
                    }
                    Ok(httparse::Status::Partial) if rest.len() > 1024 => return Err(Bad(400)),
                    Ok(httparse::Status::Partial) => break false,
                    Err(_) => return Err(Bad(400)),
                }
            }
        };
        input.drain(..at);
        Ok(done)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

fn start(response: &Response, keep_alive: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status)).as_bytes());
    for (name, value) in &response.headers {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend(value.bytes().map(|b| if b == b'\r' || b == b'\n' { b' ' } else { b }));
        out.extend_from_slice(b"\r\n");
    }
    if !keep_alive {
        out.extend_from_slice(b"connection: close\r\n");
    }
}

/// Writes a complete response.
pub(super) fn response(request: &Request, response: Response, keep_alive: bool, out: &mut Vec<u8>) {
    start(&response, keep_alive, out);
    if response.status != 204 {
        out.extend_from_slice(format!("content-length: {}\r\n", response.body.len()).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    if request.method != "HEAD" {
        out.extend_from_slice(&response.body);
    }
}

/// Writes the head of a response whose body comes in chunks.
pub(super) fn stream_head(head: &Response, out: &mut Vec<u8>) {
    start(head, true, out);
    out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
}

/// Writes one chunk.
pub(super) fn chunk(data: &[u8], out: &mut Vec<u8>) {
    if !data.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

/// Writes a chunk that promises more than there is, as a server that dies does.
pub(super) fn broken_chunk(data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{:x}\r\n", data.len() + 1000).as_bytes());
    out.extend_from_slice(data);
}

/// The end of a chunked body.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// What a client gets that asks before it sends a body.
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::{Bad, Chunks, Framing, head};

    const HEAD: &[u8] = b"POST /api?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";

    #[test]
    fn a_head_is_parsed_only_when_it_is_complete() {
        for n in 0..HEAD.len() {
            assert!(matches!(head(&HEAD[..n]), Ok(None)), "{n}");
        }
        let parsed = head(HEAD).unwrap().unwrap();
        assert_eq!((parsed.len, parsed.framing, parsed.keep_alive), (HEAD.len(), Framing::Length(3), true));
        assert!(parsed.expects_continue);
        assert_eq!(parsed.request.target, "/api?x=1");
    }

    #[test]
    fn heads_that_could_smuggle_are_refused() {
        for lines in [
            "Content-Length: 3\r\nContent-Length: 4",
            "Content-Length: 3\r\nTransfer-Encoding: chunked",
            "Content-Length: -1",
            "Content-Length: 99999999999999999999999",
        ] {
            let text = format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n");
            assert_eq!(head(text.as_bytes()).err(), Some(Bad(400)), "{lines}");
        }
        let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(70_000));
        assert_eq!(head(long.as_bytes()).err(), Some(Bad(431)));
    }

    #[test]
    fn a_chunked_body_may_be_split_anywhere() {
        let body = b"5;ext=1\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n";
        for split in 0..body.len() {
            let (mut chunks, mut input, mut out) = (Chunks::default(), body[..split].to_vec(), Vec::new());
            assert_eq!(chunks.take(&mut input, &mut out, 100), Ok(false), "{split}");
            input.extend_from_slice(&body[split..]);
            assert_eq!(chunks.take(&mut input, &mut out, 100), Ok(true), "{split}");
            assert_eq!(out, b"hello!");
            assert!(input.is_empty());
        }
    }

    #[test]
    fn chunks_that_are_none_are_refused_and_large_bodies_are_not_kept() {
        let take = |text: &[u8]| Chunks::default().take(&mut text.to_vec(), &mut Vec::new(), 100);
        assert_eq!(take(b"zz\r\n"), Err(Bad(400)));
        assert_eq!(take(b"1\r\nxyz"), Err(Bad(400)));
        let mut out = Vec::new();
        let mut input = format!("400\r\n{}", "x".repeat(1024)).into_bytes();
        assert_eq!(Chunks::default().take(&mut input, &mut out, 100), Ok(false));
        assert_eq!(out.len(), 101);
    }
}
