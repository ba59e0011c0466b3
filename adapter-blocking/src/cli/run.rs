//! `sanskube run`: the controllers against a cluster.

use std::process::ExitCode;

use super::args::RunArgs;
use super::controller::{WORKERS, manager};
use super::{Done, signals};
use crate::access::Environment;
use crate::driver::Driver;

/// Runs the controllers until a signal comes or, with `--once`, until there is nothing left to do.
pub(super) fn run(args: RunArgs) -> Done {
    let server = args.wish().find(&Environment::read())?;
    log::info!("{} at {}", args.purpose(), server.url);
    let driver = Driver::new(server, WORKERS)?;
    let stopper = driver.stopper();
    signals::handle({
        let stopper = stopper.clone();
        move || stopper.stop()
    })?;
    let mut manager = manager(args.kinds(), args.namespace);
    driver.run(&mut manager, |manager, _| {
        if args.once && manager.all_ready() {
            stopper.stop();
        }
    });
    log::info!("stopped");
    Ok(ExitCode::SUCCESS)
}
