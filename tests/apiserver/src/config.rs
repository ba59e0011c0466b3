//! Settings of the state machine.

use std::time::Duration;

/// A bearer token and whom it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The token, without `Bearer`.
    pub token: String,
    /// The name of the user.
    pub user: String,
    /// Whether the user may do everything (or else nothing).
    pub admin: bool,
}

/// Settings of an [`crate::ApiServer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Seed of uids and of the suffixes of generated names. Same seed, same names.
    pub seed: u64,
    /// Whether uids and the suffixes of generated names count up instead, so that their order is that in which objects are made.
    pub names_in_order: bool,
    /// The resource version to begin with; each write has the next one. All older ones are forgotten. A server that takes the place of
    /// another one, and has none of its objects, begins later than that one has come to, so that its clients notice.
    pub first_version: u64,
    /// How many changes of each kind are remembered, for watches that resume and for pages of a
    /// list. An older version is answered with 410.
    pub history: usize,
    /// Whether `metadata.managedFields` are kept. Without them writes are cheaper; server-side apply needs them.
    pub managed_fields: bool,
    /// Whether the garbage collector acts.
    pub garbage_collector: bool,
    /// Whether the namespace controller acts: without it a namespace that is deleted stays, terminating.
    pub namespace_controller: bool,
    /// Whether the quota controller acts: without it a quota is not enforced before somebody writes its status.
    pub quota_controller: bool,
    /// How long these three take to look at an object after a write. Zero by default; the real ones need some
    /// milliseconds, in which others may act too.
    pub controllers_delay: Duration,
    /// Known tokens. If there are none, everybody is an administrator.
    pub tokens: Vec<Token>,
    /// Whether a request without a token is served as `system:anonymous` (who may nearly nothing) instead of refused.
    pub anonymous: bool,
    /// How long a watch lasts that does not say. The real server picks half an hour to an hour.
    pub watch_timeout: Duration,
    /// How long a request for a version from the future waits for it.
    pub future_version_wait: Duration,
    /// How long after a compaction the list cache still serves older versions.
    pub compaction_delay: Duration,
    /// How many watches may be open at once; more are answered with 429.
    pub max_watches: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            names_in_order: false,
            first_version: 1000,
            history: 10_000,
            managed_fields: true,
            garbage_collector: true,
            namespace_controller: true,
            quota_controller: true,
            controllers_delay: Duration::ZERO,
            tokens: Vec::new(),
            anonymous: true,
            watch_timeout: Duration::from_secs(30 * 60),
            future_version_wait: Duration::from_secs(3),
            compaction_delay: Duration::from_secs(15),
            max_watches: 100_000,
        }
    }
}
