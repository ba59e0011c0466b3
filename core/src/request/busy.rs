//! What a busy server asks for: that it be asked again, later.

use core::time::Duration;

use super::Outcome;

/// How often a call is made again because the server had no time for it (client-go `rest/with_retry.go`, ten retries).
pub(crate) const RETRIES: u32 = 10;
/// The shortest pause before such a call is made again, also where the server names none or zero.
pub(crate) const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest pause that a server is heeded with.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How long a server that was too busy to act wants the caller to wait; none if it did not say that it was.
pub(crate) fn pause(outcome: &Outcome) -> Option<Duration> {
    let Outcome::Response(response) = outcome else { return None };
    match (response.head.status, response.head.retry_after) {
        (429, hint) => Some(hint.unwrap_or(PAUSE_MIN).clamp(PAUSE_MIN, PAUSE_MAX)),
        (503, Some(hint)) => Some(hint.clamp(PAUSE_MIN, PAUSE_MAX)),
        _ => None,
    }
}
