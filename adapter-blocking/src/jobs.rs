//! Jobs that wait for a thread, and threads that wait for a job.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A queue of jobs for several threads. Each job wakes one of them, where one waits; a channel behind a lock would wake two.
pub(crate) struct Jobs<T> {
    waiting: Mutex<Waiting<T>>,
    changed: Condvar,
}

struct Waiting<T> {
    jobs: VecDeque<T>,
    closed: bool,
}

impl<T> Jobs<T> {
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::new(Waiting { jobs: VecDeque::new(), closed: false }), changed: Condvar::new() }
    }

    /// Hands a job to the next thread that is free.
    pub(crate) fn push(&self, job: T) {
        self.waiting().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// No job comes any more: threads that have done those that wait find none.
    pub(crate) fn close(&self) {
        self.waiting().closed = true;
        self.changed.notify_all();
    }

    /// Waits for a job. None when there are none and none will come.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut waiting = self.waiting();
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                return Some(job);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<T>> {
        // Nothing can panic while the lock is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::scope;

    use super::*;

    #[test]
    fn each_job_is_done_once_and_after_the_last_the_threads_end() {
        let jobs = Jobs::new();
        let done = scope(|scope| {
            let threads = [(); 3].map(|()| scope.spawn(|| std::iter::from_fn(|| jobs.pop()).collect::<Vec<_>>()));
            (0..1000).for_each(|n| jobs.push(n));
            jobs.close();
            let mut done: Vec<i32> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            done.sort_unstable();
            done
        });
        assert_eq!(done, (0..1000).collect::<Vec<_>>());
    }
}
