//! What the controller did, written down call by call.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::request::{Call, CallId, Method, Request};
use sanskube::time::Now;

/// How many deeds are remembered, at most.
const REMEMBERED: usize = 64;

/// What the controller did. Clones are the same ledger.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Book>>);

/// What a ledger holds.
#[derive(Clone, Default)]
pub(super) struct Book {
    /// HTTP calls begun.
    pub(super) calls: u64,
    /// Pods created.
    pub(super) created: u64,
    /// Pods deleted.
    pub(super) deleted: u64,
    /// What was done last, oldest first; what repeats is counted.
    pub(super) last: VecDeque<(String, u32)>,
}

impl Ledger {
    /// What is in it now.
    pub(super) fn read(&self) -> Book {
        self.book().clone()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // Every change is a single step, so a panic cannot leave the book half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A machine whose calls are written down.
pub(super) struct Recorded<M> {
    machine: M,
    ledger: Ledger,
    /// Calls that are written down when they are answered.
    open: HashMap<CallId, Deed>,
}

impl<M: Machine> Recorded<M> {
    /// Writes the calls of `machine` down in `ledger`.
    pub(super) fn new(machine: M, ledger: Ledger) -> Self {
        Self { machine, ledger, open: HashMap::new() }
    }

    fn handle_answer(&mut self, call: CallId, status: u16) {
        let Some(deed) = self.open.remove(&call) else { return };
        let mut book = self.ledger.book();
        let done = (200..300).contains(&status);
        book.created += u64::from(done && deed.what == What::CreatePod);
        book.deleted += u64::from(done && deed.what == What::DeletePod);
        let line = if done { deed.to_string() } else { format!("{deed}: {status}") };
        match book.last.back_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => book.last.push_back((line, 1)),
        }
        if book.last.len() > REMEMBERED {
            book.last.pop_front();
        }
    }
}

impl<M: Machine> Machine for Recorded<M> {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Head { call, head } => self.handle_answer(call, head.status),
            Input::Failed { call, .. } => {
                self.open.remove(&call);
            }
            _ => {}
        }
        self.machine.handle_input(now, input)
    }

    fn poll_output(&mut self, now: Now) -> Output {
        let output = self.machine.poll_output(now);
        match &output {
            Output::Call(call) => {
                self.ledger.book().calls += 1;
                self.open.insert(call.id, Deed::new(call));
            }
            Output::Cancel(call) => {
                self.open.remove(call);
            }
            Output::Stopped | Output::Wait { .. } => {}
        }
        output
    }
}

/// What a call is for.
#[derive(Debug, PartialEq, Eq)]
struct Deed {
    what: What,
    /// The name of the resource, such as `pods`.
    resource: String,
    /// The name of the object, if one is meant.
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    CreatePod,
    DeletePod,
    Other(&'static str),
}

impl Deed {
    fn new(call: &Call) -> Self {
        let Request { method, path, .. } = &call.request;
        let path = path.split_once('?').map_or(path.as_str(), |(path, _)| path);
        // /api/v1/… or /apis/GROUP/VERSION/…, then perhaps namespaces/NAME, then RESOURCE/NAME/SUBRESOURCE.
        let mut segments = path.trim_start_matches('/').split('/').peekable();
        let skipped = if segments.next() == Some("apis") { 2 } else { 1 };
        let mut segments = segments.skip(skipped).peekable();
        if path.contains("/namespaces/") && segments.peek() == Some(&"namespaces") {
            segments.nth(1);
        }
        let resource = segments.next().unwrap_or_default().to_owned();
        let name = segments.next().unwrap_or_default().to_owned();
        let status = segments.next() == Some("status");
        let what = match method {
            Method::Post if resource == "pods" => What::CreatePod,
            Method::Delete if resource == "pods" => What::DeletePod,
            Method::Get if call.watch => What::Other("watches"),
            Method::Get if name.is_empty() => What::Other("lists"),
            Method::Get => What::Other("reads"),
            Method::Post => What::Other("creates one of"),
            Method::Delete => What::Other("deletes from"),
            Method::Patch | Method::Put if status => What::Other("writes the status of"),
            Method::Patch | Method::Put => What::Other("changes"),
        };
        Self { what, resource, name }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, resource, name } = self;
        match what {
            What::CreatePod => f.write_str("creates a pod"),
            What::DeletePod => write!(f, "deletes the pod {name}"),
            What::Other(verb) if name.is_empty() => write!(f, "{verb} {resource}"),
            What::Other(verb) => write!(f, "{verb} {resource}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use sanskube::request::{Encoding, Failure, Head};
    use sanskube::time::{Instant, Timestamp};

    use super::*;

    const NOW: Now = Now { instant: Instant::ZERO, wall: Timestamp::UNIX_EPOCH };

    /// Makes its calls in the order given.
    struct Caller(Vec<Call>);

    impl Machine for Caller {
        fn handle_input(&mut self, _: Now, _: Input<'_>) -> Result<(), Misuse> {
            Ok(())
        }

        fn poll_output(&mut self, _: Now) -> Output {
            if self.0.is_empty() { Output::Wait { until: None } } else { Output::Call(self.0.remove(0)) }
        }
    }

    fn call(id: u64, method: Method, path: &str) -> Call {
        let request = Request { method, ..Request::get(path.into()) };
        Call {
            id: CallId(id),
            request,
            watch: path.contains("watch=1"),
            accept: Encoding::Json,
            deadline: Instant::ZERO,
        }
    }

    /// What is written down of these calls, all answered with a status.
    fn book(calls: Vec<Call>, status: u16) -> Book {
        let (count, ledger) = (calls.len() as u64, Ledger::default());
        let mut machine = Recorded::new(Caller(calls), ledger.clone());
        while let Output::Call(_) = machine.poll_output(NOW) {}
        for id in 0..count {
            let head = Head::new(status);
            machine.handle_input(NOW, Input::Head { call: CallId(id), head }).unwrap();
        }
        ledger.read()
    }

    #[test]
    fn deeds_are_told_in_words() {
        let told = book(
            vec![
                call(0, Method::Get, "/api/v1/pods?limit=500"),
                call(1, Method::Get, "/apis/apps/v1/replicasets?watch=1"),
                call(2, Method::Post, "/api/v1/namespaces/a/pods"),
                call(3, Method::Delete, "/api/v1/namespaces/a/pods/web-1"),
                call(4, Method::Patch, "/api/v1/namespaces/a/pods/stray"),
                call(5, Method::Put, "/apis/apps/v1/namespaces/a/replicasets/web/status?x=y"),
                call(6, Method::Get, "/apis/apps/v1/namespaces/a/replicasets/web"),
                call(7, Method::Post, "/api/v1/namespaces/a/events"),
                call(8, Method::Get, "/api/v1/namespaces"),
            ],
            200,
        );
        let lines: Vec<_> = told.last.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(
            lines,
            [
                "lists pods",
                "watches replicasets",
                "creates a pod",
                "deletes the pod web-1",
                "changes pods/stray",
                "writes the status of replicasets/web",
                "reads replicasets/web",
                "creates one of events",
                "lists namespaces",
            ]
        );
        assert_eq!((told.calls, told.created, told.deleted), (9, 1, 1));
    }

    #[test]
    fn what_is_refused_is_told_and_not_counted_as_done() {
        let told = book(vec![call(0, Method::Post, "/api/v1/namespaces/a/pods")], 403);
        assert_eq!(told.last, [("creates a pod: 403".into(), 1)]);
        assert_eq!((told.calls, told.created), (1, 0));
    }

    #[test]
    fn what_repeats_is_told_once_and_what_is_old_is_forgotten() {
        let calls = (0..5).map(|id| call(id, Method::Post, "/api/v1/namespaces/a/pods")).collect();
        assert_eq!(book(calls, 201).last, [("creates a pod".into(), 5)]);
        let calls = (0..100).map(|id| call(id, Method::Delete, &format!("/api/v1/namespaces/a/pods/p{id}"))).collect();
        let told = book(calls, 200);
        assert_eq!(told.last.len(), REMEMBERED);
        assert_eq!(told.last.back().unwrap().0, "deletes the pod p99");
    }

    #[test]
    fn what_got_no_answer_is_forgotten() {
        let ledger = Ledger::default();
        let mut machine = Recorded::new(Caller(vec![call(0, Method::Get, "/api/v1/pods")]), ledger.clone());
        let _ = machine.poll_output(NOW);
        machine.handle_input(NOW, Input::Failed { call: CallId(0), failure: Failure::Cut }).unwrap();
        assert!(machine.open.is_empty());
        assert_eq!(ledger.read().last, []);
    }
}
