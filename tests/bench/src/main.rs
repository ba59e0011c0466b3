//! `sanskube-bench`: measures sanskube.

use std::fs::File;
use std::io::BufWriter;
use std::process::ExitCode;

mod allocator;
mod churn;
mod feed;
mod generator;
mod ingest;
mod queue;
mod scale;
mod settled;
mod table;
mod whole;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: sanskube-bench generate COUNT FILE | ingest FILE | churn PODS | settled | queue | scale MOST | whole SANSKUBE [KUBE-CONTROLLER-MANAGER] | table [MOST]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result {
    match arguments {
        ["generate", count, file] => {
            Ok(generator::write_list(count.parse()?, &mut BufWriter::new(File::create(file)?))?)
        }
        ["ingest", file] => ingest::run(file),
        ["churn", pods] => churn::run(pods.parse()?),
        ["settled"] => settled::run(),
        ["queue"] => queue::run(),
        ["scale", most] => scale::run(most.parse()?),
        ["whole", ours] => whole::run(ours, None),
        ["whole", ours, theirs] => whole::run(ours, Some(theirs)),
        ["table"] => table::run(100_000),
        ["table", most] => table::run(most.parse()?),
        _ => Err(USAGE.into()),
    }
}
