//! Fault switches for tests: refuse requests by rule, freeze, lag, close and cut watches.

use std::time::Duration;

use crate::context::refusal;
use crate::error::ApiError;
use crate::media::Media;
use crate::replica::Replicas;
use crate::request::{Request, Response};

/// What a refused request gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A `Status` with that code, such as 409, 429, 500 or 504, and perhaps `Retry-After` seconds.
    Status {
        /// HTTP status code.
        code: u16,
        /// Seconds for `Retry-After`.
        retry_after: Option<u32>,
    },
    /// The connection closes without an answer.
    Hangup,
}

/// Refuses some of the requests that match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// A part of the `User-Agent`, or empty for any.
    pub agent: String,
    /// The method, or empty for any.
    pub method: String,
    /// A part of the target (path and query), or empty for any.
    pub target: String,
    /// How many matching requests pass first.
    pub skip: u32,
    /// How many are refused then.
    pub times: u32,
    /// Whether the request takes effect before it is refused.
    pub after_effect: bool,
    /// What is answered.
    pub failure: Failure,
}

/// What to do with a request.
#[derive(Debug)]
pub(crate) enum Verdict {
    After(Response),
    Hangup,
    HangupAfter,
    Instead(Response),
    Pass,
}

/// The switches. All are off at first.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Vec<Rule>,
    frozen: Vec<String>,
    lags: Vec<(String, Duration)>,
    lagging: Option<Duration>,
    lifetime: Option<Duration>,
    cut_one_in: u32,
    cut_in_frame: u32,
    opened: u32,
    collide_names: bool,
    replicas: Replicas,
    refused: Option<(Failure, bool)>,
}

impl Faults {
    /// Adds a rule. Rules are asked in the order they were added; the first that matches decides.
    pub fn add_rule(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Refuses the next matching request with a `Status` of that code, before it has any effect.
    pub fn fail_next(&mut self, method: &str, target: &str, code: u16) {
        self.add_rule(Rule {
            agent: String::new(),
            method: method.to_owned(),
            target: target.to_owned(),
            skip: 0,
            times: 1,
            after_effect: false,
            failure: Failure::Status { code, retry_after: None },
        });
    }

    pub(crate) fn take_refusal(&mut self) -> Option<(Failure, bool)> {
        self.refused.take()
    }

    /// Removes all rules.
    pub fn clear_rules(&mut self) {
        self.rules.clear();
    }

    /// Stops events and bookmarks of a resource (its plural name) to all watches, or lets them flow again.
    pub fn freeze(&mut self, resource: &str, frozen: bool) {
        self.frozen.retain(|r| r != resource);
        if frozen {
            self.frozen.push(resource.to_owned());
        }
    }

    /// Delays the events of a resource by so much; zero ends it.
    pub fn set_lag(&mut self, resource: &str, lag: Duration) {
        self.lags.retain(|(r, _)| r != resource);
        if !lag.is_zero() {
            self.lags.push((resource.to_owned(), lag));
        }
    }

    /// Ends every watch opened from now on after so long; `None` ends that.
    pub fn close_watches_after(&mut self, lifetime: Option<Duration>) {
        self.lifetime = lifetime;
    }

    /// Breaks one in `one_in` watches opened from now on, in the middle of its frame number `frame`
    /// (counted from 1). Zero ends that.
    pub fn cut_watches(&mut self, one_in: u32, frame: u32) {
        self.cut_one_in = one_in;
        self.cut_in_frame = frame.max(1);
        self.opened = 0;
    }

    /// Gives every generated name the same suffix, so that they collide.
    pub fn set_name_collisions(&mut self, on: bool) {
        self.collide_names = on;
    }

    /// Says how far a replica of the server has come: its cache stands still at this version until it is told otherwise, or is up to date if
    /// there is none. What may be served from a cache is served as of then: objects and lists at a version, watches. Writes, and reads that ask
    /// for no version, go to the storage behind all replicas.
    ///
    /// A version that the history does not reach back to stands for the oldest that it does.
    pub fn set_replica(&mut self, name: &str, version: Option<u64>) {
        self.replicas.set(name, version);
    }

    /// Sends the requests that come from now on, if their `User-Agent` contains `agent`, to a replica. Watches that are open stay with theirs.
    /// The last route that matches decides; without one the server is up to date.
    pub fn route(&mut self, agent: &str, replica: &str) {
        self.replicas.route(agent, replica);
    }

    pub(crate) fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    pub(crate) fn judge(&mut self, request: &Request) -> Verdict {
        let hit = self.rules.iter_mut().find_map(|rule| {
            let matches = (rule.agent.is_empty() || request.agent().contains(&rule.agent))
                && (rule.method.is_empty() || rule.method == request.method)
                && (rule.target.is_empty() || request.target.contains(&rule.target));
            if !matches || rule.times == 0 {
                return None;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                return None;
            }
            rule.times -= 1;
            Some((rule.failure.clone(), rule.after_effect))
        });
        if hit.is_some() {
            self.refused.clone_from(&hit);
        }
        match hit {
            None => Verdict::Pass,
            Some((Failure::Hangup, false)) => Verdict::Hangup,
            Some((Failure::Hangup, true)) => Verdict::HangupAfter,
            Some((Failure::Status { code, retry_after }, after)) => {
                let response = refusal(&injected(code, retry_after), Media::JSON, &[]);
                if after { Verdict::After(response) } else { Verdict::Instead(response) }
            }
        }
    }

    pub(crate) fn frozen(&self, resource: &str) -> bool {
        self.frozen.iter().any(|r| r == resource)
    }

    pub(crate) fn lag(&self, resource: &str) -> Option<Duration> {
        self.lags.iter().find(|(r, _)| r == resource).map(|(_, lag)| *lag)
    }

    /// A watch holds back an event until then.
    pub(crate) fn lagging_until(&mut self, at: Duration) {
        self.lagging = Some(self.lagging.map_or(at, |l| l.min(at)));
    }

    /// The deadline of the watch just polled, earlier if it holds back an event.
    pub(crate) fn postpone(&mut self, deadline: Duration) -> Duration {
        self.lagging.take().map_or(deadline, |at| at.min(deadline))
    }

    pub(crate) fn watch_lifetime(&self, asked: Duration) -> Duration {
        self.lifetime.map_or(asked, |l| l.min(asked))
    }

    pub(crate) fn cut_next_watch(&mut self) -> Option<u32> {
        if self.cut_one_in == 0 {
            return None;
        }
        self.opened += 1;
        self.opened.is_multiple_of(self.cut_one_in).then_some(self.cut_in_frame)
    }

    pub(crate) fn collide_names(&self) -> bool {
        self.collide_names
    }
}

fn injected(code: u16, retry_after: Option<u32>) -> ApiError {
    let (reason, message) = match code {
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "forbidden by a fault rule"),
        404 => ("NotFound", "the server could not find the requested resource"),
        409 => {
            ("Conflict", "the object has been modified; please apply your changes to the latest version and try again")
        }
        410 => ("Expired", "The resourceVersion for the provided list is too old."),
        429 => ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
        500 => ("InternalError", "Internal error occurred: by a fault rule"),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => ("Timeout", "Timeout: request did not complete within the allowed duration"),
        _ => ("", "refused by a fault rule"),
    };
    ApiError::injected(code, reason, message, retry_after)
}
