//! `sanskube replay`: what the controllers did, and why.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use sanskube::key::Key;
use sanskube::time::Timestamp;
use sanskube_flight::{End, Ending, Entry, Narrator, Page, Picture, Replay, ReplayError, Summary, Table};

use super::args::ReplayArgs;
use super::printable::printable;
use super::{Done, process};

/// Where a replay is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// After this step.
    Step(u64),
    /// Before what happened after this time.
    Time(Timestamp),
}

/// Replays, and prints or writes a page.
pub(super) fn replay(args: &ReplayArgs) -> Done {
    match told(args) {
        Ok(whole) => Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        // Whoever reads has seen enough.
        Err(Trouble::Print(e)) if e.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(Trouble::Print(e)) => Err(format!("cannot print: {e}").into()),
        Err(Trouble::Other(why)) => Err(why.into()),
    }
}

/// Why it could not be told.
enum Trouble {
    Other(String),
    Print(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(e: io::Error) -> Self {
        Self::Print(e)
    }
}

/// Tells it. Returns whether it was replayed as far as it was to be.
fn told(args: &ReplayArgs) -> Result<bool, Trouble> {
    let path = args.file.display();
    let file = File::open(&args.file).map_err(|e| Trouble::Other(format!("cannot open the recording {path}: {e}")))?;
    let mut replay =
        Replay::open(BufReader::new(file)).map_err(|e| Trouble::Other(format!("cannot replay {path}: {e}")))?;
    let mut out = BufWriter::new(stdout().lock());
    let (mut picture, mut page) = (Picture::default(), Page::default());
    let mut narrator = Narrator::default();
    let failure = loop {
        let step = match replay.poll_step() {
            Ok(Some(step)) => step,
            Ok(None) => break None,
            Err(e) => break Some(e),
        };
        if matches!(args.until, Some(Until::Time(end)) if step.now.wall > end) {
            break None;
        }
        for entry in narrator.tell(&step, replay.manager()) {
            picture.apply(&entry);
            let wanted = args.key.as_ref().is_none_or(|key| entry.keys.contains(key));
            if args.html.is_some() {
                // What is not wanted has no line, but its part in the picture.
                let text = if wanted { entry.text } else { String::new() };
                page.add(Entry { text, ..entry });
            } else if wanted && !entry.text.is_empty() {
                writeln!(out, "{}", printable(&entry.to_string()))?;
            }
        }
        if args.until == Some(Until::Step(step.number)) {
            break None;
        }
    };
    let result = result(&replay.summary(), failure.as_ref());
    if let Some(path) = &args.html {
        let notes = [format!("recorded by {}", replay.start().build), result.clone()];
        write_page(&page, path, &args.file.display().to_string(), &notes)
            .map_err(|e| Trouble::Other(format!("cannot write the page {}: {e}", path.display())))?;
    } else if args.until.is_some() {
        print_picture(&mut out, &picture)?;
    }
    writeln!(out, "{}", printable(&result))?;
    out.flush()?;
    Ok(failure.is_none())
}

/// What came of it, in one line.
fn result(summary: &Summary, failure: Option<&ReplayError>) -> String {
    let Summary { steps, outputs, digest, ending } = summary;
    let same = format!("{steps} steps, {outputs} outputs, the same to the bit as recorded (digest {digest:016x})");
    match (failure, ending) {
        (Some(e), _) => format!("{same}; then {e}; this is {}", process::build()),
        (None, Some(Ending::Cut)) => format!("{same}; there is no end: the process was killed, or still runs"),
        (None, Some(Ending::Whole { end: End::Full, .. })) => format!("{same}; the recording was full here"),
        (None, Some(Ending::Whole { end: End::Stopped, .. })) => format!("{same}; the controllers had stopped"),
        (None, None) => format!("{same}; there is more in the recording"),
    }
}

/// How things were.
fn print_picture(out: &mut impl Write, picture: &Picture) -> io::Result<()> {
    for table in Table::ALL {
        writeln!(out, "\n{}", table.as_str())?;
        for (name, value) in picture.rows(table) {
            writeln!(out, "  {}", printable(&format!("{name:<40} {value}")))?;
        }
    }
    writeln!(out)
}

fn write_page(page: &Page, path: &Path, title: &str, notes: &[String]) -> io::Result<()> {
    page.write(BufWriter::new(File::create(path)?), title, notes)
}

/// A step, as in `#12` or `12`, or a time, as in `2026-03-14T09:26:53.5Z`.
pub(super) fn until(text: &str) -> Result<Until, String> {
    if let Ok(step) = text.trim_start_matches('#').parse() {
        return Ok(Until::Step(step));
    }
    // As the log has it, without a zone.
    let time = Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}Z")));
    time.map(Until::Time)
        .ok_or_else(|| format!("{text:?} is neither a step, such as 12, nor a time, such as 2026-03-14T09:26:53Z"))
}

/// The key of a set or a pod.
pub(super) fn key(text: &str) -> Result<Key, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(Key::new(namespace, name))
        }
        _ => Err(format!("{text:?} is no key: use NAMESPACE/NAME")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_stops_at_a_step_or_a_time() {
        assert_eq!((until("12"), until("#12")), (Ok(Until::Step(12)), Ok(Until::Step(12))));
        let time = Timestamp::parse("2026-03-14T09:26:53.5Z").map(Until::Time).unwrap();
        for text in ["2026-03-14T09:26:53.5Z", "2026-03-14T10:26:53.5+01:00", "2026-03-14T09:26:53.500"] {
            assert_eq!(until(text), Ok(time), "{text}");
        }
        assert!(until("yesterday").is_err() && until("").is_err() && until("-1").is_err());
        assert_eq!(key("shop/web"), Ok(Key::new("shop", "web")));
        assert!(["web", "/web", "shop/", "a/b/c"].iter().all(|text| key(text).is_err()));
    }
}
