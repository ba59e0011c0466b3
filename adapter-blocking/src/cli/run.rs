//! `sanskube run`: the controllers against a cluster.

use std::process::ExitCode;

use sanskube::manager::Manager;
use sanskube_access::Environment;
use sanskube_flight::FlightRecorder;

use super::args::RunArgs;
use super::controller::{Looked, WORKERS};
use super::{Done, record, signals};
use crate::driver::Driver;
use crate::status::StatusServer;

/// Runs the controllers until a signal comes, the lease is lost or, with `--once`, there is nothing left to do.
pub(super) fn run(args: &RunArgs) -> Done {
    let config = args.config()?;
    let server = args.wish().find(&Environment::read())?;
    log::info!("{} at {}", args.purpose(), server.url);
    let driver = Driver::new(server, WORKERS)?;
    let status = match args.status.metrics_bind_address {
        None => None,
        Some(address) => {
            let status = StatusServer::start(address, &driver.waker())
                .map_err(|e| format!("cannot listen on {address}: {e}; choose another --metrics-bind-address"))?;
            log::info!("health and metrics at http://{}", status.address());
            Some(status)
        }
    };
    let stopper = driver.stopper();
    signals::handle({
        let stopper = stopper.clone();
        move |_| stopper.stop()
    })?;
    let tape = record::begin(&args.record, &config)?;
    let mut recorder = FlightRecorder::new(Manager::new(&config), tape);
    driver.run(&mut recorder, |recorder, now| {
        let manager = recorder.machine();
        if let Some(status) = &status {
            status.answer(&Looked { manager, now });
        }
        if (args.once && manager.all_ready()) || (args.record.record_exit_when_full && recorder.is_full()) {
            stopper.stop();
        }
    });
    if recorder.machine().has_lost_lease() {
        return Err("the lease is lost, and somebody else may lead now: start again to stand by".into());
    }
    log::info!("stopped");
    Ok(ExitCode::SUCCESS)
}
