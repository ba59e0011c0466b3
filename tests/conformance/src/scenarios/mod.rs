//! Scenarios: what users did to a cluster, and what Kubernetes' own controllers wrote. Here the same is done to a cluster with our
//! controllers, and what they write is compared.

mod cluster;
mod compare;
mod in_world;
mod normal;
mod player;
mod pods;
mod scenario;
mod tap;
mod write;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::vectors::Check;
use in_world::InWorld;
use scenario::Scenario;

/// The command line: a directory, and perhaps a server.
///
/// # Errors
/// A wrong command line.
pub fn main(arguments: &[&str]) -> Result<bool, String> {
    match arguments {
        [directory] => Ok(run_directory(Path::new(directory))),
        _ => Err("which directory?".to_owned()),
    }
}

/// Plays every `.json` and `.json.gz` file of a directory and prints a line an area, each difference, and how often each named rule was
/// applied. Returns whether all matched.
pub fn run_directory(directory: &Path) -> bool {
    let mut files: Vec<PathBuf> = match std::fs::read_dir(directory) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).filter(|path| is_scenario(path)).collect(),
        Err(e) => {
            println!("{}: {e}", directory.display());
            return false;
        }
    };
    files.sort();
    if files.is_empty() {
        println!("{}: no scenarios", directory.display());
        return false;
    }
    let mut areas: std::collections::BTreeMap<String, [usize; 2]> = std::collections::BTreeMap::new();
    let mut total = Check::default();
    for file in files {
        let (area, check) = match read(&file) {
            Ok(scenario) => (scenario.area.clone(), run(&scenario)),
            Err(e) => {
                println!("{}: {e}", file.display());
                ("unreadable".to_owned(), failed())
            }
        };
        areas.entry(area).or_default()[usize::from(!check.failures.is_empty())] += 1;
        total.add_rules(&check);
    }
    for (area, [matched, differed]) in &areas {
        println!("{area}: {matched} passed, {differed} failed");
    }
    for (rule, times) in &total.rules {
        println!("    rule {rule}: {times} writes");
    }
    areas.values().all(|[_, differed]| *differed == 0)
}

/// Plays the scenario in a file and prints its differences. Returns whether there were none.
pub fn run_file(path: &Path) -> bool {
    match read(path) {
        Ok(scenario) => run(&scenario).failures.is_empty(),
        Err(e) => {
            println!("{}: {e}", path.display());
            false
        }
    }
}

fn run(scenario: &Scenario) -> Check {
    let mut check = Check::default();
    let played = player::play(scenario, &mut InWorld::new(scenario, std::env::var("SEED").map_or(1, |s| s.parse().unwrap())));
    compare::compare(scenario, &played, &mut check);
    if !check.failures.is_empty() {
        println!("{} ({}): {}", scenario.name, scenario.area, scenario.why);
        for failure in &check.failures {
            println!("    {failure}");
        }
    }
    check
}

fn failed() -> Check {
    let mut check = Check::default();
    check.fail("unreadable");
    check
}

fn is_scenario(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(".gz").unwrap_or(name).ends_with(".json")
}

fn read(path: &Path) -> Result<Scenario, String> {
    let file = BufReader::new(File::open(path).map_err(|e| e.to_string())?);
    let mut text = String::new();
    let read = if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(file).read_to_string(&mut text)
    } else {
        { file }.read_to_string(&mut text)
    };
    read.map_err(|e| e.to_string())?;
    serde_json::from_str(&text).map_err(|e| e.to_string())
}
