//! `sanskube demo`: the controller, an API server and a pretend kubelet play a story over real HTTP, and a user checks each step.

mod board;
mod ledger;
mod live;
mod plain;
mod play;
mod story;
mod user;
mod view;

use std::io::{self, IsTerminal as _, Write as _, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use sanskube::object::ReplicaSetKind;
use sanskube_access::{Clock, Server};
use terminal_size::{Height, Width, terminal_size_of};

use self::ledger::{Ledger, Recorded};
use self::live::Live;
use self::plain::Plain;
use self::play::{Failure, Stage};
use self::story::STORY;
use self::user::User;
use super::args::DemoArgs;
use super::cluster::{self, Pace};
use super::controller::{WORKERS, unlimited};
use super::{Done, logging, signals};
use crate::driver::{Driver, Stopper};

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Plays the story to whoever watches stdout.
pub(super) fn demo(args: &DemoArgs) -> Done {
    let (clock, ledger, stop) = (Clock::start(), Ledger::default(), Arc::new(AtomicI32::new(0)));
    signals::handle({
        let stop = stop.clone();
        move |signal| stop.store(signal, Ordering::Relaxed)
    })?;
    let cluster = cluster::start(0, &args.faults, Pace::Watchable)?;
    let controller = Controller::start(&cluster.url(), ledger.clone())?;
    let user = User::new(&cluster.url());
    let stage = Stage { user: &user, clock, stop: &stop, patience: PATIENCE };
    let began = clock.now().instant;
    let played = if args.plain || !stdout().is_terminal() {
        stage.play(STORY, &mut Plain(stdout()))
    } else {
        logging::keep_last();
        stage.play(STORY, &mut Live::new(stdout(), terminal_size, STORY, ledger.clone(), clock))
    };
    let took = clock.now().instant.since(began).as_secs_f64();
    controller.stop();
    match played {
        Ok(()) => {}
        // As a shell tells of a process that a signal has ended.
        Err(Failure::Stopped { signal }) => return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))),
        Err(Failure::Unseen(e)) => return unseen(&e),
        Err(failure) => return Err(failure.into()),
    }
    let (steps, book) = (STORY.len(), ledger.read());
    let told = writeln!(
        stdout(),
        "All {steps} steps passed in {took:.1} s: the controller created {} pods and deleted {}, in {} HTTP calls.",
        book.created,
        book.deleted,
        book.calls
    );
    told.map_or_else(|e| unseen(&e), |()| Ok(ExitCode::SUCCESS))
}

/// What becomes of a demo that cannot be shown. Who reads no further, as `head` does, has seen enough.
fn unseen(e: &io::Error) -> Done {
    if e.kind() == io::ErrorKind::BrokenPipe { Ok(ExitCode::SUCCESS) } else { Err(format!("cannot print: {e}").into()) }
}

/// The controller, on a thread of its own.
struct Controller {
    stopper: Stopper,
    thread: JoinHandle<()>,
}

impl Controller {
    /// Starts the controller against the API server at this URL. What it does is written down in `ledger`.
    fn start(url: &str, ledger: Ledger) -> io::Result<Self> {
        let driver = Driver::new(Server::new(url), WORKERS)?;
        let stopper = driver.stopper();
        let mut machine = Recorded::new(unlimited(vec![ReplicaSetKind::ReplicaSet]), ledger);
        let thread =
            Builder::new().name("sanskube-controller".into()).spawn(move || driver.run(&mut machine, |_, _| {}))?;
        Ok(Self { stopper, thread })
    }

    /// Stops it in order.
    fn stop(self) {
        self.stopper.stop();
        // A thread that panicked has said so already.
        let _ = self.thread.join();
    }
}

/// Width and height of the terminal; what old terminals have, if it does not tell.
fn terminal_size() -> (usize, usize) {
    terminal_size_of(stdout()).map_or((80, 24), |(Width(width), Height(height))| (width.into(), height.into()))
}
