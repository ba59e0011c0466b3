//! The soak by itself: `cargo run --release -p sanskube-e2e --bin soak -- SECONDS`, ten minutes unless told otherwise.

use std::process::ExitCode;
use std::time::Duration;

use sanskube_e2e::soak::soak;

fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(600);
    let Some(program) = std::env::current_exe().ok().map(|path| path.with_file_name("sanskube-under-test")) else {
        return ExitCode::FAILURE;
    };
    if !program.exists() {
        eprintln!("{} is not built: cargo build -p sanskube-e2e", program.display());
        return ExitCode::FAILURE;
    }
    println!("{:#?}", soak(&program.to_string_lossy(), Duration::from_secs(seconds)));
    ExitCode::SUCCESS
}
