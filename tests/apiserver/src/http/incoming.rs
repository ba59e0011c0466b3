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
