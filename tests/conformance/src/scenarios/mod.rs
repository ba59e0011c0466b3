//! Scenarios: what users did to a cluster, and what Kubernetes' own controllers wrote. Here the same is done to a cluster with our
//! controllers, and what they write is compared.

mod bag;
mod burst;
mod cluster;
mod compare;
mod in_world;
mod log;
mod normal;
mod over_http;
mod player;
mod pods;
mod proxy;
mod scenario;
mod tap;
mod write;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::vectors::Check;
use in_world::InWorld;
use over_http::OverHttp;
pub use over_http::Remote;
use scenario::Scenario;

/// The command line: a directory, and where its scenarios are to be played.
///
/// # Errors
/// A wrong command line, or a server that does not answer.
pub fn main(arguments: &[&str]) -> Result<bool, String> {
    let [directory, flags @ ..] = arguments else { return Err(USAGE.to_owned()) };
    let flag = |name: &str| flags.iter().position(|flag| *flag == name).and_then(|at| flags.get(at + 1)).copied();
    let known = ["--controller", "--seed", "--server", "--token"];
    let (mut http, mut rest) = (false, flags);
    loop {
        rest = match rest {
            [] => break,
            ["--http", rest @ ..] => {
                http = true;
                rest
            }
            [name, _, rest @ ..] if known.contains(name) => rest,
            _ => return Err(USAGE.to_owned()),
        };
    }
    let remote = flag("--server").map(|url| Remote::new(url, flag("--token").unwrap_or_default())).transpose()?;
    let place = if http || remote.is_some() {
        let this = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
        Place::Http { controller: flag("--controller").map_or(this, PathBuf::from), remote }
    } else {
        let seed = flag("--seed").unwrap_or("1");
        Place::World { seed: seed.parse().map_err(|e| format!("--seed {seed}: {e}"))? }
    };
    Ok(run_directory(Path::new(directory), &place))
}

const USAGE: &str =
    "scenarios DIR [--seed N | --http [--controller PROGRAM] | --server URL [--token TOKEN] [--controller PROGRAM]]";

/// Where scenarios are played.
#[derive(Clone, Debug)]
pub enum Place {
    /// Over HTTP and in real time.
    Http {
        /// The program that is the controller when its first argument is `run`, and takes the flags of `sanskube`. The runner itself is one.
        controller: PathBuf,
        /// The server; none for in-memory ones, a fresh one for each scenario.
        remote: Option<Remote>,
    },
    /// In this thread, with a server of its own and virtual time.
    World {
        /// What delays, names and jitter depend on.
        seed: u64,
    },
}

/// How a play went.
enum Outcome {
    Compared(Check),
    /// Why it cannot be played in this place.
    NotPlayed(&'static str),
}

/// Plays every `.json` and `.json.gz` file of a directory and prints a line an area, each difference, and how often each named rule was
/// applied. Returns whether all that were played matched.
pub fn run_directory(directory: &Path, place: &Place) -> bool {
    let mut files: Vec<PathBuf> = match std::fs::read_dir(directory) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).filter(|path| is_scenario(path)).collect(),
        Err(e) => {
            println!("{}: {e}", directory.display());
            return false;
        }
    };
    files.sort();
    let mut areas: BTreeMap<String, Tally> = BTreeMap::new();
    let mut total = Check::default();
    for file in files {
        let (area, outcome) = match read(&file) {
            Ok(scenario) => (scenario.area.clone(), run(&scenario, place)),
            Err(e) => {
                println!("{}: {e}", file.display());
                ("unreadable".to_owned(), Outcome::Compared(failed()))
            }
        };
        let tally = areas.entry(area).or_default();
        match outcome {
            Outcome::Compared(check) if check.failures.is_empty() => {
                tally.passed += 1;
                total.add_rules(&check);
            }
            Outcome::Compared(_) => tally.failed += 1,
            Outcome::NotPlayed(why) => {
                println!("{}: not played: {why}", file.display());
                tally.not_played += 1;
            }
        }
    }
    for (area, tally) in &areas {
        println!("{area}: {} passed, {} failed, {} not played", tally.passed, tally.failed, tally.not_played);
    }
    for (rule, times) in &total.rules {
        println!("    rule {rule}: {times} writes");
    }
    let all = |count: fn(&Tally) -> usize| areas.values().map(count).sum::<usize>();
    if all(|tally| tally.passed + tally.failed) == 0 {
        println!("{}: nothing was played", directory.display());
        return false;
    }
    all(|tally| tally.failed) == 0
}

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    not_played: usize,
}

/// Plays the scenario in a file and prints its differences. Returns whether it was played and there were none.
pub fn run_file(path: &Path, place: &Place) -> bool {
    match read(path).map(|scenario| run(&scenario, place)) {
        Ok(Outcome::Compared(check)) => check.failures.is_empty(),
        Ok(Outcome::NotPlayed(why)) => {
            println!("{}: not played: {why}", path.display());
            false
        }
        Err(e) => {
            println!("{}: {e}", path.display());
            false
        }
    }
}

fn run(scenario: &Scenario, place: &Place) -> Outcome {
    let mut check = Check::default();
    let played = match place {
        Place::World { seed } => player::play(scenario, &mut InWorld::new(scenario, *seed)),
        Place::Http { controller, remote } => {
            if let Some(why) = remote.as_ref().and_then(|remote| remote.cannot_play(scenario)) {
                return Outcome::NotPlayed(why);
            }
            match OverHttp::new(controller, remote.as_ref(), scenario) {
                Ok(mut cluster) => player::play(scenario, &mut cluster),
                Err(e) => {
                    println!("{}: {e}", scenario.name);
                    check.fail(e);
                    return Outcome::Compared(check);
                }
            }
        }
    };
    compare::compare(scenario, &played, &mut check);
    if !check.failures.is_empty() {
        println!("{} ({}): {}", scenario.name, scenario.area, scenario.why);
        for failure in &check.failures {
            println!("    {failure}");
        }
    }
    Outcome::Compared(check)
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
