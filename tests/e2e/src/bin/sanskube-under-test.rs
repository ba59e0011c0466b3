//! The binary `sanskube` once more: Cargo tells tests only where the binaries of their own package are.

use std::process::ExitCode;

fn main() -> ExitCode {
    sanskube_blocking::cli::main()
}
