//! Watches and short calls at a time.

use std::collections::BTreeSet;
use std::time::Duration;

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::request::{Call, CallId, CallIds, Encoding, Request};
use sanskube::time::{Instant, Now};
use sanskube_e2e::adapter::adapters;
use sanskube_e2e::cluster::Cluster;

/// More watches than the adapters are given places for short calls.
const WATCHES: usize = 5;
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens watches and, once all are answered and while they last, makes one short call.
#[derive(Debug, Default)]
struct Crowd {
    ids: CallIds,
    watches: BTreeSet<CallId>,
    opened: usize,
    call: Option<CallId>,
    answered: bool,
    deadline: Option<Instant>,
}

impl Crowd {
    fn call(&mut self, now: Now, path: &str, watch: bool) -> Output {
        let (id, deadline) = (self.ids.next_id(), *self.deadline.get_or_insert(now.instant + PATIENCE));
        if watch {
            self.watches.insert(id)
        } else {
            self.call.replace(id).is_none()
        };
        Output::Call(Call { id, request: Request::get(path.into()), watch, accept: Encoding::Json, deadline })
    }
}

impl Machine for Crowd {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Head { call, head } => {
                assert_eq!(head.status, 200);
                self.opened += usize::from(self.watches.contains(&call));
            }
            Input::End { call } => {
                assert_eq!(Some(call), self.call, "the watches last");
                self.answered = true;
            }
            Input::Failed { call, failure } => panic!("{call:?} {failure:?}"),
            Input::Timeout => assert!(self.deadline.is_none_or(|deadline| now.instant < deadline), "{self:?}"),
            Input::Body { .. } | Input::Stop => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, now: Now) -> Output {
        if self.answered {
            return self.watches.pop_first().map_or(Output::Stopped, Output::Cancel);
        }
        if self.watches.len() < WATCHES {
            return self.call(now, "/api/v1/pods?watch=true", true);
        }
        if self.opened == WATCHES && self.call.is_none() {
            return self.call(now, "/api/v1/pods", false);
        }
        Output::Wait { until: self.deadline }
    }
}

// CASES C-10.
#[test]
fn watches_never_take_the_place_of_a_short_call() {
    for (name, drive) in adapters() {
        println!("with the {name} adapter");
        let cluster = Cluster::start();
        let mut crowd = Crowd::default();
        drive(&cluster.server.url(), &mut crowd);
        assert!(crowd.answered);
    }
}
