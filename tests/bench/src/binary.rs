//! `binary`: how large the program is, and how long it takes from its start until it is in sync.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant as Clock};

use sanskube_apiserver::{Server, ServerConfig};

/// Where cargo puts the lean program, seen from the workspace.
const PROGRAM: &str = "target/lean/sanskube";
const STARTS: usize = 10;

/// What the program is measured to take.
pub(crate) struct Binary {
    pub(crate) bytes: u64,
    /// From its start until it has ended, on a cluster without sets, where it has nothing to do but to be in sync. The best of several.
    pub(crate) synced: Duration,
}

pub(crate) fn run() -> crate::Result {
    match binary()? {
        Some(Binary { bytes, synced }) => {
            println!("sanskube: {bytes} bytes, {synced:?} from start to synced and stopped");
        }
        None => println!("{PROGRAM} is not built: see docs/performance.md"),
    }
    Ok(())
}

/// None if the program was not built.
pub(crate) fn binary() -> crate::Result<Option<Binary>> {
    if !Path::new(PROGRAM).exists() {
        return Ok(None);
    }
    let bytes = std::fs::metadata(PROGRAM)?.len();
    let server = Server::start(ServerConfig::default())?;
    let mut synced = Duration::MAX;
    for _ in 0..STARTS {
        let start = Clock::now();
        let mut command = Command::new(PROGRAM);
        let status = command.args(["run", "--once", "--server", &server.url()]).stderr(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("{PROGRAM} ended with {status}").into());
        }
        synced = synced.min(start.elapsed());
    }
    Ok(Some(Binary { bytes, synced }))
}
