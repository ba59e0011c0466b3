//! The runner: replays recorded vectors, API cases and scenarios, and prints what differs.

use std::path::Path;
use std::process::ExitCode;

use sanskube_conformance::{api, scenarios, vectors};

const USAGE: &str = "usage: sanskube-conformance vectors DIR
       sanskube-conformance api DIR [--server URL --token TOKEN [--weak-token TOKEN]]
       sanskube-conformance scenarios DIR [--seed N | --http | --server URL [--token TOKEN]] [--controller PROGRAM]
       sanskube-conformance run …, which is `sanskube run …`: the controller that scenarios are played with over HTTP";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|command| command == "run") {
        return sanskube_blocking::cli::main();
    }
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["vectors", directory] => Ok(vectors::run_directory(Path::new(directory))),
        ["api", ref rest @ ..] => api::main(rest),
        ["scenarios", ref rest @ ..] => scenarios::main(rest),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
