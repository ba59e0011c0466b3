//! `sanskube-bench`: measures sanskube.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use sanskube::request::Encoding;

mod allocator;
mod binary;
mod chart;
mod churn;
mod feed;
mod generator;
mod ingest;
mod measure;
mod peer;
mod protobuf;
mod queue;
mod scale;
mod settled;
mod table;
mod whole;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: sanskube-bench generate COUNT FILE [--format json|proto] | ingest FILE [--format json|proto] | churn PODS [--format json|proto]
    | settled | queue | scale MOST | binary | chart MOST MOST-OF-PEER | whole SANSKUBE [KUBE-CONTROLLER-MANAGER] | table [MOST]
CLIENT_GO and KUBE_CONTROLLER_MANAGER in the environment name programs that `table` compares with";

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
        ["generate", count, file, format @ ..] => {
            let (count, mut file) = (count.parse()?, BufWriter::new(File::create(file)?));
            match encoding(format)? {
                Encoding::Json => generator::write_list(count, &mut file)?,
                Encoding::Protobuf => protobuf::write_list(count, &mut file)?,
            }
            Ok(file.flush()?)
        }
        ["ingest", file, format @ ..] => ingest::run(file, encoding(format)?),
        ["churn", pods, format @ ..] => churn::run(pods.parse()?, encoding(format)?),
        ["settled"] => settled::run(),
        ["binary"] => binary::run(),
        ["chart", most, peer_most] => chart::run(most.parse()?, peer_most.parse()?),
        ["queue"] => queue::run(),
        ["scale", most] => scale::run(most.parse()?),
        ["whole", ours] => whole::run(ours, None),
        ["whole", ours, theirs] => whole::run(ours, Some(theirs)),
        ["table"] => table::run(100_000),
        ["table", most] => table::run(most.parse()?),
        _ => Err(USAGE.into()),
    }
}

/// What is to be read or written; JSON where nothing is said.
fn encoding(format: &[&str]) -> Result<Encoding> {
    match format {
        [] | ["--format", "json"] => Ok(Encoding::Json),
        ["--format", "proto"] => Ok(Encoding::Protobuf),
        _ => Err(USAGE.into()),
    }
}
