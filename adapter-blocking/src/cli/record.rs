//! The recording that `sanskube run --record` writes.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, rename};
use std::io;
use std::path::{Path, PathBuf};

use sanskube::manager::Config;
use sanskube_flight::{Start, Tape};

use super::options::RecordOptions;
use super::process;

/// Begins a recording of a manager with this configuration, if one is asked for.
///
/// # Errors
/// The file cannot be written.
pub(super) fn begin(options: &RecordOptions, config: &Config) -> Result<Option<Tape<File>>, String> {
    let Some(path) = &options.record else { return Ok(None) };
    let begin = || {
        let start = Start { build: process::build(), config: config.clone() };
        Tape::begin(create(path)?, options.record_limit, &start)
    };
    let tape = begin().map_err(|e| format!("cannot record to {}: {e}; choose another --record", path.display()))?;
    log::info!("recording to {}", path.display());
    Ok(Some(tape))
}

/// A new file that nobody else may read. One that is there becomes `….1`: after a crash it is what one wants to see.
fn create(path: &Path) -> io::Result<File> {
    match rename(path, before(path)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn before(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".1");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::fs::{read, write};

    use super::*;

    #[test]
    fn the_recording_before_is_kept_and_nobody_else_may_read_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flight");
        create(&path).unwrap();
        write(&path, "first").unwrap();
        let file = create(&path).unwrap();
        assert_eq!(read(folder.path().join("flight.1")).unwrap(), b"first");
        assert_eq!(read(&path).unwrap(), b"");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777, 0o600);
        assert!(create(&folder.path().join("no/such/folder")).is_err());
    }
}
