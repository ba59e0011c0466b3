//! The flight recorder: a machine that takes down what another one is told and does.

use std::io::{self, Write};

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::time::Now;

use crate::tape::{Room, Tape};

/// A machine, and a tape for as long as there is one.
///
/// What the machine does is the same with and without. When the tape is full or cannot be written any more, that is said in the log, and the machine
/// goes on.
#[derive(Debug)]
pub struct FlightRecorder<M, W: Write> {
    machine: M,
    tape: Option<Tape<W>>,
    full: bool,
}

impl<M: Machine, W: Write> FlightRecorder<M, W> {
    /// Takes down what `machine` does, from its very beginning, if there is a tape. The tape must have begun with the configuration of this machine.
    pub fn new(machine: M, tape: Option<Tape<W>>) -> Self {
        Self { machine, tape, full: false }
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Whether it still takes down what happens.
    pub fn is_recording(&self) -> bool {
        self.tape.is_some()
    }

    /// Whether it does not because the tape is full.
    pub fn is_full(&self) -> bool {
        self.full
    }

    fn note(&mut self, note: impl FnOnce(&mut Tape<W>) -> io::Result<Room>) {
        let Some(tape) = &mut self.tape else { return };
        match note(tape) {
            Ok(Room::Left) => return,
            Ok(Room::Ended) => {}
            Ok(Room::Full) => {
                log::warn!("the recording has reached its limit, and ends here");
                self.full = true;
            }
            Err(e) => log::error!("the recording cannot be written, and ends here: {e}"),
        }
        self.tape = None;
    }
}

impl<M: Machine, W: Write> Machine for FlightRecorder<M, W> {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        // Before it is given: if the machine does not survive it, it is on the tape.
        self.note(|tape| tape.input(now, &input));
        let taken = self.machine.handle_input(now, input);
        if taken.is_err() {
            self.note(Tape::refused);
        }
        taken
    }

    fn poll_output(&mut self, now: Now) -> Output {
        let output = self.machine.poll_output(now);
        self.note(|tape| tape.output(now, &output));
        output
    }
}
