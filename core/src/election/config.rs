//! What a candidate is told.

use alloc::string::String;
use core::fmt;
use core::time::Duration;

/// How much longer than the retry period a candidate may wait, in retry periods (client-go, `JitterFactor`).
pub(super) const JITTER: f64 = 1.2;

/// Which lease is stood for, as whom, and at what pace.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The namespace of the lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who stands. No two processes may have the same: one would take the other's lease for its own.
    pub identity: String,
    /// Whether a leader that stops gives the lease back, so that the next one need not wait until it ends. Default yes.
    pub release: bool,
    /// The seed of the jitter.
    pub seed: u64,
    /// The pace.
    pub timing: Timing,
}

/// The pace of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

impl Config {
    /// A candidate for this lease at the default pace.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            release: true,
            seed: 0,
            timing: Timing::default(),
        }
    }
}

impl Timing {
    /// A lease that others may take `lease_duration` after it was last seen renewed; whose holder stops leading when it could not renew it
    /// for `renew_deadline`; and that is tried for, and renewed, every `retry_period`.
    ///
    /// # Errors
    /// The periods do not allow a safe election. As client-go (`NewLeaderElector`), but the lease must also be whole seconds, as an object says it.
    pub fn new(
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, InvalidTiming> {
        let problem = if lease_duration.subsec_nanos() != 0 || lease_duration.as_secs() > i32::MAX as u64 {
            "the lease duration must be whole seconds"
        } else if lease_duration <= renew_deadline {
            "the lease duration must be greater than the renew deadline"
        } else if renew_deadline <= retry_period || renew_deadline <= retry_period.mul_f64(JITTER) {
            "the renew deadline must be greater than 1.2 times the retry period"
        } else if retry_period.is_zero() {
            "the retry period must be greater than zero"
        } else {
            return Ok(Self { lease_duration, renew_deadline, retry_period });
        };
        Err(InvalidTiming(problem))
    }

    /// How long after it was last seen renewed a lease may be taken. Default 15 s.
    pub fn lease_duration(&self) -> Duration {
        self.lease_duration
    }

    /// How long a leader may lead after it has sent the last renewal that succeeded. Default 10 s.
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    /// How often the lease is tried for, or renewed. Default 2 s.
    pub fn retry_period(&self) -> Duration {
        self.retry_period
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Periods that do not allow a safe election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTiming(&'static str);

impl fmt::Display for InvalidTiming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for InvalidTiming {}
