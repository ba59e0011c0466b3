//! The setting of worlds that are drawn from a seed and of those that are explored: when they begin, and what users write in them.

use sanskube::time::{Instant, Now, Timestamp};
use sanskube_apiserver::{ApiServer, Config};

use crate::network::Network;
use crate::world::World;

/// When a world begins.
pub(crate) const START: Now = Now { instant: Instant::from_millis(1000), wall: Timestamp::from_seconds(1_800_000_000) };
/// The content type of objects.
pub(crate) const JSON: &str = "application/json";
/// The content type of merge patches.
pub(crate) const MERGE: &str = "application/merge-patch+json";

/// A world that begins, of a server alone.
pub(crate) fn new_world<M: sanskube::machine::Machine>(config: Config, network: Network) -> World<M> {
    let now = sanskube_apiserver::Now {
        monotonic: START.instant.since(Instant::ZERO),
        wall: jiff::Timestamp::from_second(START.wall.as_seconds()).expect("a year that exists"),
    };
    World::new(ApiServer::new(config, now), network, START)
}

/// A set, which selects the pods with this label `app`.
pub(crate) fn set(name: &str, app: &str, replicas: u8, min_ready: u8) -> String {
    let labels = format!(r#"{{"app":"{app}"}}"#);
    format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"replicas":{replicas},"minReadySeconds":{min_ready},"selector":{{"matchLabels":{labels}}},"template":{{"metadata":{{"labels":{labels}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}"#
    )
}
