//! `sanskube-conformance vectors DIR`: replays recorded vectors and prints what differs.

use std::path::Path;
use std::process::ExitCode;

use sanskube_conformance::{scenarios, vectors};

const USAGE: &str = "usage: sanskube-conformance vectors DIR";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let passed = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["scenarios", directory] => scenarios::run_directory(Path::new(directory)),
        ["vectors", directory] => vectors::run_directory(Path::new(directory)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
