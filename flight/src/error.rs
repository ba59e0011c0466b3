//! Why a recording cannot be read or replayed.

use std::fmt;
use std::io;

use crate::frame::VERSION;
use crate::record::OutputKind;

/// Why a file cannot be read as a recording, or not further.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// Its bytes are not what was written.
    Damaged {
        /// Where the frame begins whose bytes are wrong.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// It could not be read.
    Io(io::Error),
    /// It does not begin as recordings do.
    NoRecording,
    /// It is written in another version of the format.
    Version {
        /// Which one.
        found: u32,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { offset, what } => write!(f, "the recording is damaged at byte {offset}: {what}"),
            Self::Io(e) => write!(f, "the recording cannot be read: {e}"),
            Self::NoRecording => f.write_str("this is no recording of sanskube"),
            Self::Version { found } => write!(
                f,
                "the recording has version {found} of the format, and this build reads version {VERSION}: replay it with the build that made it"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// Why a replay does not go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplayError {
    /// The machine does something else than it did.
    Diverged(Divergence),
    /// There is nothing more to be read.
    Read(ReadError),
}

/// Where a replay does for the first time something else than what was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The step.
    pub step: u64,
    /// What was recorded; none if an input was refused.
    pub recorded: Option<OutputKind>,
    /// What the machine does now, in words.
    pub replayed: String,
    /// The build that made the recording.
    pub build: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, recorded, replayed, build } = self;
        let recorded = match recorded {
            None => "an input was refused",
            Some(OutputKind::Call) => "a call was made",
            Some(OutputKind::Cancel) => "a call was given up",
            Some(OutputKind::Stopped) => "it had stopped",
            Some(OutputKind::Wait) => "it waited",
        };
        write!(
            f,
            "the replay differs from step #{step} on: in the recording {recorded}, now: {replayed}; recorded by {build}"
        )
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diverged(divergence) => divergence.fmt(f),
            Self::Read(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<ReadError> for ReplayError {
    fn from(e: ReadError) -> Self {
        Self::Read(e)
    }
}
