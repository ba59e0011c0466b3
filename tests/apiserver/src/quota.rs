//! Resource quotas that count objects (apiserver `plugin/resourcequota`).
//!
//! As the real API server does without its controller: a quota acts once its status has `hard`;
//! `used` only rises here.

use serde_json::Value;

use crate::context::Context;
use crate::error::ApiError;
use crate::json;
use crate::kind::{PODS, QUOTAS};
use crate::managed::{self, Writer};
use crate::quantity::Quantity;
use crate::server::ApiServer;
use crate::store::Obj;
use crate::time::rfc3339;

/// The names under which a new object counts.
fn counted_as(cx: &Context<'_>) -> Vec<String> {
    let kind = cx.kind();
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
        let limited: Vec<String> = counted_as(cx).into_iter().filter(|n| status("hard", n).is_some()).collect();
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
    let time = rfc3339(cx.now.wall);
    let quotas = server.kinds.stored(QUOTAS);
    for (before, mut state) in charges {
        if server.config.managed_fields {
            let writer = Writer {
                manager: "kube-apiserver",
                apply: false,
                api_version: "v1",
                subresource: "status",
                time: Some(&time),
            };
            managed::record_update(&quotas, Some(&before), &mut state, &writer);
        }
        let sealed = server.seal(&quotas, state);
        server.store.put(QUOTAS, sealed);
        server.wake_table(QUOTAS);
    }
    Ok(())
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
