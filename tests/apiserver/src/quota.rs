//! Resource quotas that count objects: the admission plugin (apiserver `plugin/resourcequota`) and the controller
//! (`pkg/controller/resourcequota`).
//!
//! A quota acts once its status has `hard`, which the controller copies from its spec. The plugin raises `used`, and the controller counts anew when
//! the quota is written or something goes that may have counted.

use std::sync::Arc;

use serde_json::Value;

use crate::context::Context;
use crate::error::ApiError;
use crate::json;
use crate::kind::{Kind, PODS, QUOTAS};
use crate::managed::{self, Writer};
use crate::quantity::Quantity;
use crate::server::ApiServer;
use crate::store::{Key, Obj, Object};
use crate::time::{Now, rfc3339};

/// The names under which an object of a kind counts.
fn counted_as(kind: &Kind) -> Vec<String> {
    let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
    let mut names = vec![format!("count/{}{group}", kind.resource)];
    if ["pods", "replicationcontrollers", "resourcequotas", "configmaps"].contains(&kind.resource.as_str()) {
        names.push(kind.resource.clone());
    }
    names
}

/// Charges the creation of an object to the quotas of its namespace, or refuses it.
pub(crate) fn admit(server: &mut ApiServer, cx: &Context<'_>, value: &Obj) -> Result<(), ApiError> {
    let kind = cx.kind();
    if !kind.namespaced || kind.table == QUOTAS {
        return Ok(());
    }
    let quotas = server.store.table(QUOTAS).snapshot(&cx.place.namespace, None, None).unwrap_or_default();
    if quotas.is_empty() {
        return Ok(());
    }
    let name = json::meta_text(value, "name");
    let refuse = |why: &str| Err(ApiError::forbidden(kind.subject(), name, why));
    let one = Quantity::from_count(1);
    let mut charges = Vec::new();
    for quota in quotas {
        let mut state = Obj::clone(&quota.value());
        let status = |key: &str, name: &str| json::at(&state, &["status", key, name]).and_then(Value::as_str);
        let limited: Vec<String> = counted_as(kind).into_iter().filter(|n| status("hard", n).is_some()).collect();
        if limited.is_empty() {
            if let Some(resource) = unsupported(&state, kind.table) {
                return refuse(&format!(
                    "quota {} limits {resource}, which this API server does not count",
                    quota.key.name
                ));
            }
            continue;
        }
        let unknown: Vec<&str> = limited.iter().filter(|n| status("used", n).is_none()).map(String::as_str).collect();
        if !unknown.is_empty() {
            let resources = unknown.join(",");
            return refuse(&format!("status unknown for quota: {}, resources: {resources}", quota.key.name));
        }
        let mut exceeded = (Vec::new(), Vec::new(), Vec::new());
        let mut raised = Vec::new();
        for n in &limited {
            let quantity = |key| status(key, n).and_then(Quantity::parse).unwrap_or_else(|| Quantity::from_count(0));
            let (hard, used) = (quantity("hard"), quantity("used"));
            let sum = used.plus(one);
            if sum.exceeds(hard) {
                exceeded.0.push(format!("{n}=1"));
                exceeded.1.push(format!("{n}={}", used.text()));
                exceeded.2.push(format!("{n}={}", hard.text()));
            }
            raised.push((n.clone(), sum.text()));
        }
        if !exceeded.0.is_empty() {
            return refuse(&format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                quota.key.name,
                exceeded.0.join(","),
                exceeded.1.join(","),
                exceeded.2.join(",")
            ));
        }
        for (n, sum) in raised {
            json::map_mut(&mut state, &["status", "used"]).insert(n, sum.into());
        }
        charges.push((quota.value(), state));
    }
    if cx.dry_run() {
        return Ok(());
    }
    for (before, state) in charges {
        write_status(server, cx.now, &before, state, "kube-apiserver");
    }
    Ok(())
}

/// The quotas that have to be counted anew after an object was written or, if it is `gone`, removed. The real controller looks at
/// the same occasions (`replenishUponUpdate`, `replenishUponDelete`), and at all quotas every five minutes.
pub(crate) fn concerned(server: &ApiServer, table: usize, object: &Arc<Object>, gone: bool) -> Vec<Arc<Object>> {
    match table {
        QUOTAS if gone => Vec::new(),
        QUOTAS => vec![object.clone()],
        PODS if !gone && !has_ended(server, object) => Vec::new(),
        _ if gone || table == PODS => {
            server.store.table(QUOTAS).snapshot(&object.key.namespace, None, None).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Gives a quota the limits of its spec, and counts what is used of them (`syncResourceQuota`). What this server does not count has
/// a limit and no use.
pub(crate) fn count(server: &mut ApiServer, now: Now, key: &Key) {
    let Some(quota) = server.store.get(QUOTAS, key).cloned() else {
        return;
    };
    let before = quota.value();
    let hard = json::map(&before, &["spec", "hard"]).cloned().unwrap_or_default();
    let mut used = json::map(&before, &["status", "used"]).cloned().unwrap_or_default();
    for kind in server.kinds.all_stored().iter().filter(|kind| kind.namespaced) {
        for name in counted_as(kind).into_iter().filter(|name| hard.contains_key(name)) {
            let mut objects = server.store.table(kind.table).snapshot(&key.namespace, None, None).unwrap_or_default();
            // As `pods` counts what may use a node, and `count/pods` what takes room in the storage.
            objects.retain(|object| name != "pods" || !has_ended(server, object));
            used.insert(name, objects.len().to_string().into());
        }
    }
    used.retain(|name, _| hard.contains_key(name));
    let mut state = Obj::clone(&before);
    let status = json::map_mut(&mut state, &["status"]);
    status.insert("hard".into(), hard.into());
    status.insert("used".into(), used.into());
    if state != *before {
        server.stats.writes += 1;
        write_status(server, now, &before, state, "kube-controller-manager");
    }
}

fn write_status(server: &mut ApiServer, now: Now, before: &Obj, mut state: Obj, manager: &str) {
    let quotas = server.kinds.stored(QUOTAS);
    if server.config.managed_fields {
        let time = rfc3339(now.wall);
        let writer = Writer { manager, apply: false, api_version: "v1", subresource: "status", time: Some(&time) };
        managed::record_update(&quotas, Some(before), &mut state, &writer);
    }
    let sealed = server.seal(&quotas, state);
    server.store.put(QUOTAS, sealed);
    server.wake_table(QUOTAS);
}

/// Whether a pod will never run again.
fn has_ended(server: &ApiServer, pod: &Object) -> bool {
    let phase = server.kinds.stored(PODS).fields.iter().position(|(name, _)| name == "status.phase");
    phase.and_then(|at| pod.fields.get(at)).is_some_and(|phase| matches!(&**phase, "Failed" | "Succeeded"))
}

/// A limit on compute resources of pods, which needs more than counting.
fn unsupported(quota: &Obj, table: usize) -> Option<String> {
    if table != PODS {
        return None;
    }
    let hard = json::map(quota, &["status", "hard"])?;
    hard.keys().find(|k| !k.starts_with("count/") && is_compute(k)).cloned()
}

fn is_compute(name: &str) -> bool {
    let base = name.trim_start_matches("requests.").trim_start_matches("limits.");
    ["cpu", "memory", "ephemeral-storage"].contains(&base)
}
