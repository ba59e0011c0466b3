//! All as it was before a sync, and as upstream has left it.

use std::collections::BTreeMap;
use std::time::Duration;

use sanskube::key::Key;
use sanskube::object::Object;
use sanskube::replicaset::expectations::Expectation;
use sanskube::replicaset::{ReplicaSetController, ReplicaSetOptions};
use sanskube::request::{JSON, Method, Request, STRATEGIC_MERGE_PATCH};
use sanskube::time::Now;
use serde_json::{Value, json};

use super::super::api::Api;
use super::super::expectations::describe;
use super::super::world::{World, list, text};

/// What was there before a sync of one set.
pub(super) struct Before {
    pub(super) key: Key,
    /// The status of the set in the cache.
    pub(super) status: Value,
    /// How many pods the set wants.
    pub(super) replicas: u64,
    /// What deletions of the pods in the cache are conditional on, by key.
    pub(super) pods: BTreeMap<String, Value>,
    /// The rule by which the set is free to create and delete pods where upstream may not be.
    pub(super) freed_by: Option<&'static str>,
    /// For how long the set is to make no more pods.
    pub(super) pause: Option<Duration>,
    expectation: Option<Expectation>,
    api: Api,
    now: Now,
}

impl Before {
    pub(super) fn of(world: &World, key: &str) -> Self {
        let set = world.sets.get(key);
        let pods = world.pods.iter().map(|pod| {
            let conditions =
                json!({"uid": pod.uid().to_string(), "resourceVersion": pod.resource_version().to_string()});
            (pod.key().to_string(), conditions)
        });
        Self {
            key: Key::explicit(key),
            status: set.map_or(Value::Null, |set| json!(set.status())),
            replicas: set.and_then(|set| u64::try_from(set.replicas()).ok()).unwrap_or(0),
            pods: pods.collect(),
            freed_by: world.freed_by(key),
            pause: set.and_then(|set| world.controller.rejections().pause(&set.meta().uid, world.now.instant)),
            expectation: set.and_then(|set| world.controller.expectations().get(&set.meta().uid)).cloned(),
            api: world.api.clone(),
            now: world.now,
        }
    }

    /// What the set expected.
    pub(super) fn expectations(&self) -> Value {
        self.expectation.as_ref().map_or(Value::Null, describe)
    }

    /// Puts all where upstream is after the sync: the server is sent what upstream has sent, and the records are those that upstream has left.
    pub(super) fn put_in_line(self, world: &mut World, want: &Value) {
        world.api = self.api;
        world.now = self.now;
        send_as_upstream(world, self.key.namespace(), want);
        let (expectations, guard) =
            (core::mem::take(world.controller.expectations_mut()), core::mem::take(world.controller.guard_mut()));
        let options = world.controller.options();
        let options = ReplicaSetOptions { burst: options.burst, ..ReplicaSetOptions::new(options.kind) };
        // What upstream does not have is left behind: which sets are slowed down.
        world.controller = ReplicaSetController::new(options);
        *world.controller.expectations_mut() = expectations;
        *world.controller.guard_mut() = guard;
        world.put_guard(self.key.as_str(), &want["guard"]);
        world.put_expectation(self.key.as_str(), &want["expectations"], self.expectation, self.now);
    }
}

/// Sends the server what upstream has sent.
fn send_as_upstream(world: &mut World, namespace: &str, want: &Value) {
    let request = |method, path: &str, body: &Value| Request {
        method,
        path: path.to_owned(),
        content_type: if method == Method::Patch { STRATEGIC_MERGE_PATCH } else { JSON },
        body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
    };
    let mut updates = list(&want["statusUpdates"]);
    for phase in list(&want["phases"]).map(text) {
        // Each of a batch waits for as long as the slowest.
        let batches: Vec<Vec<Request>> = match phase {
            "create_pod" => {
                let create = request(Method::Post, text(&want["creates"]["path"]), &want["creates"]["body"]);
                let mut left = want["creates"]["count"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
                let mut batches = Vec::new();
                let mut size = 1;
                while left > 0 {
                    batches.push(vec![create.clone(); size.min(left)]);
                    left = left.saturating_sub(size);
                    size *= 2;
                }
                batches
            }
            "delete_pod" => {
                let path = |pod| format!("{}{}", text(&want["deletes"]["pathPrefix"]), text(pod));
                let pods = list(&want["deletes"]["pods"]);
                vec![pods.map(|pod| request(Method::Delete, &path(pod), &want["deletes"]["body"])).collect()]
            }
            "get_rs" => {
                let name = text(&want["statusUpdates"][0]["body"]["metadata"]["name"]);
                let path = format!("/apis/apps/v1/namespaces/{namespace}/replicasets/{name}");
                vec![vec![request(Method::Get, &path, &Value::Null)]]
            }
            "patch_pod" => {
                let body = |patch: &Value| serde_json::from_str(text(&patch["bodyText"])).unwrap_or_default();
                let patch = |patch: &Value| vec![request(Method::Patch, text(&patch["path"]), &body(patch))];
                list(&want["patches"]).map(patch).collect()
            }
            _ => {
                let update = updates.next().map(|update| request(Method::Put, text(&update["path"]), &update["body"]));
                vec![update.into_iter().collect()]
            }
        };
        for batch in batches {
            let delay = batch.iter().map(|request| world.api.handle(request).1).max();
            world.now = world.now.after(delay.unwrap_or(Duration::ZERO));
        }
    }
}
