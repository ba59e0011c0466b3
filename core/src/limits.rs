//! Every bound of the core in one value, with its default and what happens where it is hit.

use core::time::Duration;

/// The bounds that keep memory and work finite whatever the peer sends.
///
/// `Limits::default()` suits clusters of any size: the bounds are on single objects, answers and calls, not on
/// how many objects a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one object: a line of a watch, an item of a list. Default 8 MiB (an API server takes 3 MiB).
    /// Hit: the watch or list is given up as malformed and tried again after a back-off.
    pub object_bytes: usize,
    /// Bytes of an answer that is held as a whole (an error's `Status`, an object just written), and of what a list
    /// has beside its items. Default 8 MiB. Hit: the rest is dropped and the answer counts as unreadable.
    pub answer_bytes: usize,
    /// Objects asked for in one page of a list. Default 500, as client-go.
    pub list_page: u32,
    /// Objects of one collection while it is being listed. Default 10 million. Hit: the list is given up as malformed and
    /// tried again after a back-off.
    pub list_objects: usize,
    /// Calls in flight at once, watches not counted. Default 64. Hit: further calls wait inside the core.
    pub calls_in_flight: usize,
    /// ReplicationControllers being reconciled at once. Default 5, as kube-controller-manager's `--concurrent-rc-syncs`.
    /// Hit: further keys wait in the work queue.
    pub concurrent_rc_syncs: usize,
    /// ReplicaSets being reconciled at once. Default 5, as kube-controller-manager's `--concurrent-replicaset-syncs`.
    /// Hit: further keys wait in the work queue.
    pub concurrent_syncs: usize,
    /// Pods created or deleted by one sync of one set. Default 500 (`BurstReplicas` in
    /// `pkg/controller/replicaset/replica_set.go`). Hit: the rest waits for the next sync.
    pub burst_replicas: usize,
    /// Changes that a handler of an informer has not taken, each on its own. Default 1024. Hit: from then on changes of one object
    /// are merged until the handler has caught up, so that what waits is bounded by the number of objects.
    pub handler_backlog: usize,
    /// Events that wait to be written. Default 1000, as client-go (`maxQueuedEvents`). Hit: further events are dropped and counted.
    pub events_waiting: usize,
    /// Objects, and sorts of events of them, that a recorder remembers what it has written about. Default 4096, as client-go
    /// (`maxLruCacheEntries`). Hit: what was not touched for longest is forgotten, so that the next event of it is written as if it were the first.
    pub events_remembered: usize,
    /// Bytes of the message of an event. Default 8 KiB. Hit: the rest is cut off.
    pub event_message_bytes: usize,
    /// How long a short call may take from request to end, and a watch until the head of its answer is there: name resolution, connection and TLS
    /// included. Default 30 s. Hit: the call is cancelled and counts as [`Failure::TimedOut`](crate::request::Failure::TimedOut).
    pub call_timeout: Duration,
    /// How long a page of a list may take. Default 60 s. Hit: as for a short call.
    pub list_timeout: Duration,
    /// How long the server is asked to keep a watch open at least; the request asks for a random time between this
    /// and twice this, as client-go (`minWatchTimeout`). Default 5 min.
    pub watch_timeout: Duration,
    /// How long past its own end a silent watch is waited for before it is dropped and resumed. Default 10 s.
    pub watch_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            object_bytes: 8 << 20,
            answer_bytes: 8 << 20,
            list_page: 500,
            list_objects: 10_000_000,
            calls_in_flight: 64,
            concurrent_rc_syncs: 5,
            concurrent_syncs: 5,
            burst_replicas: 500,
            handler_backlog: 1024,
            events_waiting: 1000,
            events_remembered: 4096,
            event_message_bytes: 8 << 10,
            call_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_secs(60),
            watch_timeout: Duration::from_secs(300),
            watch_grace: Duration::from_secs(10),
        }
    }
}
