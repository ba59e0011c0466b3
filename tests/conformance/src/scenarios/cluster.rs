//! The cluster that a scenario is played on, whatever its clock and its transport.

use std::time::Duration;

use sanskube::time::Timestamp;
use serde_json::Value;

use super::log::SharedLog;
use super::scenario::UserRequest;

/// An API server and, when it has been started, a controller.
pub(super) trait Cluster {
    /// How many kinds of sets the controller looks after.
    fn kinds(&self) -> usize;

    /// Whether the controller can make only few requests at once.
    fn has_few_connections(&self) -> bool;

    /// The time.
    fn now(&self) -> Timestamp;

    /// Lets something happen, until `limit` at the latest.
    fn advance(&mut self, limit: Timestamp);

    /// Makes a request as a user.
    fn request(&mut self, request: &UserRequest) -> Answer;

    /// Makes requests as users, all at once. The statuses of their answers.
    fn parallel(&mut self, requests: &[UserRequest]) -> Vec<u16>;

    /// Begins to run a controller.
    fn start_controller(&mut self);

    /// Asks the controller to stop, and waits until it has.
    fn stop_controller(&mut self);

    /// Ends the controller in the middle of whatever it does.
    fn kill_controller(&mut self);

    /// Kills or starts the API server. Says why if that cannot be done.
    fn set_server_up(&mut self, up: bool) -> Result<(), String>;

    /// What the controllers of this cluster write down.
    fn log(&self) -> &SharedLog;

    /// Lets things happen for a time.
    fn run_for(&mut self, duration: Duration) {
        let end = self.now() + duration;
        while self.now() < end {
            self.advance(end);
        }
    }
}

/// What a user was answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}
