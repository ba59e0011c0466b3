//! The frames of a watch: lines.

use alloc::vec::Vec;

use crate::error::Full;

/// Cuts a stream of bytes into lines, wherever the stream was cut into pieces.
///
/// A line ends with LF or CRLF; empty lines are skipped. The last line of a stream that ended well may lack its end: one more LF makes
/// it a frame. What an abrupt end left over is never one. A line that lies in one piece is not copied. The work is linear in the bytes
/// taken, the memory at most the bound.
///
/// Mirrors API concepts, "Efficient detection of changes": a watch is a series of JSON documents, one a line.
#[derive(Debug)]
pub struct Frames {
    bound: usize,
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// Whether `partial` is a whole line that was handed out by the last call.
    handed_out: bool,
}

impl Frames {
    /// Cuts lines of up to `bound` bytes ([`Limits::object_bytes`](crate::limits::Limits::object_bytes)).
    pub const fn new(bound: usize) -> Self {
        Self { bound, partial: Vec::new(), handed_out: false }
    }

    /// The next whole line, without its end; `piece` is moved past what was taken. None: the piece is used up.
    ///
    /// # Errors
    /// The line is longer than the bound. The stream must be given up.
    pub fn next_frame<'a, 'p: 'a>(&'a mut self, piece: &mut &'p [u8]) -> Result<Option<&'a [u8]>, Full> {
        if self.handed_out {
            self.handed_out = false;
            reuse(&mut self.partial);
        }
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            *piece = rest;
            if self.partial.is_empty() {
                let line = trim(line);
                if line.len() > self.bound {
                    return Err(self.full());
                }
                if !line.is_empty() {
                    return Ok(Some(line));
                }
            } else {
                self.keep(line)?;
                let length = trim(&self.partial).len();
                if length > self.bound {
                    return Err(self.full());
                }
                if length == 0 {
                    self.partial.clear();
                } else {
                    self.handed_out = true;
                    return Ok(Some(trim(&self.partial)));
                }
            }
        }
        let rest = core::mem::take(piece);
        self.keep(rest)?;
        Ok(None)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Full> {
        // One more than the bound, for the CR of a line that just fits.
        if bytes.len() > self.bound.saturating_add(1).saturating_sub(self.partial.len()) {
            self.partial = Vec::new();
            return Err(self.full());
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    const fn full(&self) -> Full {
        Full { limit: "object_bytes", bound: self.bound }
    }
}

/// Cuts a stream of bytes into frames that each begin with their length in four bytes, the highest first: a watch in protobuf.
///
/// A frame that lies in one piece is not copied; what the end of a stream leaves over is none. The work is linear in the bytes taken, the memory at
/// most the bound.
///
/// Mirrors apimachinery `pkg/util/framer/framer.go`, `NewLengthDelimitedFrameReader`.
#[derive(Debug)]
pub struct LengthFrames {
    bound: usize,
    /// The length and what is there of a frame whose end has not come.
    partial: Vec<u8>,
    /// Whether `partial` is a whole frame that was handed out by the last call.
    handed_out: bool,
}

/// How many bytes a length has.
const LENGTH: usize = 4;

impl LengthFrames {
    /// Cuts frames of up to `bound` bytes ([`Limits::object_bytes`](crate::limits::Limits::object_bytes)).
    pub const fn new(bound: usize) -> Self {
        Self { bound, partial: Vec::new(), handed_out: false }
    }

    /// The next whole frame, without its length; `piece` is moved past what was taken. None: the piece is used up.
    ///
    /// # Errors
    /// The frame is longer than the bound. The stream must be given up.
    pub fn next_frame<'a, 'p: 'a>(&'a mut self, piece: &mut &'p [u8]) -> Result<Option<&'a [u8]>, Full> {
        if core::mem::take(&mut self.handed_out) {
            reuse(&mut self.partial);
        }
        if self.partial.is_empty()
            && let Some(end) = self.end(piece)?
            && let Some((frame, rest)) = piece.split_at_checked(end)
        {
            *piece = rest;
            return Ok(Some(&frame[LENGTH..]));
        }
        self.take(piece, LENGTH);
        let Some(end) = self.end(&self.partial)? else { return Ok(None) };
        self.take(piece, end);
        self.handed_out = self.partial.len() == end;
        Ok(self.handed_out.then(|| &self.partial[LENGTH..]))
    }

    /// Where the frame ends that these bytes begin with, if they hold its length.
    fn end(&self, bytes: &[u8]) -> Result<Option<usize>, Full> {
        let Some(length) = bytes.first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.bound {
            return Err(Full { limit: "object_bytes", bound: self.bound });
        }
        Ok(Some(length.saturating_add(LENGTH)))
    }

    /// Fills what is partial up to a length.
    fn take(&mut self, piece: &mut &[u8], length: usize) {
        let missing = length.saturating_sub(self.partial.len()).min(piece.len());
        let (taken, rest) = piece.split_at(missing);
        self.partial.extend_from_slice(taken);
        *piece = rest;
    }
}

/// Empties a buffer; one that grew large for once is given back.
pub(super) fn reuse(buffer: &mut Vec<u8>) {
    const KEPT: usize = 64 << 10;
    buffer.clear();
    buffer.shrink_to(KEPT);
}

/// A line without the CR of its end.
fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests;
