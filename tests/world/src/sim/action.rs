//! What users do and what goes wrong, as data.
//!
//! An action names its object by a number, which stands for one of those that there are when its time comes. So a plan means something whatever is
//! left out of it.

use std::time::Duration;

/// One deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A user's.
    User(User),
    /// A fault.
    Fault(Fault),
}

/// What a user does. Sets are numbered; pods are those that there are, in the order of their keys.
#[expect(missing_docs, reason = "the variants say what their fields are")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Says how dear a pod is (`pod-deletion-cost`).
    Cost { pod: u8, cost: i8 },
    /// Makes a set.
    Create { set: u8, replicas: u8, min_ready: u8 },
    /// Deletes a set.
    Delete { set: u8, policy: Policy },
    /// Deletes a pod, at once or as it should be.
    DeletePod { pod: u8, at_once: bool },
    /// Takes the owner from a pod.
    Disown { pod: u8 },
    /// Deletes the second namespace, and makes it anew later.
    EndNamespace { after: Duration },
    /// A pod fails.
    FailPod { pod: u8 },
    /// Lets a pod wait for a finalizer, or no more.
    Finalize { pod: u8, on: bool },
    /// Makes a pod that a set selects.
    MakePod { set: u8 },
    /// Allows so many pods in the first namespace, for a while.
    Quota { pods: u8, lasts: Duration },
    /// Deletes a set and makes another of its name at once.
    Recreate { set: u8, replicas: u8 },
    /// Gives a pod labels that no set selects, or those of a set.
    Relabel { pod: u8, set: Option<u8> },
    /// Deletes a pod at once and makes another of its name and its labels, which is nobody's.
    ReplacePod { pod: u8 },
    /// Scales a set.
    Scale { set: u8, replicas: u8 },
    /// Changes the spec of a set without effect on its pods.
    Touch { set: u8 },
}

/// What becomes of the pods of a set that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// They are collected after it.
    Background,
    /// They are collected before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// What goes wrong. Controllers are those that run, in the order of their start; connections are those of a controller.
#[expect(missing_docs, reason = "the variants say what their fields are")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Generated names collide for a while.
    Collide { lasts: Duration },
    /// The history is compacted.
    Compact,
    /// The controller is gone after so many more calls, and started anew after a while. What it has sent may be lost with it. The new one may meet
    /// a replica that is so many versions behind, for as long as nobody was there.
    Crash { who: u8, calls: u8, lose: bool, down: Duration, behind: u8 },
    /// A connection breaks.
    Cut { who: u8, line: u8, within_frame: bool },
    /// A controller is cut off from the server for a while, and nobody is told.
    CutOff { who: u8, lasts: Duration },
    /// The history of pods or of sets expires.
    Expire { pods: bool },
    /// No watch of pods is told of anything for a while.
    Freeze { lasts: Duration },
    /// All connections break and the history expires, so that what happened meanwhile is never told.
    Gap { who: u8, lasts: Duration },
    /// The kubelet does nothing for a while.
    KubeletPause { lasts: Duration },
    /// A controller is served by a replica that stands still for a while.
    Lag { who: u8, lasts: Duration },
    /// Requests are refused.
    Refuse { what: Requests, how: Refusal, after_effect: bool, skip: u8, times: u8 },
    /// The server goes away for a while.
    ServerDown { lasts: Duration },
    /// Nothing more arrives on a connection, and nobody is told.
    Silence { who: u8, line: u8 },
    /// The wall clock of a controller is wrong for a while.
    Skew { who: u8, seconds: i16, lasts: Duration },
    /// A handler takes nothing for a while.
    SlowHandler { lasts: Duration },
    /// The network is slow for a while.
    SlowNetwork { longest: Duration, lasts: Duration },
    /// A controller is asked to stop, and started anew after a while, as after a crash.
    Stop { who: u8, down: Duration, behind: u8 },
    /// A controller sleeps for a while.
    Suspend { who: u8, lasts: Duration },
    /// The connections of a controller break, and it meets a replica that is so many versions behind for a while.
    TimeTravel { who: u8, versions: u8, lasts: Duration },
}

/// Which requests of controllers are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// Creations of pods.
    Creations,
    /// Deletions of pods.
    Deletions,
    /// What is asked of the lease.
    Leases,
    /// Lists and watches.
    Lists,
    /// Patches of pods.
    Patches,
    /// Updates of the status.
    Statuses,
}

/// How they are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The connection closes.
    Hangup,
    /// An error of this status.
    Status(u16),
}

impl Refusal {
    /// A name for its kind.
    pub(super) fn kind(self, after_effect: bool) -> &'static str {
        match (self, after_effect) {
            (Self::Hangup, false) => "hang-up before",
            (Self::Hangup, true) => "hang-up after effect",
            (Self::Status(409), _) => "409",
            (Self::Status(429), _) => "429",
            (Self::Status(500), false) => "500",
            (Self::Status(500), true) => "500 after effect",
            (Self::Status(_), false) => "504",
            (Self::Status(_), true) => "504 after effect",
        }
    }
}

/// A name for the kind of a crash.
pub(super) fn crash_kind(lose: bool) -> &'static str {
    if lose { "crash, requests are lost" } else { "crash, requests arrive" }
}

impl Fault {
    /// A name for its kind, as the table of what was covered has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Collide { .. } => "names collide",
            Self::Compact => "compaction",
            Self::Crash { lose, .. } => crash_kind(*lose),
            Self::Cut { within_frame: false, .. } => "cut",
            Self::Cut { .. } => "cut within a frame",
            Self::CutOff { .. } => "cut off",
            Self::Expire { .. } => "expired history",
            Self::Freeze { .. } => "frozen watch",
            Self::Gap { .. } => "missed events",
            Self::KubeletPause { .. } => "kubelet pauses",
            Self::Lag { .. } => "stale replica",
            Self::Refuse { how, after_effect, .. } => how.kind(*after_effect),
            Self::ServerDown { .. } => "server down",
            Self::Silence { .. } => "half-open",
            Self::Skew { .. } => "clock skew",
            Self::SlowHandler { .. } => "slow handler",
            Self::SlowNetwork { .. } => "slow network",
            Self::Stop { .. } => "stop",
            Self::Suspend { .. } => "suspended",
            Self::TimeTravel { .. } => "time travel",
        }
    }
}
