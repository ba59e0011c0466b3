//! Where log lines go: to stderr, one a line, or to a place from where the last one can be shown.

use std::io::{Write as _, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::ValueEnum;
use log::{Level, LevelFilter, Log, Metadata, Record};
use sanskube_access::Clock;
use serde_json::json;

use super::printable::printable;

/// The one logger of this process.
static LOGGER: Logger = Logger { json: AtomicBool::new(false), kept: Mutex::new(Kept::No) };

struct Logger {
    json: AtomicBool,
    kept: Mutex<Kept>,
}

/// How a line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// An object a line.
    Json,
    /// Words.
    #[default]
    Text,
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
pub(super) fn start(level: LevelFilter, format: Format) {
    LOGGER.json.store(format == Format::Json, Ordering::Relaxed);
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
        let (level, target) = (record.level(), record.target());
        let line = if self.json.load(Ordering::Relaxed) {
            let level = level.as_str().to_lowercase();
            json!({"ts": time, "level": level, "target": target, "msg": record.args().to_string()}).to_string()
        } else {
            format!("{time} {level:5} {target}: {}", printable(&record.args().to_string()))
        };
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
