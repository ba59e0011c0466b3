//! Where a case is played: the state machine in this process, or a server somewhere.

use std::time::Duration;

use sanskube_apiserver::Request;

mod http;
mod in_process;

pub use http::Http;
pub use in_process::InProcess;

/// A response as it is compared.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
}

/// The stream of a watch.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// All bytes of the body, or those until enough frames had come.
    pub body: Vec<u8>,
    /// Who ended it: `server` or `client`.
    pub ended_by: &'static str,
}

/// Something that answers.
pub trait Target {
    /// The present wall time in seconds.
    fn now(&self) -> i64;
    /// Sends a request, and returns the answer; that of a watch has no body, and a number for [`Self::collect`].
    ///
    /// # Errors
    /// When there is no answer.
    fn send(&mut self, request: &Request) -> Result<(Answer, Option<usize>), String>;
    /// Reads a watch to its end, or until it has so many frames.
    fn collect(&mut self, watch: usize, max_frames: Option<usize>) -> Stream;
    /// Waits.
    fn sleep(&mut self, time: Duration);
    /// Compacts or restarts the server; whether it can.
    fn act(&mut self, action: &str) -> bool;
    /// The tokens of an administrator and of a user without rights.
    fn tokens(&self) -> (String, String);
    /// Leaves an empty namespace `golden`.
    ///
    /// # Errors
    /// When that cannot be done.
    fn reset(&mut self) -> Result<(), String>;
}
