//! `sanskube-bench`: measures sanskube.

use std::fs::File;
use std::io::BufWriter;
use std::process::ExitCode;

mod allocator;
mod generator;
mod ingest;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

const USAGE: &str = "usage: sanskube-bench generate COUNT FILE | ingest FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["generate", count, file] => generate(count, file),
        ["ingest", file] => ingest::run(file),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn generate(count: &str, file: &str) -> Result<(), Box<dyn std::error::Error>> {
    generator::write_list(count.parse()?, &mut BufWriter::new(File::create(file)?))?;
    Ok(())
}
