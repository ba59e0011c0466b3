//! The flags of a controller, named as kube-controller-manager names them.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{ArgAction, Args as Arguments};
use sanskube::election::{self, Timing};
use sanskube::limits::Limits;
use sanskube::manager::{ClientLimits, Config};
use sanskube::object::selector::Selector;

use super::controller::WORKERS;
use super::process;

/// How the controllers work.
#[derive(Clone, Debug, Arguments)]
#[command(next_help_heading = "Controllers")]
pub(super) struct ControllerOptions {
    /// How many ReplicationControllers are synced at a time.
    #[arg(long, env = "SANSKUBE_CONCURRENT_RC_SYNCS", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    concurrent_rc_syncs: u16,
    /// How many ReplicaSets are synced at a time.
    #[arg(long, env = "SANSKUBE_CONCURRENT_REPLICASET_SYNCS", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    concurrent_replicaset_syncs: u16,
    /// Say what would be written, and write nothing.
    #[arg(long, env = "SANSKUBE_DRY_RUN")]
    pub(super) dry_run: bool,
    /// How often every set is looked at again though nothing has changed; up to twice that, by chance. 0 for never.
    #[arg(long, env = "SANSKUBE_MIN_RESYNC_PERIOD", value_name = "DURATION", default_value = "12h", value_parser = duration)]
    min_resync_period: Duration,
    /// Look only after sets with such labels, such as app=web,tier!=test.
    #[arg(long, env = "SANSKUBE_SELECTOR", value_name = "SELECTOR", value_parser = selector)]
    selector: Option<String>,
}

/// How the API server is talked to.
#[derive(Clone, Debug, Arguments)]
#[command(next_help_heading = "Requests")]
pub(super) struct ClientOptions {
    /// Requests at once, above --kube-api-qps.
    #[arg(long, env = "SANSKUBE_KUBE_API_BURST", value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    kube_api_burst: u32,
    /// Requests a second, watches and leader election not counted. 0 or less for no limit.
    #[arg(
        long,
        env = "SANSKUBE_KUBE_API_QPS",
        value_name = "N",
        default_value_t = 20.0,
        allow_negative_numbers = true
    )]
    kube_api_qps: f64,
    /// How long a watch is asked to last at least; up to twice that, by chance. One that is silent past its end is dropped.
    #[arg(long, env = "SANSKUBE_MIN_WATCH_TIMEOUT", value_name = "DURATION", default_value = "5m", value_parser = at_least_a_second)]
    min_watch_timeout: Duration,
    /// How long a request may take, watches not counted; a list twice as long.
    #[arg(long, env = "SANSKUBE_REQUEST_TIMEOUT", value_name = "DURATION", default_value = "30s", value_parser = at_least_a_second)]
    request_timeout: Duration,
}

/// Which of several processes leads.
#[derive(Clone, Debug, Arguments)]
#[command(next_help_heading = "Leader election")]
pub(super) struct ElectionOptions {
    /// Work only while holding a lease, so that several processes can stand by for each other.
    #[arg(long, env = "SANSKUBE_LEADER_ELECT", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false,
        default_missing_value = "true", action = ArgAction::Set)]
    leader_elect: bool,
    /// How long after the lease was last seen renewed others may take it. Whole seconds.
    #[arg(long, env = "SANSKUBE_LEADER_ELECT_LEASE_DURATION", value_name = "DURATION", default_value = "15s", value_parser = duration)]
    leader_elect_lease_duration: Duration,
    /// How long the leader tries to renew the lease before it gives up and exits.
    #[arg(long, env = "SANSKUBE_LEADER_ELECT_RENEW_DEADLINE", value_name = "DURATION", default_value = "10s", value_parser = duration)]
    leader_elect_renew_deadline: Duration,
    /// How often the lease is tried for, or renewed.
    #[arg(long, env = "SANSKUBE_LEADER_ELECT_RETRY_PERIOD", value_name = "DURATION", default_value = "2s", value_parser = duration)]
    leader_elect_retry_period: Duration,
    /// The name of the lease.
    #[arg(long, env = "SANSKUBE_LEADER_ELECT_RESOURCE_NAME", value_name = "NAME", default_value = "sanskube")]
    leader_elect_resource_name: String,
    /// The namespace of the lease.
    #[arg(long, env = "SANSKUBE_LEADER_ELECT_RESOURCE_NAMESPACE", value_name = "NAME", default_value = "kube-system")]
    leader_elect_resource_namespace: String,
}

/// How one can look in.
#[derive(Clone, Debug, Arguments)]
#[command(next_help_heading = "Health and metrics")]
pub(super) struct StatusOptions {
    /// Serve /healthz, /readyz and /metrics there, without encryption, such as on 127.0.0.1:10252. Default: nowhere.
    #[arg(long, env = "SANSKUBE_METRICS_BIND_ADDRESS", value_name = "ADDRESS:PORT")]
    pub(super) metrics_bind_address: Option<SocketAddr>,
}

impl ControllerOptions {
    /// Sets what these flags are about. `chance` is from zero to one.
    pub(super) fn apply(&self, config: &mut Config, chance: f64) {
        config.limits = Limits {
            concurrent_rc_syncs: self.concurrent_rc_syncs.into(),
            concurrent_syncs: self.concurrent_replicaset_syncs.into(),
            // Every call has a thread at once: none waits where it could still be sent when it is too late.
            calls_in_flight: WORKERS,
            ..config.limits
        };
        config.dry_run = self.dry_run;
        config.label_selector = self.selector.clone().unwrap_or_default();
        // As kube-controller-manager (`ResyncPeriod`), so that several do not resync together.
        config.resync_period =
            self.min_resync_period.saturating_mul(2).min(self.min_resync_period.mul_f64(1.0 + chance));
    }
}

impl ClientOptions {
    /// Sets how long answers are waited for.
    pub(super) fn apply(&self, limits: &mut Limits) {
        limits.call_timeout = self.request_timeout;
        limits.list_timeout = self.request_timeout.saturating_mul(2);
        limits.watch_timeout = self.min_watch_timeout;
        limits.watch_grace = limits.watch_grace.min(self.min_watch_timeout);
    }

    /// The limits; none if there are to be none.
    pub(super) fn limits(&self) -> Option<ClientLimits> {
        (self.kube_api_qps > 0.0).then_some(ClientLimits { qps: self.kube_api_qps, burst: self.kube_api_burst })
    }
}

impl ElectionOptions {
    /// The election to stand in; none if there is to be none.
    ///
    /// # Errors
    /// The times do not allow a safe election.
    pub(super) fn election(&self, seed: u64) -> Result<Option<election::Config>, String> {
        if !self.leader_elect {
            return Ok(None);
        }
        let (lease, renew, retry) =
            (self.leader_elect_lease_duration, self.leader_elect_renew_deadline, self.leader_elect_retry_period);
        let timing = Timing::new(lease, renew, retry).map_err(|e| format!("--leader-elect…: {e}"))?;
        let (namespace, name) = (&self.leader_elect_resource_namespace, &self.leader_elect_resource_name);
        // As client-go's users do it: no two processes may be called the same.
        let identity = format!("{}_{seed:016x}", process::host_name());
        Ok(Some(election::Config { seed, timing, ..election::Config::new(namespace.clone(), name.clone(), identity) }))
    }
}

/// A time as Go writes it: `15s`, `1m30s`, `500ms`, `0`.
fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 5] = [("ms", 1e-3), ("us", 1e-6), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
    let error = || format!("{text:?} is not a duration: use one like 15s, 1m30s or 500ms");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(error)?;
        let number: f64 = rest[..end].parse().map_err(|_| error())?;
        let (unit, size) = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit)).ok_or_else(error)?;
        seconds += number * size;
        rest = &rest[end + unit.len()..];
    }
    if text.is_empty() {
        return Err(error());
    }
    // In whole microseconds, so that thousandths are what they seem.
    Duration::try_from_secs_f64((seconds * 1e6).round() / 1e6).map_err(|_| error())
}

fn at_least_a_second(text: &str) -> Result<Duration, String> {
    duration(text)
        .and_then(|time| if time < Duration::from_secs(1) { Err("must be at least 1s".into()) } else { Ok(time) })
}

fn selector(text: &str) -> Result<String, String> {
    Selector::parse(text).map_err(|e| e.to_string())?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, millis) in
            [("15s", 15_000), ("1m30s", 90_000), ("500ms", 500), ("0", 0), ("12h0m0s", 43_200_000), ("1.5s", 1500)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "15", "s", "1x", "-1s", "1e9s", "1..2s", "99999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
