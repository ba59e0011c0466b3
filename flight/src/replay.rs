//! The replay: a manager that is told again what it was told, and has to do again what it did.

use std::io::Read;

use sanskube::machine::{Machine as _, Output};
use sanskube::manager::{Manager, Trace};
use sanskube::time::Now;

use crate::digest::Digest;
use crate::error::{Divergence, ReadError, ReplayError};
use crate::reader::{Ending, Reader};
use crate::record::{OutputKind, Record, Start, Told, add_output};

/// Runs the core over a recording, offline.
#[derive(Debug)]
pub struct Replay<R> {
    reader: Reader<R>,
    manager: Manager,
    /// A record that belongs to the next step.
    next: Option<Record>,
    digest: Digest,
    scratch: Vec<u8>,
    steps: u64,
    outputs: u64,
}

/// One input, and what came of it.
#[derive(Debug)]
pub struct Step {
    /// Its number. The first one has no input and is zero.
    pub number: u64,
    /// When the input was given; for the first step, when the first output was asked for.
    pub now: Now,
    /// What the machine was told.
    pub told: Option<Told>,
    /// What the machine did, the last [`Output::Wait`] included, and what it tells of that, in order.
    pub done: Vec<Done>,
}

/// A part of what came of an input.
#[derive(Debug)]
pub enum Done {
    /// An output, and when it was asked for.
    Output(Now, Output),
    /// What the machine tells.
    Trace(Trace),
}

/// What was replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many steps.
    pub steps: u64,
    /// How many outputs, each of them the same as in the recording.
    pub outputs: u64,
    /// Their digest.
    pub digest: u64,
    /// How the recording ended; none if it was not replayed to its end.
    pub ending: Option<Ending>,
}

impl<R: Read> Replay<R> {
    /// A replay that is about to begin.
    ///
    /// # Errors
    /// It is no recording that this build can read.
    pub fn open(from: R) -> Result<Self, ReadError> {
        let reader = Reader::open(from)?;
        let mut manager = Manager::new(&reader.start().config);
        manager.start_trace();
        Ok(Self { reader, manager, next: None, digest: Digest::new(), scratch: Vec::new(), steps: 0, outputs: 0 })
    }

    /// What the recording begins with.
    pub fn start(&self) -> &Start {
        self.reader.start()
    }

    /// The machine, as it is after the last step.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// What was replayed so far.
    pub fn summary(&self) -> Summary {
        let Self { steps, outputs, digest, .. } = self;
        Summary { steps: *steps, outputs: *outputs, digest: digest.whole(), ending: self.reader.ending() }
    }

    /// Does the next step; none at the end of the recording.
    ///
    /// # Errors
    /// The machine does something else than it did, or the recording cannot be read any further. Nothing comes after that.
    pub fn poll_step(&mut self) -> Result<Option<Step>, ReplayError> {
        let mut step = Step { number: self.steps, now: Now::default(), told: None, done: Vec::new() };
        let mut begun = false;
        while let Some(record) = self.next_record()? {
            match record {
                Record::Input(..) if begun => {
                    self.next = Some(record);
                    break;
                }
                Record::Input(now, told) => {
                    (step.now, begun) = (now, true);
                    self.give(&mut step, told)?;
                }
                Record::Output { now, kind, digest } => {
                    if !begun {
                        (step.now, begun) = (now, true);
                    }
                    self.ask(&mut step, now, kind, digest)?;
                }
                // The reader deals with both ends; a refusal goes with its input.
                Record::End(..) | Record::Refused | Record::Start(_) => {}
            }
        }
        if !begun {
            return self.check_end().map(|()| None);
        }
        self.steps += 1;
        Ok(Some(step))
    }

    fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        match self.next.take() {
            Some(record) => Ok(Some(record)),
            None => self.reader.poll_record(),
        }
    }

    fn give(&mut self, step: &mut Step, told: Told) -> Result<(), ReplayError> {
        let taken = self.manager.handle_input(step.now, told.input());
        // Whether it was refused stands after it.
        self.next = self.next_record()?;
        let was_refused = matches!(self.next, Some(Record::Refused));
        match taken {
            Ok(()) if was_refused => return Err(self.diverged(None, "it is taken".into())),
            Err(e) => {
                if let Some(Record::Output { kind, .. }) = self.next {
                    return Err(self.diverged(Some(kind), format!("the input is refused: {e}")));
                }
            }
            Ok(()) => {}
        }
        step.told = Some(told);
        self.take_trace(step);
        Ok(())
    }

    fn ask(&mut self, step: &mut Step, now: Now, kind: OutputKind, digest: u32) -> Result<(), ReplayError> {
        let output = self.manager.poll_output(now);
        add_output(&mut self.digest, &mut self.scratch, &output);
        if OutputKind::of(&output) != kind || self.digest.half() != digest {
            return Err(self.diverged(Some(kind), format!("{output:?}")));
        }
        self.outputs += 1;
        self.take_trace(step);
        step.done.push(Done::Output(now, output));
        Ok(())
    }

    fn take_trace(&mut self, step: &mut Step) {
        step.done.extend(std::iter::from_fn(|| self.manager.poll_trace()).map(Done::Trace));
    }

    /// The digest at the end has twice the bits of those on the way.
    fn check_end(&self) -> Result<(), ReplayError> {
        match self.reader.ending() {
            Some(Ending::Whole { digest, .. }) if digest != self.digest.whole() => {
                Err(self.diverged(Some(OutputKind::Stopped), "the outputs have another digest".into()))
            }
            _ => Ok(()),
        }
    }

    fn diverged(&self, recorded: Option<OutputKind>, replayed: String) -> ReplayError {
        let build = self.reader.start().build.clone();
        ReplayError::Diverged(Divergence { step: self.steps, recorded, replayed, build })
    }
}
