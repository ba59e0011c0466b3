//! A machine whose requests are written down.

use std::collections::BTreeMap;

use sanskube::error::Misuse;
use sanskube::machine::{Input, Machine, Output};
use sanskube::request::{CallId, Method};
use sanskube::time::Now;

/// Writes down what a machine asks for, and stops it when it is done.
#[derive(Debug)]
pub struct Transcript<M> {
    machine: M,
    is_done: fn(&M) -> bool,
    asked: bool,
    requests: BTreeMap<CallId, (Method, String)>,
}

impl<M: Machine> Transcript<M> {
    /// Writes down what `machine` asks for until it `is_done`.
    pub fn new(machine: M, is_done: fn(&M) -> bool) -> Self {
        Self { machine, is_done, asked: false, requests: BTreeMap::new() }
    }

    /// The methods and paths, by the order of the calls.
    pub fn into_requests(self) -> BTreeMap<CallId, (Method, String)> {
        self.requests
    }
}

impl<M: Machine> Machine for Transcript<M> {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        self.machine.handle_input(now, input)
    }

    fn poll_output(&mut self, now: Now) -> Output {
        loop {
            let output = self.machine.poll_output(now);
            match &output {
                Output::Call(call) => {
                    let request = (call.request.method, call.request.path.clone());
                    self.requests.insert(call.id, request);
                }
                Output::Wait { .. } if !self.asked && (self.is_done)(&self.machine) => {
                    self.asked = true;
                    self.machine.handle_input(now, Input::Stop).expect("it has said all there was to say");
                    continue;
                }
                _ => {}
            }
            return output;
        }
    }
}
