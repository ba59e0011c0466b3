//! The runner: `sanskube-conformance api DIR [--server URL --token T]`.

use std::process::ExitCode;

use sanskube_conformance::api;

const USAGE: &str = "usage: sanskube-conformance api DIR [--server URL --token TOKEN [--weak-token TOKEN]]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["api", rest @ ..] => api::main(rest),
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
