//! A request, read from bytes as they come.

pub use super::codec::Bad;
use super::codec::{self, Chunks, Framing, Head};
use crate::request::Request;
use crate::server::MAX_BODY;

/// Bodies up to this size are read to their end before they are refused, so that the client gets to
/// read the refusal.
const MAX_DRAIN: usize = 64 << 20;

/// Reads a request of HTTP/1.1, one after the other, for whoever has a transport of their own.
///
/// Holds a head of 64 KiB and a body of 3 MiB at most: a larger body is not kept, but is as long as it takes to be refused.
#[derive(Debug, Default)]
pub struct RequestReader {
    head: Option<Box<Head>>,
    body: Vec<u8>,
    chunks: Chunks,
    /// Bytes of the body that came.
    seen: usize,
    continued: bool,
}

/// A request that was read.
#[derive(Debug)]
pub struct Incoming {
    /// The request.
    pub request: Request,
    /// Whether another one may follow on the connection.
    pub keep_alive: bool,
}

impl RequestReader {
    /// Takes what it can from `input`, and returns the request if that was its end. What is left in `input` belongs to the next one.
    ///
    /// # Errors
    /// The bytes are no request. The connection is to be closed after an answer with that status.
    pub fn take(&mut self, input: &mut Vec<u8>) -> Result<Option<Incoming>, Bad> {
        if self.head.is_none() {
            let Some(head) = codec::head(input)? else { return Ok(None) };
            input.drain(..head.len);
            if let Framing::Length(n) = head.framing
                && n > MAX_DRAIN
            {
                self.body.resize(MAX_BODY + 1, 0);
                return Ok(Some(self.finish(Head { keep_alive: false, ..head })));
            }
            self.continued = !head.expects_continue || !input.is_empty();
            self.head = Some(Box::new(head));
        }
        let Some(head) = &self.head else { return Ok(None) };
        let done = match head.framing {
            Framing::Length(n) => {
                let take = (n - self.seen).min(input.len());
                if self.body.len() + take <= MAX_BODY {
                    self.body.extend_from_slice(&input[..take]);
                } else {
                    self.body.resize(MAX_BODY + 1, 0);
                }
                input.drain(..take);
                self.seen += take;
                self.seen == n
            }
            Framing::Chunked if self.seen > MAX_DRAIN => return Err(Bad(413)),
            Framing::Chunked => {
                self.seen += input.len();
                self.chunks.take(input, &mut self.body, MAX_BODY)?
            }
        };
        Ok(self.head.take_if(|_| done).map(|head| self.finish(*head)))
    }

    /// Whether the client waits to be told that it may send the body. True once.
    pub fn poll_continue(&mut self) -> bool {
        self.head.is_some() && !core::mem::replace(&mut self.continued, true)
    }

    /// Ends the request, and is ready for the next.
    fn finish(&mut self, head: Head) -> Incoming {
        let body = core::mem::take(self).body;
        Incoming { request: Request { body, ..head.request }, keep_alive: head.keep_alive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_one_after_the_other_wherever_their_bytes_are_cut() {
        let bytes = b"PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyzPOST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n!\r\n0\r\n\r\nGET /c HTTP/1.0\r\n\r\n";
        for size in 1..bytes.len() {
            let (mut reader, mut input, mut read) = (RequestReader::default(), Vec::new(), Vec::new());
            for piece in bytes.chunks(size) {
                input.extend_from_slice(piece);
                while let Some(Incoming { request, keep_alive }) = reader.take(&mut input).unwrap() {
                    read.push((request.target, request.body, keep_alive));
                }
            }
            let wanted = [("/a", &b"xyz"[..], true), ("/b", b"!", true), ("/c", b"", false)];
            assert_eq!(read, wanted.map(|(target, body, again)| (target.to_owned(), body.to_vec(), again)), "{size}");
            assert!(input.is_empty());
        }
    }

    #[test]
    fn a_client_is_told_once_to_go_on_and_only_if_it_waits() {
        let head = b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
        let mut reader = RequestReader::default();
        assert!(reader.take(&mut head.to_vec()).unwrap().is_none());
        assert_eq!((reader.poll_continue(), reader.poll_continue()), (true, false));
        assert!(reader.take(&mut b"ab".to_vec()).unwrap().is_some());

        assert!(reader.take(&mut [head, &b"a"[..]].concat()).unwrap().is_none());
        assert!(!reader.poll_continue(), "the body is coming already");
    }

    #[test]
    fn a_body_that_is_too_large_is_as_long_as_it_takes_to_be_refused() {
        let mut reader = RequestReader::default();
        let mut head = b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n".to_vec();
        let incoming = reader.take(&mut head).unwrap().unwrap();
        assert_eq!((incoming.request.body.len(), incoming.keep_alive), (MAX_BODY + 1, false));
    }
}
