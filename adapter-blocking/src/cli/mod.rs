//! The command line: `sanskube run`, `sanskube replay`, `sanskube demo`, `sanskube serve`.

mod args;
#[cfg(feature = "demo")]
mod cluster;
mod controller;
#[cfg(feature = "demo")]
mod demo;
mod logging;
mod options;
mod printable;
mod process;
mod record;
mod replay;
mod run;
#[cfg(feature = "demo")]
mod serve;
mod signals;

use std::error::Error;
use std::io::{ErrorKind, Write as _, stdout};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use clap_complete::generate;

use self::args::{Args, Command};

/// Does what the arguments of this process ask for, and says how that went. The binary `sanskube` is this function.
pub fn main() -> ExitCode {
    let args = Args::parse();
    logging::start(args.log_level.unwrap_or_else(|| args.command.log_level()), args.logging_format);
    let done = match args.command {
        #[cfg(feature = "demo")]
        Command::Demo(options) => demo::demo(&options),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            generate(shell, &mut Args::command(), "sanskube", &mut script);
            match stdout().write_all(&script) {
                Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(format!("cannot print: {e}").into()),
                _ => Ok(ExitCode::SUCCESS),
            }
        }
        Command::Replay(options) => replay::replay(&options),
        Command::Run(options) => run::run(&options),
        #[cfg(feature = "demo")]
        Command::Serve(options) => serve::serve(&options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("sanskube: {error}");
        ExitCode::FAILURE
    })
}

/// How a command ended. An error is a sentence for the operator, about something that trying again does not change.
type Done = Result<ExitCode, Box<dyn Error>>;
