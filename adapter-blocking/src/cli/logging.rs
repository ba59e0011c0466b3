//! Where log lines go: to stderr, one a line, or to a place from where the last one can be shown.

use std::io::{Write as _, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::clock::Clock;

/// The one logger of this process.
static LOGGER: Logger = Logger { kept: Mutex::new(Kept::No) };

struct Logger {
    kept: Mutex<Kept>,
}

/// What becomes of lines.
enum Kept {
    /// They are written to stderr.
    No,
    /// The last one is kept.
    #[cfg_attr(not(feature = "demo"), expect(dead_code, reason = "only the demo shows something else"))]
    Last(Option<String>),
}

/// Takes log lines of this level and above, and writes them to stderr.
pub(super) fn start(level: LevelFilter) {
    // Fails only if there is a logger already, as in a process that calls `main` twice: then it is the same one.
    let _ = log::set_logger(&LOGGER);
    log::set_max_level(level);
}

/// Keeps the last line from now on instead of writing to stderr, where something else is being shown.
#[cfg(feature = "demo")]
pub(super) fn keep_last() {
    *LOGGER.kept() = Kept::Last(None);
}

/// The last line, if lines are kept.
#[cfg(feature = "demo")]
pub(super) fn last() -> Option<String> {
    match &*LOGGER.kept() {
        Kept::No => None,
        Kept::Last(line) => line.clone(),
    }
}

impl Logger {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // The value is replaced as a whole, so a panic cannot leave it half changed.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for Logger {
    /// What other crates say in passing (ureq and rustls name every header and every handshake) is left to `trace`.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sanskube")
            || metadata.level() <= Level::Warn
            || log::max_level() == LevelFilter::Trace
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let time = Clock::start().now().wall.to_micro_string();
        let line = format!("{time} {:5} {}: {}", record.level(), record.target(), record.args());
        match &mut *self.kept() {
            Kept::No => {
                // If stderr is closed there is nobody to tell.
                let _ = writeln!(stderr(), "{line}");
            }
            Kept::Last(last) => *last = Some(line),
        }
    }

    fn flush(&self) {}
}
