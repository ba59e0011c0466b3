//! A tape: where the records go, up to a bound.

use std::io::{self, Write};

use sanskube::machine::{Input, Output};
use sanskube::time::Now;

use crate::digest::Digest;
use crate::frame::FrameWriter;
use crate::record::{Context, End, OutputKind, Start, add_output};

/// Records are written when the machine comes to rest, and before that when there are so many bytes of them.
const PIECE: usize = 64 << 10;
/// The most bytes that the record of an end has.
const END_BYTES: usize = 16;

/// A recording that is being written. When it is dropped it writes what it still holds.
///
/// Beside a buffer of some 64 KiB and the largest input it takes some 300 KiB for compression.
#[derive(Debug)]
pub struct Tape<W: Write> {
    frames: FrameWriter<W>,
    limit: u64,
    /// What is not written yet.
    records: Vec<u8>,
    context: Context,
    scratch: Vec<u8>,
    /// Of all outputs.
    digest: Digest,
    /// Of those that are written.
    written: Digest,
}

/// Whether a tape takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It does not, and needs not: the machine has stopped.
    Ended,
    /// It does not: the bound is reached.
    Full,
    /// It does.
    Left,
}

impl<W: Write> Tape<W> {
    /// A tape that begins with the configuration of a manager and has at most `limit` bytes, or what the beginning needs.
    ///
    /// # Errors
    /// It could not be written.
    pub fn begin(out: W, limit: u64, start: &Start) -> io::Result<Self> {
        let mut frames = FrameWriter::begin(out)?;
        let mut records = Vec::new();
        Context::put_start(&mut records, start);
        frames.write(&records)?;
        records.clear();
        let digest = Digest::new();
        Ok(Self { frames, limit, records, context: Context::default(), scratch: Vec::new(), digest, written: digest })
    }

    /// Takes down an input that is about to be given.
    pub(crate) fn input(&mut self, now: Now, input: &Input<'_>) -> io::Result<Room> {
        self.context.put_input(&mut self.records, now, input);
        if self.records.len() < PIECE { Ok(Room::Left) } else { self.write() }
    }

    /// Takes down that the last input was refused.
    pub(crate) fn refused(&mut self) -> io::Result<Room> {
        Context::put_refused(&mut self.records);
        self.write()
    }

    /// Takes down an output.
    pub(crate) fn output(&mut self, now: Now, output: &Output) -> io::Result<Room> {
        add_output(&mut self.digest, &mut self.scratch, output);
        self.context.put_output(&mut self.records, now, OutputKind::of(output), self.digest);
        match output {
            Output::Stopped => {
                Context::put_end(&mut self.records, End::Stopped, self.digest);
                self.write().map(|_| Room::Ended)
            }
            Output::Wait { .. } => self.write(),
            Output::Call(_) | Output::Cancel(_) if self.records.len() < PIECE => Ok(Room::Left),
            Output::Call(_) | Output::Cancel(_) => self.write(),
        }
    }

    /// Writes what is not written yet or, if there is no room for it, the end.
    fn write(&mut self) -> io::Result<Room> {
        let most = |bytes| FrameWriter::<W>::at_most(bytes);
        let room = if self.frames.written() + most(self.records.len()) + most(END_BYTES) <= self.limit {
            Room::Left
        } else {
            self.records.clear();
            Context::put_end(&mut self.records, End::Full, self.written);
            Room::Full
        };
        let written = self.frames.write(&self.records);
        self.records.clear();
        self.written = self.digest;
        written.map(|()| room)
    }
}

impl<W: Write> Drop for Tape<W> {
    fn drop(&mut self) {
        if !self.records.is_empty() {
            // There is nobody left to tell.
            let _ = self.write();
        }
    }
}
