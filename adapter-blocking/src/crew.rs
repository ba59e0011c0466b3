//! The crew: threads that do jobs, as many as there are jobs at once.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

use crate::jobs::Jobs;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that wait for jobs. A new one is started when all are busy, so whoever hands out jobs bounds their number.
pub(crate) struct Crew {
    jobs: Arc<Jobs<Job>>,
    /// Jobs that were handed out and are not done.
    busy: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    pub(crate) fn new() -> Self {
        Self { jobs: Arc::new(Jobs::new()), busy: Arc::default(), threads: Vec::new() }
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
        self.jobs.push(Box::new(job));
        if before >= self.threads.len() {
            let jobs = self.jobs.clone();
            let serve = move || std::iter::from_fn(|| jobs.pop()).for_each(|job| job());
            self.threads.push(Builder::new().name("sanskube-reconcile".into()).spawn(serve)?);
        }
        Ok(())
    }
}

impl Drop for Crew {
    /// Waits until all jobs are done.
    fn drop(&mut self) {
        self.jobs.close();
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
