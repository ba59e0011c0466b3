//! The cells of a row (`pkg/printers/internalversion/printers.go`).

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::custom;
use crate::json as path;
use crate::kind::{
    CONFIG_MAPS, DEFINITIONS, EVENTS, Kind, LEASES, NAMESPACES, NODES, PODS, QUOTAS, REPLICA_SETS,
    REPLICATION_CONTROLLERS,
};
use crate::selector::label_selector_text;
use crate::store::Obj;

/// The cells of an object.
pub(super) fn cells(kind: &Kind, value: &Obj, now: Timestamp) -> Vec<Value> {
    let name = json!(path::meta_text(value, "name"));
    let age = json!(age(path::meta_text(value, "creationTimestamp"), now));
    if let Some(custom) = &kind.custom {
        return std::iter::once(name).chain(custom.columns.iter().map(|c| custom::cell(c, value, now))).collect();
    }
    match kind.table {
        NAMESPACES => vec![name, json!(path::text(value, &["status", "phase"])), age],
        PODS => pod_cells(name, age, value, now),
        REPLICA_SETS | REPLICATION_CONTROLLERS => {
            let count = |p: &[&str]| json!(path::int(value, p).unwrap_or(0));
            let containers = path::list(value, &["spec", "template", "spec", "containers"]);
            let join = |key: &str| {
                let all: Vec<&str> = containers.iter().filter_map(|c| c.get(key)?.as_str()).collect();
                json!(all.join(","))
            };
            let selector = match path::at(value, &["spec", "selector"]) {
                Some(s) if kind.table == REPLICA_SETS => label_selector_text(s),
                Some(s) => label_selector_text(&json!({ "matchLabels": s })),
                None => "<none>".to_owned(),
            };
            vec![
                name,
                count(&["spec", "replicas"]),
                count(&["status", "replicas"]),
                count(&["status", "readyReplicas"]),
                age,
                join("name"),
                join("image"),
                json!(selector),
            ]
        }
        CONFIG_MAPS => {
            let n = |key: &str| path::map(value, &[key]).map_or(0, Map::len);
            vec![name, json!(n("data") + n("binaryData")), age]
        }
        DEFINITIONS => vec![name, json!(path::meta_text(value, "creationTimestamp"))],
        EVENTS => event_cells(name, value, now),
        LEASES => vec![name, json!(path::text(value, &["spec", "holderIdentity"])), age],
        NODES => node_cells(name, age, value),
        QUOTAS => {
            let (mut requests, mut limits) = (Vec::new(), Vec::new());
            for (k, hard) in path::map(value, &["status", "hard"]).into_iter().flatten() {
                let used = path::text(value, &["status", "used", k]);
                let text = format!("{k}: {used}/{}", hard.as_str().unwrap_or_default());
                if k.starts_with("limits.") {
                    limits.push(text);
                } else {
                    requests.push(text);
                }
            }
            vec![name, json!(requests.join(", ")), json!(limits.join(", ")), age]
        }
        _ => vec![name],
    }
}

/// `printPod`.
fn pod_cells(name: Value, age_cell: Value, pod: &Obj, now: Timestamp) -> Vec<Value> {
    let containers = path::list(pod, &["spec", "containers"]).len();
    let mut status = match path::text(pod, &["status", "reason"]) {
        "" => path::text(pod, &["status", "phase"]).to_owned(),
        reason => reason.to_owned(),
    };
    let conditions = path::list(pod, &["status", "conditions"]);
    let is = |c: &Value, key: &str, v: &str| c.get(key).and_then(Value::as_str) == Some(v);
    if conditions.iter().any(|c| is(c, "type", "PodScheduled") && is(c, "reason", "SchedulingGated")) {
        status = "SchedulingGated".to_owned();
    }
    let (mut ready, mut restarts, mut last_restart, mut initializing) = (0, 0, None, false);
    let inits = path::list(pod, &["spec", "initContainers"]).len();
    for (i, c) in path::list(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        restarts += c.get("restartCount").and_then(Value::as_i64).unwrap_or(0);
        if c.pointer("/state/terminated/exitCode").and_then(Value::as_i64) == Some(0) {
            continue;
        }
        status = match (c.pointer("/state/terminated"), c.pointer("/state/waiting/reason").and_then(Value::as_str)) {
            (Some(t), _) => format!("Init:{}", termination(t)),
            (None, Some(reason)) if !reason.is_empty() && reason != "PodInitializing" => {
                format!("Init:{reason}")
            }
            _ => format!("Init:{i}/{inits}"),
        };
        initializing = true;
        break;
    }
    if !initializing {
        restarts = 0;
        let mut running = false;
        for c in path::list(pod, &["status", "containerStatuses"]).iter().rev() {
            restarts += c.get("restartCount").and_then(Value::as_i64).unwrap_or(0);
            if let Some(t) = c.pointer("/lastState/terminated/finishedAt").and_then(Value::as_str) {
                last_restart = last_restart.max(Some(t.to_owned()));
            }
            let is_ready = c.get("ready") == Some(&Value::Bool(true));
            match (c.pointer("/state/waiting/reason").and_then(Value::as_str), c.pointer("/state/terminated")) {
                (Some(reason), _) if !reason.is_empty() => status = reason.to_owned(),
                (_, Some(t)) => status = termination(t),
                _ if is_ready && c.pointer("/state/running").is_some() => {
                    running = true;
                    ready += 1;
                }
                _ => {}
            }
        }
        if status == "Completed" && running {
            let is_ready = conditions.iter().any(|c| is(c, "type", "Ready") && is(c, "status", "True"));
            status = if is_ready { "Running" } else { "NotReady" }.to_owned();
        }
    }
    let phase = path::text(pod, &["status", "phase"]);
    if path::meta(pod).contains_key("deletionTimestamp") {
        if path::text(pod, &["status", "reason"]) == "NodeLost" {
            status = "Unknown".to_owned();
        } else if phase != "Succeeded" && phase != "Failed" {
            status = "Terminating".to_owned();
        }
    }
    let restarts = match last_restart {
        Some(at) if restarts > 0 => format!("{restarts} ({} ago)", age(&at, now)),
        _ => restarts.to_string(),
    };
    let or_none = |s: &str| json!(if s.is_empty() { "<none>" } else { s });
    let gates = path::list(pod, &["spec", "readinessGates"]);
    let readiness = if gates.is_empty() {
        "<none>".to_owned()
    } else {
        let met = gates
            .iter()
            .filter_map(|g| g.get("conditionType")?.as_str())
            .filter(|g| conditions.iter().any(|c| is(c, "type", g) && is(c, "status", "True")))
            .count();
        format!("{met}/{}", gates.len())
    };
    vec![
        name,
        json!(format!("{ready}/{containers}")),
        json!(status),
        json!(restarts),
        age_cell,
        or_none(path::text(pod, &["status", "podIP"])),
        or_none(path::text(pod, &["spec", "nodeName"])),
        or_none(path::text(pod, &["status", "nominatedNodeName"])),
        json!(readiness),
    ]
}

/// Why a container ended.
fn termination(state: &Value) -> String {
    let int = |key: &str| state.get(key).and_then(Value::as_i64).unwrap_or(0);
    match state.get("reason").and_then(Value::as_str).unwrap_or_default() {
        "" if int("signal") != 0 => format!("Signal:{}", int("signal")),
        "" => format!("ExitCode:{}", int("exitCode")),
        reason => reason.to_owned(),
    }
}

fn event_cells(name: Value, event: &Obj, now: Timestamp) -> Vec<Value> {
    let text = |p: &[&str]| path::text(event, p);
    let or = |a: &str, b: &str| {
        if a.is_empty() { b.to_owned() } else { a.to_owned() }
    };
    let first = or(text(&["firstTimestamp"]), text(&["eventTime"]));
    let last = match path::at(event, &["series", "lastObservedTime"]).and_then(Value::as_str) {
        Some(t) => t.to_owned(),
        None => or(text(&["lastTimestamp"]), &first),
    };
    let count = path::int(event, &["series", "count"]).or_else(|| path::int(event, &["count"])).unwrap_or(1);
    let kind = text(&["involvedObject", "kind"]).to_lowercase();
    let object = if kind.is_empty() {
        text(&["involvedObject", "name"]).to_owned()
    } else {
        format!("{kind}/{}", text(&["involvedObject", "name"]))
    };
    let source = match (text(&["source", "component"]), text(&["source", "host"])) {
        ("", _) => text(&["reportingComponent"]).to_owned(),
        (component, "") => component.to_owned(),
        (component, host) => format!("{component}, {host}"),
    };
    vec![
        json!(age(&last, now)),
        json!(text(&["type"])),
        json!(text(&["reason"])),
        json!(object),
        json!(text(&["involvedObject", "fieldPath"])),
        json!(source),
        json!(text(&["message"]).trim()),
        json!(age(&first, now)),
        json!(count),
        name,
    ]
}

fn node_cells(name: Value, age: Value, node: &Obj) -> Vec<Value> {
    let conditions = path::list(node, &["status", "conditions"]);
    let ready = conditions.iter().find(|c| c.get("type").and_then(Value::as_str) == Some("Ready"));
    let mut status = match ready.and_then(|c| c.get("status")?.as_str()) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if path::at(node, &["spec", "unschedulable"]) == Some(&Value::Bool(true)) {
        status.push_str(",SchedulingDisabled");
    }
    let labels = path::map(node, &["metadata", "labels"]);
    let mut roles: Vec<&str> =
        labels.into_iter().flatten().filter_map(|(k, _)| k.strip_prefix("node-role.kubernetes.io/")).collect();
    roles.sort_unstable();
    let roles = if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") };
    let address = |kind: &str| {
        let list = path::list(node, &["status", "addresses"]);
        let found = list.iter().find(|a| a.get("type").and_then(Value::as_str) == Some(kind));
        json!(found.and_then(|a| a.get("address")?.as_str()).unwrap_or("<none>"))
    };
    let info = |key: &str| match path::text(node, &["status", "nodeInfo", key]) {
        "" => json!("<unknown>"),
        v => json!(v),
    };
    vec![
        name,
        json!(status),
        json!(roles),
        age,
        json!(path::text(node, &["status", "nodeInfo", "kubeletVersion"])),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
}

/// `duration.HumanDuration` of the time since then.
pub(super) fn age(since: &str, now: Timestamp) -> String {
    let Ok(since) = since.parse::<Timestamp>() else {
        return "<unknown>".to_owned();
    };
    let seconds = now.as_second() - since.as_second();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |a: i64, unit: &str, b: i64, small: &str| {
        if b == 0 { format!("{a}{unit}") } else { format!("{a}{unit}{b}{small}") }
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 192 => pair(days, "d", hours % 24, "h"),
        () if days < 730 => format!("{days}d"),
        () if days < 2920 => pair(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

/// Pods that came to their end are marked.
pub(super) fn row_condition(kind: &Kind, value: &Obj) -> Option<&'static str> {
    if kind.table != PODS {
        return None;
    }
    match path::text(value, &["status", "phase"]) {
        "Succeeded" => Some(
            "{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Succeeded\",\"message\":\"The pod has completed successfully.\"}",
        ),
        "Failed" => {
            Some("{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"Failed\",\"message\":\"The pod failed.\"}")
        }
        _ => None,
    }
}
