//! Profiles: which faults come together.

use std::fmt;
use std::str::FromStr;

/// A mix of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Everything.
    #[default]
    All,
    /// Nothing goes wrong but what users do.
    Calm,
    /// Controllers crash, stop, sleep.
    Crash,
    /// Several controllers with an election, and all that puts it to the test.
    Leader,
    /// Connections break, fall silent, are slow.
    Network,
    /// The server refuses, forgets, goes away.
    Server,
    /// Replicas lag, and clients travel in time.
    Stale,
}

impl Profile {
    /// All profiles and their names.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::All, "all"),
        (Self::Calm, "calm"),
        (Self::Crash, "crash"),
        (Self::Leader, "leader"),
        (Self::Network, "network"),
        (Self::Server, "server"),
        (Self::Stale, "stale"),
    ];
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(profile, _)| profile == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text).map(|(profile, _)| *profile);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("{text:?} is no profile; there are {}", names.join(", "))
        })
    }
}
