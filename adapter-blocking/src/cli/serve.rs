//! `sanskube serve`: the API server and the pretend kubelet alone, to be explored.

use std::io::{Write as _, stdout};
use std::process::ExitCode;
use std::sync::mpsc::channel;

use super::args::ServeArgs;
use super::cluster::{self, Pace};
use super::{Done, signals};

/// Serves until a signal comes.
pub(super) fn serve(args: &ServeArgs) -> Done {
    let (stop, stopped) = channel();
    signals::handle(move |_| {
        // Nobody listens if it has stopped already.
        let _ = stop.send(());
    })?;
    let cluster = cluster::start(args.port, &args.faults, Pace::Quick)
        .map_err(|e| format!("cannot listen on 127.0.0.1:{}: {e}; choose another port with --port", args.port))?;
    let url = cluster.url();
    let how = format!("kubectl --server {url} get pods --watch\n  sanskube run --server {url}");
    writeln!(stdout(), "API server at {url}. In other terminals:\n\n  {how}\n")?;
    // Fails only if signals cannot come any more: then there is nothing to wait for.
    let _ = stopped.recv();
    Ok(ExitCode::SUCCESS)
}
