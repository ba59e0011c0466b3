//! kube-rs, asked to do the same: a program of its own, since it brings tokio.

use std::path::Path;
use std::process::Command;

/// Where cargo puts it, seen from the workspace.
const PROGRAM: &str = "tests/bench/peers/target/release/sanskube-bench-peers";

/// The best of what the peer was measured to do.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// Objects taken in a second.
    pub(crate) objects: Option<f64>,
    /// Bytes an object.
    pub(crate) bytes: Option<f64>,
    /// Events decoded and stored in a second.
    pub(crate) events: Option<f64>,
}

impl Peer {
    /// Lets it take in a list, if it was built.
    pub(crate) fn ingest(&mut self, list: &Path) -> crate::Result {
        let text = run("ingest", &[list])?;
        self.objects = best(self.objects, number(&text, "objects/s"));
        self.bytes = number(&text, "bytes an object");
        Ok(())
    }

    /// Lets it apply events to what is in a list, if it was built.
    pub(crate) fn churn(&mut self, list: &Path, events: &Path) -> crate::Result {
        let text = run("churn", &[list, events])?;
        self.events = best(self.events, number(&text, "events/s"));
        Ok(())
    }
}

/// What the program says; nothing if it was not built.
fn run(command: &str, files: &[&Path]) -> crate::Result<String> {
    if !Path::new(PROGRAM).exists() {
        eprintln!("{PROGRAM} is not built: no comparison");
        return Ok(String::new());
    }
    let output = Command::new(PROGRAM).arg(command).args(files).output()?;
    Ok(String::from_utf8(output.stdout)?)
}

fn best(kept: Option<f64>, new: Option<f64>) -> Option<f64> {
    kept.into_iter().chain(new).reduce(f64::max)
}

/// The number that stands before a unit.
fn number(text: &str, unit: &str) -> Option<f64> {
    let before = &text[..text.find(unit)?];
    before.split_whitespace().next_back()?.parse().ok()
}
