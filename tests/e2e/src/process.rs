//! A program under test, as a child process whose lines are read as they come.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

/// How long anything may take that is waited for. Nothing here takes long; a machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running program. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    /// What it has said so far, on stdout and on stderr.
    pub said: Vec<String>,
}

impl Process {
    /// Starts a program without anything in its environment that would lead it to a cluster.
    pub fn start(program: &str, args: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env("HOME", "/nonexistent")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let (sender, lines) = channel();
        forward(child.stdout.take().expect("stdout is a pipe"), sender.clone());
        forward(child.stderr.take().expect("stderr is a pipe"), sender);
        Self { child, lines, said: Vec::new() }
    }

    /// Waits until it says something with `part` in it.
    pub fn wait_for(&mut self, part: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.said.iter().any(|line| line.contains(part)) {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(e) => panic!("{part:?} was not said ({e}); what was said: {:#?}", self.said),
            }
        }
    }

    /// Sends it a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("there is a shell").success());
    }

    /// Waits for its end, and for all that it says until then.
    pub fn finish(mut self) -> (ExitStatus, Vec<String>) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end; what was said: {:#?}", self.said),
            }
        }
        (self.child.wait().expect("it has ended"), std::mem::take(&mut self.said))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends on every line that comes.
fn forward(from: impl Read + Send + 'static, to: Sender<String>) {
    spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}

/// Looks until `look` sees something.
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
