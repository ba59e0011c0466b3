//! Peers, asked to do the same: kube-rs, in a program of its own, since it brings tokio; and client-go, in one that is named.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo puts the program with kube-rs, seen from the workspace.
const KUBE_RS: &str = "tests/bench/peers/target/release/sanskube-bench-peers";

/// The best of what a peer was measured to do.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    /// None if there is no program: then nothing is measured.
    program: Option<PathBuf>,
    /// Objects taken in a second, from JSON.
    pub(crate) objects: Option<f64>,
    /// The same from protobuf.
    pub(crate) messages: Option<f64>,
    /// Bytes an object.
    pub(crate) bytes: Option<f64>,
    /// Events decoded and stored in a second.
    pub(crate) events: Option<f64>,
    /// Seconds for a key to be added to a work queue, taken and done.
    pub(crate) key: Option<f64>,
    /// The same, added for later.
    pub(crate) delayed_key: Option<f64>,
}

impl Peer {
    /// kube-rs, if it was built.
    pub(crate) fn kube_rs() -> Self {
        let program = Some(PathBuf::from(KUBE_RS)).filter(|program| program.exists());
        if program.is_none() {
            eprintln!("{KUBE_RS} is not built: no comparison");
        }
        Self { program, ..Self::default() }
    }

    /// client-go, if there is a program: `peers/client-go`, built.
    pub(crate) fn client_go(program: Option<PathBuf>) -> Self {
        Self { program, ..Self::default() }
    }

    /// Lets it take in a list.
    pub(crate) fn ingest(&mut self, list: &Path) -> crate::Result {
        let text = self.run(&["ingest".as_ref(), list])?;
        self.objects = best(self.objects, number(&text, "objects/s"));
        self.bytes = number(&text, "bytes an object");
        Ok(())
    }

    /// Lets it take in a list in protobuf.
    pub(crate) fn ingest_protobuf(&mut self, list: &Path) -> crate::Result {
        let text = self.run(&["ingest".as_ref(), list, "--format".as_ref(), "proto".as_ref()])?;
        self.messages = best(self.messages, number(&text, "objects/s"));
        Ok(())
    }

    /// Lets it apply events to what is in a list.
    pub(crate) fn churn(&mut self, list: &Path, events: &Path) -> crate::Result {
        let text = self.run(&["churn".as_ref(), list, events])?;
        self.events = best(self.events, number(&text, "events/s"));
        Ok(())
    }

    /// Lets it move keys through a work queue.
    pub(crate) fn queue(&mut self) -> crate::Result {
        let text = self.run(&["queue".as_ref()])?;
        let seconds = |unit| number(&text, unit).map(|nanos| nanos / 1e9);
        self.key = least(self.key, seconds("ns add"));
        self.delayed_key = least(self.delayed_key, seconds("ns delayed"));
        Ok(())
    }

    /// What the program says; nothing if there is none.
    fn run(&self, arguments: &[&Path]) -> crate::Result<String> {
        let Some(program) = &self.program else { return Ok(String::new()) };
        let output = Command::new(program).args(arguments).output()?;
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn best(kept: Option<f64>, new: Option<f64>) -> Option<f64> {
    kept.into_iter().chain(new).reduce(f64::max)
}

fn least(kept: Option<f64>, new: Option<f64>) -> Option<f64> {
    kept.into_iter().chain(new).reduce(f64::min)
}

/// The number that stands before a unit.
fn number(text: &str, unit: &str) -> Option<f64> {
    let before = &text[..text.find(unit)?];
    before.split_whitespace().next_back()?.parse().ok()
}
