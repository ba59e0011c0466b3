//! A machine whose calls a script answers: the clock, the call in flight, and what was seen.

use core::mem::take;
use std::time::Duration;

use sanskube::error::Misuse;
use sanskube::machine::Part;
use sanskube::reflector::{Config, Recovery, WatchError};
use sanskube::request::{Call, CallId, CallIds};
use sanskube::time::{Instant, Now};
use serde_json::{Value, json};

use super::script::{self, Answer, millis};

/// The configuration that a case asks for.
pub(super) fn config(given: &Value, recovery: Recovery) -> Config {
    let mut config = Config::new(script::CONFIG_MAPS);
    config.watch_list = given["watch_list"] == true;
    config.resync_period = millis(&given["resync_ms"]);
    config.backoff.jitter = 0.0;
    config.recovery = recovery;
    // Client-go itself never gives up a call: that is left to its transport.
    config.limits.list_timeout = Duration::MAX;
    config.limits.watch_grace = Duration::MAX;
    config
}

/// The server's side of a machine.
#[derive(Default)]
pub(super) struct Wire {
    pub(super) now: Now,
    pub(super) ids: CallIds,
    call: Option<Call>,
    /// Whether the call in flight is an open stream.
    open: bool,
    requests: Vec<Value>,
    errors: Vec<Value>,
    stream_stopped: bool,
}

impl Wire {
    /// A call was begun, if there was one to begin.
    pub(super) fn begin(&mut self, call: Option<Call>) {
        if let Some(call) = call {
            self.requests.push(script::request(&call, self.now.instant));
            self.call = Some(call);
        }
    }

    /// The call in flight is none any more.
    pub(super) fn stop(&mut self) {
        self.call = None;
        self.stream_stopped |= take(&mut self.open);
    }

    /// An error was told.
    pub(super) fn note(&mut self, error: &WatchError) {
        self.errors.extend(script::error(error));
    }

    /// What was seen since this was asked last.
    pub(super) fn take(&mut self) -> Value {
        json!({
            "requests": take(&mut self.requests),
            "errors": take(&mut self.errors),
            "stream_stopped": self.take_stopped(),
        })
    }

    /// Whether a stream was stopped since this was asked last.
    pub(super) fn take_stopped(&mut self) -> Option<bool> {
        take(&mut self.stream_stopped).then_some(true)
    }
}

/// A machine whose calls a script answers.
pub(super) trait Scripted {
    fn wire(&mut self) -> &mut Wire;
    fn due(&self) -> Option<Instant>;
    fn in_flight(&self) -> Option<CallId>;
    fn handle_timeout(&mut self, now: Now);
    fn handle_part(&mut self, now: Now, call: CallId, part: Part) -> Result<(), Misuse>;
    /// Takes all that the machine puts out.
    fn drain(&mut self);

    /// Lets time pass until the machine has asked for something.
    fn await_request(&mut self) {
        self.drain();
        while let (Some(due), None) = (self.due(), &self.wire().call) {
            self.advance_to(due);
        }
    }

    /// Lets time pass, and stops wherever something is due.
    fn advance(&mut self, by: Duration) {
        let target = self.wire().now.instant + by;
        while let Some(due) = self.due().filter(|due| *due <= target) {
            self.advance_to(due);
        }
        self.advance_to(target);
    }

    fn advance_to(&mut self, instant: Instant) {
        let wire = self.wire();
        wire.now = wire.now.after(instant.since(wire.now.instant));
        let now = wire.now;
        self.handle_timeout(now);
        self.drain();
    }

    /// Answers the call in flight, if there is one.
    fn answer(&mut self, answer: Answer) {
        let wire = self.wire();
        let Some(id) = wire.call.as_ref().map(|call| call.id) else { return };
        let now = wire.now;
        match answer {
            Answer::Line(_) => {}
            Answer::Open => wire.open = true,
            Answer::End | Answer::Failure(_) | Answer::Whole(..) => wire.stop(),
        }
        let handled = answer.parts().into_iter().try_for_each(|part| self.handle_part(now, id, part));
        // A list that was given up is not awaited to its end.
        assert!(handled.is_ok() || self.in_flight() != Some(id), "the call is in flight");
    }
}
