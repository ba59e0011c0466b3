//! What a manager counts, as families.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::{Manager, Worker};
use crate::election::Standing;
use crate::machine::Fed;
use crate::metrics::{Family, Kind, Labels, Value};
use crate::object::Decode;
use crate::recorder::Recorder;
use crate::time::Now;

impl Manager {
    /// The recorder of events, to be looked at: how many wait, and how many were dropped.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What was counted so far. Work is in proportion to the syncs under way and to the number of families, some twenty.
    pub fn metrics(&self, now: Now) -> Vec<Family> {
        let mut families = Vec::new();
        for (name, kind, help, value) in QUEUES {
            let samples = self.workers.iter().map(|worker| (queue_name(worker), value(worker, now)));
            families.push(family(name, kind, help, samples));
        }
        type Count = fn(&Manager) -> Vec<(Labels, Value)>;
        let feeds: [(&'static str, Kind, &'static str, Count); 4] = [
            ("reflector_lists_total", Kind::Counter, "Lists asked for, page by page.", |m| m.of_feeds(|f| f.lists)),
            ("reflector_watches_total", Kind::Counter, "Watches asked for, streaming lists among them.", |m| {
                m.of_feeds(|f| f.watches)
            }),
            ("reflector_items", Kind::Gauge, "Objects in the cache.", |m| m.of_feeds(|f| f.items)),
            ("reflector_bytes", Kind::Gauge, "Memory of the cache, without what objects share.", |m| {
                m.of_feeds(|f| f.bytes)
            }),
        ];
        for (name, kind, help, samples) in feeds {
            families.push(family(name, kind, help, samples(self).into_iter()));
        }
        families.extend(self.traffic.metrics());
        families.push(
            Family::new("event_recorder_dropped_total", Kind::Counter, "Events that were not written.")
                .with(Vec::new(), Value::Count(self.recorder.dropped())),
        );
        if let (Some(standing), Some(lease)) = (self.standing(now), self.leadership.lease()) {
            let leads = u64::from(matches!(standing, Standing::Leading { .. }));
            families.push(
                Family::new("leader_election_master_status", Kind::Gauge, "1 while this process leads, or else 0.")
                    .with(alloc::vec![("name", lease.to_string().into())], Value::Count(leads)),
            );
        }
        families
    }

    /// A number of each informer.
    fn of_feeds(&self, number: fn(Feeding) -> u64) -> Vec<(Labels, Value)> {
        fn numbers<T: Decode>(fed: &Fed<T>) -> (Labels, Feeding) {
            let (resource, store) = (fed.informer.resource().group_resource().into_owned(), fed.informer.store());
            let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
            let (items, bytes) = (count(store.len()), count(store.bytes()));
            let feeding = Feeding { lists: fed.lists, watches: fed.watches, items, bytes };
            (alloc::vec![("resource", resource.into())], feeding)
        }
        let sets = self.workers.iter().map(|worker| numbers(&worker.sets));
        let all = core::iter::once(numbers(&self.pods)).chain(sets);
        all.map(|(labels, numbers)| (labels, Value::Count(number(numbers)))).collect()
    }
}

/// What is counted of an informer.
struct Feeding {
    /// Pages of lists asked for.
    lists: u64,
    watches: u64,
    /// Objects in the cache.
    items: u64,
    bytes: u64,
}

type OfQueue = fn(&Worker, Now) -> Value;

/// What client-go measures of a work queue (`util/workqueue/metrics.go`).
const QUEUES: [(&str, Kind, &str, OfQueue); 7] = [
    ("workqueue_adds_total", Kind::Counter, "Keys added that were not queued already.", |worker, _| {
        Value::Count(worker.queue.adds())
    }),
    ("workqueue_depth", Kind::Gauge, "Keys that wait for a worker.", |worker, _| {
        Value::Count(u64::try_from(worker.queue.len()).unwrap_or(u64::MAX))
    }),
    ("workqueue_queue_duration_seconds", Kind::Histogram, "How long keys waited for a worker.", |worker, _| {
        Value::Histogram(worker.queue.queue_duration().clone())
    }),
    ("workqueue_work_duration_seconds", Kind::Histogram, "How long syncs took.", |worker, _| {
        Value::Histogram(worker.work_duration.clone())
    }),
    ("workqueue_retries_total", Kind::Counter, "Keys added again because their sync failed.", |worker, _| {
        Value::Count(worker.queue.retried())
    }),
    ("workqueue_unfinished_work_seconds", Kind::Gauge, "How long all syncs under way have taken.", |worker, now| {
        Value::Number(worker.ages(now).sum())
    }),
    (
        "workqueue_longest_running_processor_seconds",
        Kind::Gauge,
        "How long the oldest sync under way has taken.",
        |worker, now| Value::Number(worker.ages(now).fold(0.0, f64::max)),
    ),
];

/// The name of the queue, as kube-controller-manager has it (`replicaset`, `replicationmanager`).
fn queue_name(worker: &Worker) -> Labels {
    use crate::object::ReplicaSetKind::{ReplicaSet, ReplicationController};
    let name = match worker.kind() {
        ReplicaSet => "replicaset",
        ReplicationController => "replicationmanager",
    };
    alloc::vec![("name", name.into())]
}

fn family(
    name: &'static str,
    kind: Kind,
    help: &'static str,
    samples: impl Iterator<Item = (Labels, Value)>,
) -> Family {
    samples.fold(Family::new(name, kind, help), |family, (labels, value)| family.with(labels, value))
}
