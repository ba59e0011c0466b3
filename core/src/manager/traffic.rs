//! The traffic: how many requests were answered how, and how long that took.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use core::time::Duration;

use crate::machine::{Input, Output};
use crate::metrics::{Family, Histogram, Kind, Value};
use crate::request::{CallId, Method};
use crate::time::Instant;

/// Counts requests by method and status. Memory is bounded by the number of statuses and of calls in flight.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    in_flight: BTreeMap<CallId, (Method, Instant)>,
    /// By method and status; zero where no answer came.
    requests: BTreeMap<(&'static str, u16), u64>,
    /// How long it took until an answer began.
    durations: BTreeMap<&'static str, Histogram>,
}

impl Traffic {
    pub(super) fn handle_output(&mut self, now: Instant, output: &Output) {
        match output {
            Output::Call(call) => {
                self.in_flight.insert(call.id, (call.request.method, now));
            }
            Output::Cancel(id) => self.end(now, *id, 0),
            Output::Stopped | Output::Wait { .. } => {}
        }
    }

    pub(super) fn handle_input(&mut self, now: Instant, input: &Input<'_>) {
        match input {
            Input::Head { call, head } => self.end(now, *call, head.status),
            Input::End { call } | Input::Failed { call, .. } => self.end(now, *call, 0),
            Input::Body { .. } | Input::Stop | Input::Timeout => {}
        }
    }

    /// Counts a call, the first time that something is known about its end.
    fn end(&mut self, now: Instant, id: CallId, status: u16) {
        let Some((method, sent)) = self.in_flight.remove(&id) else { return };
        let status = if (100..600).contains(&status) { status } else { 0 };
        let count = self.requests.entry((method.as_str(), status)).or_default();
        *count = count.saturating_add(1);
        let took: Duration = now.since(sent);
        let new = || Histogram::new(Histogram::REQUEST);
        self.durations.entry(method.as_str()).or_insert_with(new).observe(took);
    }

    pub(super) fn metrics(&self) -> [Family; 2] {
        let mut requests = Family::new(
            "rest_client_requests_total",
            Kind::Counter,
            "Requests by method and status; <error> where no answer came.",
        );
        for ((method, status), count) in &self.requests {
            let code: Cow<'static, str> = if *status == 0 { "<error>".into() } else { status.to_string().into() };
            requests = requests.with(alloc::vec![("code", code), ("method", (*method).into())], Value::Count(*count));
        }
        let mut durations = Family::new(
            "rest_client_request_duration_seconds",
            Kind::Histogram,
            "Time until an answer began, by method.",
        );
        for (method, duration) in &self.durations {
            durations = durations.with(alloc::vec![("verb", (*method).into())], Value::Histogram(duration.clone()));
        }
        [requests, durations]
    }
}
