//! The crew: threads that do jobs, as many as there are jobs at once.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

type Job = Box<dyn FnOnce() + Send>;

/// Threads that wait for jobs. A new one is started when all are busy, so whoever hands out jobs bounds their number.
pub(crate) struct Crew {
    jobs: Option<Sender<Job>>,
    waiting: Arc<Mutex<Receiver<Job>>>,
    /// Jobs that were handed out and are not done.
    busy: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    pub(crate) fn new() -> Self {
        let (jobs, waiting) = channel();
        Self { jobs: Some(jobs), waiting: Arc::new(Mutex::new(waiting)), busy: Arc::default(), threads: Vec::new() }
    }

    /// Has a job done, which must not panic.
    ///
    /// # Errors
    /// All threads are busy and no other can be started; the job is done by the next that is free.
    pub(crate) fn work(&mut self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let busy = self.busy.clone();
        let before = self.busy.fetch_add(1, Ordering::AcqRel);
        let job = move || {
            job();
            busy.fetch_sub(1, Ordering::AcqRel);
        };
        if let Some(jobs) = &self.jobs {
            // The receiver is ours, so it is there.
            let _ = jobs.send(Box::new(job));
        }
        if before >= self.threads.len() {
            let waiting = self.waiting.clone();
            self.threads.push(Builder::new().name("sanskube-reconcile".into()).spawn(move || serve(&waiting))?);
        }
        Ok(())
    }
}

fn serve(waiting: &Mutex<Receiver<Job>>) {
    loop {
        // Nothing can panic while the lock is held, and a receiver has no state to be broken.
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        job();
    }
}

impl Drop for Crew {
    /// Waits until all jobs are done.
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").field("threads", &self.threads.len()).field("busy", &self.busy).finish()
    }
}
