//! Recordings: of whole scripts, and of nobody's.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

use sanskube::machine::{Machine as _, Output};
use sanskube::manager::{Config, Manager};
use sanskube::request::Encoding;
use sanskube::time::Instant;
use sanskube_flight::{
    Done, End, Ending, FlightRecorder, Narrator, Page, ReadError, Reader, Record, Replay, Start, Tape,
};

use crate::choices::{Choices, pieces};
use crate::machines::manage;

/// A file that is still there when its writer is gone.
#[derive(Clone, Default)]
struct File(Rc<RefCell<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl File {
    fn bytes(&self) -> Vec<u8> {
        self.0.borrow().clone()
    }
}

fn record(config: &Config, limit: u64) -> (FlightRecorder<Manager, File>, File) {
    let file = File::default();
    let start = Start { build: "fuzz".into(), config: config.clone() };
    let tape = Tape::begin(file.clone(), limit, &start).expect("memory can be written to");
    (FlightRecorder::new(Manager::new(config), Some(tape)), file)
}

type Outputs = Vec<(Instant, Output)>;

/// The outputs of a recording that is sound as far as it goes, and how it ends.
fn replay(file: &[u8]) -> Result<(Outputs, Ending), ReadError> {
    let mut replay = Replay::open(file)?;
    let (mut narrator, mut page, mut outputs) = (Narrator::default(), Page::default(), Vec::new());
    while let Some(step) = replay.poll_step().unwrap_or_else(|e| panic!("{e}")) {
        narrator.tell(&step, replay.manager()).into_iter().for_each(|entry| page.add(entry));
        outputs.extend(step.done.into_iter().filter_map(|done| match done {
            Done::Output(now, output) => Some((now.instant, output)),
            Done::Trace(_) => None,
        }));
    }
    page.write(io::sink(), "fuzz", &[]).expect("nothing can be written to without an end");
    let ending = replay.summary().ending.expect("it was replayed to its end");
    Ok((outputs, ending))
}

/// What a manager does in a script is what its replay does, however far the recording goes.
pub fn replays(input: &[u8]) {
    let mut choices = Choices::new(input);
    let encoding = *choices.pick(&[Encoding::Json, Encoding::Protobuf]);
    let limit = *choices.pick(&[u64::MAX, u64::MAX, 2 << 10, 16 << 10]);
    let cut = choices.below(1 << 16);
    let mut file = File::default();
    let begin = |config: &Config| {
        let (recorder, to) = record(config, limit);
        file = to;
        recorder
    };
    let (outputs, stopped) = manage(choices.rest(), encoding, begin, FlightRecorder::machine);
    let (outputs, file) = (until_stopped(outputs), file.bytes());
    let (replayed, ending) = replay(&file).expect("it is a recording");
    assert!(outputs.starts_with(&replayed));
    match ending {
        Ending::Whole { end: End::Full, .. } => assert!(limit != u64::MAX && file.len() as u64 <= limit),
        Ending::Whole { end: End::Stopped, .. } => assert!(stopped && replayed.len() == outputs.len()),
        Ending::Cut => assert!(!stopped && replayed.len() == outputs.len()),
    }
    let cut = &file[..cut % (file.len() + 1)];
    match replay(cut) {
        Ok((first, _)) => assert!(replayed.starts_with(&first)),
        Err(ReadError::NoRecording | ReadError::Damaged { offset: 0, .. }) => {}
        Err(e) => panic!("{e}"),
    }
}

/// What is stopped says so again, but not on the tape.
fn until_stopped(mut outputs: Outputs) -> Outputs {
    let end = outputs.iter().position(|(_, output)| *output == Output::Stopped);
    outputs.truncate(end.map_or(outputs.len(), |end| end + 1));
    outputs
}

/// No more records than these are given to a manager.
const RECORDS: usize = 2000;

/// Whatever a file holds, it is refused or replayed, and what a manager does when it is told so is what its replay does.
pub fn recordings(input: &[u8]) {
    let mut choices = Choices::new(input);
    let mut file = b"SKFLIGHT\x01\0\0\0".to_vec();
    match choices.below(3) {
        0 => file = choices.rest().to_vec(),
        // Frames that are as they should be, of records that are not.
        1 => {
            let cuts = choices.take(8);
            for records in pieces(choices.rest(), &mut Choices::new(cuts)) {
                frame(records.len(), &stored(records), &mut file);
            }
        }
        // A frame whose head is as it should be.
        _ => {
            let length = choices.below(1 << 24);
            frame(length, choices.rest(), &mut file);
        }
    }
    let (records, whole) = read(&*file);
    let pieced = read(Pieces(&file));
    assert_eq!((format!("{records:?}"), format!("{whole:?}")), (format!("{:?}", pieced.0), format!("{:?}", pieced.1)));
    forge(&file);
    if let Some(Record::Start(start)) = records.first() {
        again(start, &records);
    }
}

/// Reads all records and the end; a beginning that is no recording has none.
fn read(from: impl Read) -> (Vec<Record>, Result<Ending, ReadError>) {
    let mut reader = match Reader::open(from) {
        Ok(reader) => reader,
        Err(e) => return (Vec::new(), Err(e)),
    };
    let mut records = vec![Record::Start(Box::new(reader.start().clone()))];
    loop {
        match reader.poll_record() {
            Ok(Some(record)) => records.push(record),
            Ok(None) => return (records, Ok(reader.ending().expect("it has ended"))),
            Err(e) => return (records, Err(e)),
        }
    }
}

/// Replays a file that is nobody's, as far as it goes.
fn forge(file: &[u8]) {
    let Ok(mut replay) = Replay::open(file) else { return };
    let mut narrator = Narrator::default();
    while let Ok(Some(step)) = replay.poll_step() {
        narrator.tell(&step, replay.manager());
    }
}

/// Tells a manager what the records say, and replays what was recorded of that.
fn again(start: &Start, records: &[Record]) {
    let (mut recorder, file) = record(&start.config, u64::MAX);
    let mut outputs = Vec::new();
    for record in records.iter().take(RECORDS) {
        match record {
            Record::Input(now, told) => drop(recorder.handle_input(*now, told.input())),
            Record::Output { now, .. } => outputs.push((now.instant, recorder.poll_output(*now))),
            Record::End(..) | Record::Refused | Record::Start(_) => {}
        }
    }
    drop(recorder);
    let (replayed, _) = replay(&file.bytes()).expect("it is a recording");
    assert!(until_stopped(outputs) == replayed);
}

/// Reads a few bytes at a time.
struct Pieces<'a>(&'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let few = buffer.len().min(1 + self.0.len() % 7);
        self.0.read(&mut buffer[..few])
    }
}

/// Bytes as blocks of deflate that are stored as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let block = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).expect("a block is short");
        [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), bytes].concat()
    };
    bytes.chunks(usize::from(u16::MAX)).flat_map(block).collect()
}

/// Adds a frame as the format has it, with a head that is right.
fn frame(length: usize, packed: &[u8], file: &mut Vec<u8>) {
    let number = |number: usize| u32::try_from(number).expect("a frame is short").to_le_bytes();
    let head = [number(packed.len()), number(length)].concat();
    file.extend_from_slice(&head);
    for bytes in [&*head, packed] {
        let digest = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let digest = bytes.iter().fold(0xcbf2_9ce4_8422_2325, digest);
        file.extend_from_slice(&digest.to_le_bytes()[..4]);
    }
    file.extend_from_slice(packed);
}
