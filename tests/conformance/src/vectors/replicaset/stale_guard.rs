//! Reading one's own writes.

use std::collections::BTreeMap;

use sanskube::key::Key;
use sanskube::replicaset::guard::{Cache, ConsistencyGuard, Record};
use sanskube::resource_version::ResourceVersion;
use sanskube::uid::Uid;
use serde_json::{Value, json};

use super::super::Check;
use super::ops;

const PODS: &str = "pods";
const SETS: &str = "replicasets.apps";

pub(in super::super) fn replay(case: &Value, check: &mut Check) {
    let mut guard = ConsistencyGuard::new();
    let mut stores: BTreeMap<&str, ResourceVersion> = BTreeMap::new();
    let known =
        |resource: &str| case["input"]["stores"].as_array().is_some_and(|stores| stores.contains(&json!(resource)));
    for (i, op) in ops(case, check).iter().enumerate() {
        let (name, args, want) = (op["op"].as_str().unwrap_or_default(), &op["args"], &op["want"]);
        let text = |field: &str| args[field].as_str().unwrap_or_default();
        let owner = Key::explicit(text("owner"));
        let place = format!("op {i} {name}");
        match name {
            "clear" if text("uid").is_empty() => guard.clear(&owner),
            "clear" => guard.clear_uid(&owner, &Uid::new(text("uid"))),
            "compare" => {
                let order = ResourceVersion::new(text("a")).compare(&ResourceVersion::new(text("b")));
                same_order(check, &place, want, order.ok());
                continue;
            }
            "ensure_ready" => {
                // A cache that nobody registered is at no version.
                let at = |resource: &str| stores.get(resource).filter(|_| known(resource)).cloned().unwrap_or_default();
                let ready = guard.ensure_ready(&owner, &at(PODS), &at(SETS));
                check.same(&format!("{place}: ready"), &want["ready"], &json!(ready.is_ok()));
                if ready.is_ok() {
                    check.same(&format!("{place}: behind"), &want["behindAnyOf"], &Value::Null);
                }
                if let Err(behind) = ready {
                    let resource = resource(behind.cache);
                    let (read, wrote) = (behind.read.to_string(), behind.written.to_string());
                    let fits =
                        |any: &Value| any["resource"] == resource && any["read"] == read && any["wrote"] == wrote;
                    if !want["behindAnyOf"].as_array().is_some_and(|any| any.iter().any(fits)) {
                        check.fail(format!("{place}: {resource} at {read} is not one of {}", want["behindAnyOf"]));
                    }
                }
            }
            "store_at" => {
                let resource = if text("resource") == PODS { PODS } else { SETS };
                stores.insert(resource, ResourceVersion::new(text("resourceVersion")));
            }
            "wrote_at" => {
                let cache = if text("resource") == PODS { Cache::Pods } else { Cache::Sets };
                guard.wrote_at(&owner, &Uid::new(text("uid")), cache, ResourceVersion::new(text("resourceVersion")));
            }
            _ => check.fail(format!("unknown op {name}")),
        }
        if !want.is_null() {
            check.same(&format!("{place}: record"), &want["record"], &guard.get(&owner).map_or(Value::Null, describe));
        }
    }
}

fn same_order(check: &mut Check, place: &str, want: &Value, got: Option<std::cmp::Ordering>) {
    match got {
        Some(order) => check.same(place, &want["cmp"], &json!(order as i8)),
        None if want["error"].is_null() => check.fail(format!("{place}: wanted {want}, got an error")),
        None => {}
    }
}

/// The resource that a cache is of, as the vectors name it.
pub(super) const fn resource(cache: Cache) -> &'static str {
    match cache {
        Cache::Pods => PODS,
        Cache::Sets => SETS,
    }
}

/// A record as the vectors describe it.
pub(super) fn describe(record: &Record) -> Value {
    let versions: BTreeMap<&str, String> = [(PODS, &record.pods), (SETS, &record.sets)]
        .into_iter()
        .filter_map(|(resource, version)| Some((resource, version.as_ref()?.to_string())))
        .collect();
    json!({"uid": record.uid.to_string(), "versions": versions})
}
