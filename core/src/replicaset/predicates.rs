//! Questions about one pod, and when to ask again.

use core::time::Duration;

use crate::object::{Phase, Pod};
use crate::time::Timestamp;

/// Whether a pod counts as a replica: neither finished nor being deleted.
///
/// Mirrors `pkg/controller/controller_utils.go`, `IsPodActive`.
pub fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && pod.deletion().is_none()
}

/// Whether a pod is being deleted and has not finished.
///
/// Mirrors `pkg/controller/controller_utils.go`, `IsPodTerminating`.
pub fn is_terminating(pod: &Pod) -> bool {
    !is_finished(pod) && pod.deletion().is_some()
}

fn is_finished(pod: &Pod) -> bool {
    matches!(pod.phase(), Phase::Failed | Phase::Succeeded)
}

/// Whether a pod has been ready for `min_ready_seconds`.
///
/// Mirrors `pkg/api/v1/pod/util.go`, `IsPodAvailable`.
pub fn is_available(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> bool {
    pod.is_ready()
        && (min_ready_seconds == 0
            || pod.ready_changed().is_some_and(|changed| ready_until(changed, min_ready_seconds) <= now.as_nanos()))
}

/// How long after `now` the first of these pods becomes available that was ready but not available at `evaluated`; zero if that
/// has happened meanwhile, none if there is no such pod.
///
/// Mirrors `pkg/controller/controller_utils.go`, `FindMinNextPodAvailabilityCheck`.
pub fn next_availability_check<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    min_ready_seconds: i32,
    evaluated: Timestamp,
    now: Timestamp,
) -> Option<Duration> {
    if min_ready_seconds <= 0 {
        return None;
    }
    pods.into_iter()
        .filter(|pod| pod.is_ready())
        .filter_map(Pod::ready_changed)
        .map(|changed| ready_until(changed, min_ready_seconds))
        .filter(|&at| at > evaluated.as_nanos())
        .min()
        .map(|at| Duration::from_nanos(u64::try_from(at.saturating_sub(now.as_nanos())).unwrap_or(0)))
}

/// When a pod that turned ready at `changed` has been so for long enough; nanoseconds since the epoch.
fn ready_until(changed: Timestamp, min_ready_seconds: i32) -> i64 {
    changed.as_nanos().saturating_add(i64::from(min_ready_seconds) * 1_000_000_000)
}
