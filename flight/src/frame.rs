//! The frames of a recording: pieces of one deflate stream, each whole in itself as far as the ones before it are there.
//!
//! ```text
//! recording   8 bytes  "SKFLIGHT"
//!             4 bytes  the version of the format
//!             frames, to the end of the file
//! frame       4 bytes  n, the length of what follows the head
//!             4 bytes  the length of the records in it
//!             4 bytes  check of the 8 bytes before
//!             4 bytes  check of the n bytes after
//!             n bytes  the records, deflated
//! ```
//!
//! Numbers are little-endian, checks the lower halves of FNV-1a. All frames are one raw deflate stream (RFC 1951) that is flushed at the end of each, so that
//! what looks like something in an earlier frame costs little. A process that is killed leaves whole frames and at most one that is cut.

use std::io::{self, Read, Write};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

use crate::digest::Digest;
use crate::error::ReadError;

/// What a recording begins with.
const MAGIC: [u8; 8] = *b"SKFLIGHT";
/// The version of the format that this build writes and reads.
pub const VERSION: u32 = 1;
/// The length of a frame's head.
const HEAD: usize = 16;
/// Records in one frame, in bytes. More is neither written nor read.
pub(crate) const FRAME_BYTES: usize = 32 << 20;

/// Writes frames.
#[derive(Debug)]
pub(crate) struct FrameWriter<W> {
    out: W,
    deflate: Compress,
    packed: Vec<u8>,
    written: u64,
}

impl<W: Write> FrameWriter<W> {
    pub(crate) fn begin(mut out: W) -> io::Result<Self> {
        let mut first = MAGIC.to_vec();
        first.extend_from_slice(&VERSION.to_le_bytes());
        out.write_all(&first)?;
        let deflate = Compress::new(Compression::fast(), false);
        Ok(Self { out, deflate, packed: Vec::new(), written: first.len() as u64 })
    }

    /// Writes records as one frame, in one go.
    pub(crate) fn write(&mut self, records: &[u8]) -> io::Result<()> {
        if records.len() > FRAME_BYTES {
            return Err(io::Error::other("an input is larger than a recording can hold"));
        }
        self.packed.clear();
        self.packed.resize(HEAD, 0);
        let begun = self.deflate.total_in();
        loop {
            self.packed.reserve(records.len() / 4 + 256);
            let from = usize::try_from(self.deflate.total_in() - begun).unwrap_or(usize::MAX);
            let rest = records.get(from..).unwrap_or_default();
            self.deflate.compress_vec(rest, &mut self.packed, FlushCompress::Sync).map_err(io::Error::other)?;
            // With room to spare nothing is held back any more.
            if self.packed.len() < self.packed.capacity() {
                break;
            }
        }
        let (head, body) = self.packed.split_at_mut(HEAD);
        head[..4].copy_from_slice(&length(body).to_le_bytes());
        head[4..8].copy_from_slice(&length(records).to_le_bytes());
        let checks = [Digest::of(&head[..8]).half(), Digest::of(body).half()];
        head[8..12].copy_from_slice(&checks[0].to_le_bytes());
        head[12..].copy_from_slice(&checks[1].to_le_bytes());
        self.out.write_all(&self.packed)?;
        self.out.flush()?;
        self.written += self.packed.len() as u64;
        Ok(())
    }

    /// How many bytes were written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The most bytes that a frame of so many bytes of records can have.
    pub(crate) fn at_most(records: usize) -> u64 {
        (HEAD + records + records / 16 + 64) as u64
    }
}

fn length(bytes: &[u8]) -> u32 {
    // What is longer than `FRAME_BYTES` is not written.
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Reads frames, whoever has written them.
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    from: R,
    inflate: Decompress,
    packed: Vec<u8>,
    /// Where the next frame begins.
    offset: u64,
}

impl<R: Read> FrameReader<R> {
    /// # Errors
    /// It is no recording, or one of another version.
    pub(crate) fn begin(mut from: R) -> Result<Self, ReadError> {
        let mut first = [0; 12];
        let (magic, version) = if fill(&mut from, &mut first)? == first.len() {
            first.split_at(MAGIC.len())
        } else {
            return Err(ReadError::NoRecording);
        };
        if magic != MAGIC {
            return Err(ReadError::NoRecording);
        }
        let found = number(version);
        if found != VERSION {
            return Err(ReadError::Version { found });
        }
        Ok(Self { from, inflate: Decompress::new(false), packed: Vec::new(), offset: first.len() as u64 })
    }

    /// Puts the records of the next frame into `records`. `false` if there is no whole frame any more.
    pub(crate) fn read(&mut self, records: &mut Vec<u8>) -> Result<bool, ReadError> {
        records.clear();
        let mut head = [0; HEAD];
        if fill(&mut self.from, &mut head)? < HEAD {
            return Ok(false);
        }
        let damaged = |what| ReadError::Damaged { offset: self.offset, what };
        if number(&head[8..12]) != Digest::of(&head[..8]).half() {
            return Err(damaged("the head of a frame does not fit its check"));
        }
        let (packed, raw) = (number(&head[..4]) as usize, number(&head[4..8]) as usize);
        if raw > FRAME_BYTES || packed as u64 > FrameWriter::<Vec<u8>>::at_most(FRAME_BYTES) {
            return Err(damaged("a frame is too large"));
        }
        self.packed.clear();
        (&mut self.from).take(packed as u64).read_to_end(&mut self.packed)?;
        if self.packed.len() < packed {
            return Ok(false);
        }
        if number(&head[12..]) != Digest::of(&self.packed).half() {
            return Err(damaged("a frame does not fit its check"));
        }
        records.reserve_exact(raw);
        self.inflate(records, raw)
            .ok_or(ReadError::Damaged { offset: self.offset, what: "a frame cannot be inflated to what it says" })?;
        self.offset += (HEAD + packed) as u64;
        Ok(true)
    }

    /// Where the next frame begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Inflates the frame to just so many bytes.
    fn inflate(&mut self, records: &mut Vec<u8>, raw: usize) -> Option<()> {
        let begun = self.inflate.total_in();
        // One more byte of room than wanted shows whether there is more.
        records.reserve_exact(raw + 1);
        loop {
            let from = usize::try_from(self.inflate.total_in() - begun).ok()?;
            let before = (from, records.len());
            let rest = self.packed.get(from..)?;
            self.inflate.decompress_vec(rest, records, FlushDecompress::Sync).ok()?;
            let after = (usize::try_from(self.inflate.total_in() - begun).ok()?, records.len());
            if records.len() > raw {
                return None;
            }
            if after.0 == self.packed.len() && (records.len() == raw) {
                return Some(());
            }
            if before == after {
                return None;
            }
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Reads until the buffer is full or there is no more; says how much there was.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
