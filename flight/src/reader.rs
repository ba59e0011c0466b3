//! The reader: a recording, record by record, whoever has written it.

use std::io::Read;

use crate::error::ReadError;
use crate::frame::FrameReader;
use crate::record::{Context, End, Record, Start};
use crate::wire::{Bad, Take};

/// Reads a recording. Takes memory for one frame, which has a bound; no bytes make it panic.
#[derive(Debug)]
pub struct Reader<R> {
    frames: FrameReader<R>,
    records: Vec<u8>,
    /// How far they are read.
    at: usize,
    context: Context,
    start: Start,
    ending: Option<Ending>,
}

/// How a recording has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Without an end: the process was killed, or still runs, or the file was cut.
    Cut,
    /// As it says.
    Whole {
        /// Why.
        end: End,
        /// The digest of all outputs.
        digest: u64,
    },
}

impl<R: Read> Reader<R> {
    /// Reads the beginning.
    ///
    /// # Errors
    /// It is no recording, one of another version, or it is damaged or cut before its beginning is over.
    pub fn open(from: R) -> Result<Self, ReadError> {
        let mut frames = FrameReader::begin(from)?;
        let (mut records, mut context) = (Vec::new(), Context::default());
        let damaged = |what| ReadError::Damaged { offset: 0, what };
        if !frames.read(&mut records)? {
            return Err(damaged("it ends before it has begun"));
        }
        let mut from = Take(&records);
        let Ok(Record::Start(start)) = context.take(&mut from) else {
            return Err(damaged("it does not begin with a configuration"));
        };
        let at = records.len() - from.0.len();
        Ok(Self { frames, records, at, context, start: *start, ending: None })
    }

    /// What it begins with.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// It is damaged here, or cannot be read.
    pub fn poll_record(&mut self) -> Result<Option<Record>, ReadError> {
        while self.ending.is_none() {
            if self.at == self.records.len() {
                self.at = 0;
                if !self.frames.read(&mut self.records)? {
                    self.ending = Some(Ending::Cut);
                }
                continue;
            }
            let mut from = Take(&self.records[self.at..]);
            let record = self.context.take(&mut from).map_err(|Bad(what)| self.damaged(what))?;
            self.at = self.records.len() - from.0.len();
            match record {
                Record::End(end, digest) => self.ending = Some(Ending::Whole { end, digest }),
                Record::Start(_) => return Err(self.damaged("a second beginning")),
                record => return Ok(Some(record)),
            }
        }
        Ok(None)
    }

    /// How it has ended, once there are no records any more.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    fn damaged(&self, what: &'static str) -> ReadError {
        ReadError::Damaged { offset: self.frames.offset(), what }
    }
}
