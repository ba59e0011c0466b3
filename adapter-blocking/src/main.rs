//! `sanskube`: a ReplicaSet controller, and a demonstration of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    sanskube_blocking::cli::main()
}
