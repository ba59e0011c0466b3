//! Vectors: what the real code answered, operation by operation.
//!
//! A file holds one case a line; its name says which part of the core it is about. Each submodule replays one such file
//! against the public API of the core.

mod backoff;
mod check;
mod fifo;
mod indexer;
mod informer;
mod keys;
mod label_selector;
#[cfg(test)]
mod random;
mod rate_limiter;
mod recorded;
mod recovery;
mod recreated;
mod reflector;
mod replicaset;
mod script;
mod workqueue;

use std::fs::File;
use std::io::{BufRead, BufReader, Write, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

pub use check::{Check, same};

/// How one case is replayed: the case as it stands in the file, and where to say what came.
type Replay = fn(&Value, &mut Check);

/// Which replay a file wants, by its name without extensions.
fn replay(name: &str) -> Option<Replay> {
    match name {
        "backoff" => Some(backoff::replay),
        "claim" => Some(replicaset::claim::replay),
        "deletion_order" => Some(replicaset::deletion_order::replay),
        "delta_fifo" => Some(fifo::replay_classic),
        "event_routing" => Some(replicaset::event_routing::replay),
        "expectations" => Some(replicaset::expectations::replay),
        "indexer" => Some(indexer::replay),
        "informer" => Some(informer::replay),
        "keys" => Some(keys::replay),
        "label_selector" => Some(label_selector::replay),
        "manage_sync" => Some(replicaset::manage_sync::replay),
        "pod_from_template" => Some(replicaset::pod_from_template::replay),
        "pod_predicates" => Some(replicaset::pod_predicates::replay),
        "rate_limiter" => Some(rate_limiter::replay),
        "real_fifo" => Some(fifo::replay_in_order),
        "reflector" => Some(reflector::replay),
        "slow_start" => Some(replicaset::slow_start::replay),
        "stale_guard" => Some(replicaset::stale_guard::replay),
        "status" => Some(replicaset::status::replay),
        "workqueue" => Some(workqueue::replay),
        _ => None,
    }
}

/// Replays every `.jsonl` and `.jsonl.gz` file of a directory and prints a line a file, each failing case, and how
/// often each named rule was applied. Returns whether all passed. Any other file fails, but for what is there to be read (`.md`).
pub fn run_directory(directory: &Path) -> bool {
    let mut files: Vec<PathBuf> = match std::fs::read_dir(directory) {
        Ok(entries) => entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_none_or(|e| e != "md"))
            .collect(),
        Err(e) => {
            println!("{}: {e}", directory.display());
            return false;
        }
    };
    files.sort();
    if files.is_empty() {
        println!("{}: no vectors", directory.display());
    }
    let mut passed = !files.is_empty();
    for file in files {
        passed &= run_file(&file);
    }
    passed
}

/// Replays one file and prints its line and its failures. Returns whether all cases passed.
pub fn run_file(path: &Path) -> bool {
    tell_file(path, &mut stdout().lock()).expect("stdout can be written to")
}

fn tell_file(path: &Path, out: &mut impl Write) -> std::io::Result<bool> {
    let Some(name) = stem(path) else {
        let name = path.file_name().unwrap_or(path.as_os_str()).display();
        writeln!(out, "{name}: 0 passed, 1 failed (the name ends in neither .jsonl nor .jsonl.gz)")?;
        return Ok(false);
    };
    let mut total = Check::default();
    let (mut passed, mut failed) = (0, 0);
    let cases = match read_cases(path) {
        Ok(cases) => cases,
        Err(e) => {
            writeln!(out, "{name}: 0 passed, 1 failed (the file cannot be read: {e})")?;
            return Ok(false);
        }
    };
    let Some(replay) = replay(&name) else {
        writeln!(out, "{name}: 0 passed, {} failed (nothing here replays this file)", cases.len())?;
        return Ok(false);
    };
    for case in cases {
        let id = case["id"].as_str().unwrap_or("(no id)").to_owned();
        let mut check = Check::default();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| replay(&case, &mut check))) {
            let text =
                panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
            check.fail(format!("panicked: {}", text.unwrap_or("?")));
        }
        if check.failures.is_empty() {
            passed += 1;
        } else {
            failed += 1;
            writeln!(out, "{name} {id}: {}", case["why"].as_str().unwrap_or(""))?;
            for failure in &check.failures {
                writeln!(out, "    {failure}")?;
            }
        }
        total.add_rules(&check);
    }
    writeln!(out, "{name}: {passed} passed, {failed} failed")?;
    for (rule, times) in &total.rules {
        writeln!(out, "    rule {rule}: {times} ops")?;
    }
    for (why, ops) in &total.skipped_ops {
        writeln!(out, "    {ops} ops not compared in all: {why}")?;
    }
    Ok(failed == 0 && passed > 0)
}

fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    Some(name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".jsonl")?.to_owned())
}

fn read_cases(path: &Path) -> std::io::Result<Vec<Value>> {
    let file = File::open(path)?;
    let reader: Box<dyn BufRead> = if path.extension().is_some_and(|e| e == "gz") {
        Box::new(BufReader::new(GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
    reader
        .lines()
        .filter(|line| !line.as_ref().is_ok_and(String::is_empty))
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}

#[cfg(test)]
mod tests;
