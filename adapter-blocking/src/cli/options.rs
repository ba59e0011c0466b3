//! The flags of a controller, named as kube-controller-manager names them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args as Arguments, ValueEnum};
use sanskube::election::{self, Timing};
use sanskube::limits::Limits;
use sanskube::manager::{ClientLimits, Config};
use sanskube::object::selector::Selector;
use sanskube::request::Encoding;

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
    /// What pods are read in: protobuf is smaller and quicker to read. A server that cannot write it is read in JSON. All else is JSON.
    #[arg(long, env = "SANSKUBE_CONTENT_TYPE", value_name = "TYPE", default_value = "json")]
    content_type: ContentType,
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

/// What objects are read in.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ContentType {
    Json,
    Protobuf,
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

/// What is kept of what happens.
#[derive(Clone, Debug, Arguments)]
#[command(next_help_heading = "Flight recorder")]
pub(super) struct RecordOptions {
    /// Write down all that the controllers are told, for `sanskube replay`. What was there is kept as FILE.1. Holds whole pods: guard it like them.
    #[arg(long, env = "SANSKUBE_RECORD", value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// How large the recording may become, such as 64Mi or 4Gi. At this size it ends, and the controllers go on without.
    #[arg(long, env = "SANSKUBE_RECORD_LIMIT", value_name = "SIZE", default_value = "1Gi", value_parser = size)]
    pub(super) record_limit: u64,
    /// Stop in order when the recording is full, so that whoever starts this again, as a Deployment does, begins a new one.
    #[arg(long, env = "SANSKUBE_RECORD_EXIT_WHEN_FULL", requires = "record")]
    pub(super) record_exit_when_full: bool,
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

    /// What pods are asked for in.
    pub(super) fn encoding(&self) -> Encoding {
        match self.content_type {
            ContentType::Json => Encoding::Json,
            ContentType::Protobuf => Encoding::Protobuf,
        }
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

/// A number of bytes as Kubernetes writes it: `65536`, `64Ki`, `10Mi`, `1Gi`, `5M`. At least 64 Ki.
fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 6] =
        [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let unit = UNITS.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (number, unit) = unit.unwrap_or((text, 1));
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match bytes {
        None => Err(format!("{text:?} is not a size: use one like 64Mi or 4Gi")),
        Some(bytes) if bytes < 64 << 10 => Err("must be at least 64Ki".into()),
        Some(bytes) => Ok(bytes),
    }
}

fn selector(text: &str) -> Result<String, String> {
    Selector::parse(text).map_err(|e| e.to_string())?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_kubernetes_writes_them() {
        for (text, bytes) in
            [("65536", 65_536), ("64Ki", 65_536), ("2Mi", 2 << 20), ("1Gi", 1 << 30), ("5M", 5_000_000)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "Mi", "-1Gi", "1.5Gi", "1TB", "99999999999Gi", "63Ki", "0"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

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
