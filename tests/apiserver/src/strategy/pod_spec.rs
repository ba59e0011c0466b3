//! Pod specs, of pods and of templates: defaults (`pkg/apis/core/v1/defaults.go`) and
//! validation (`pkg/apis/core/validation`, `ValidatePodSpec`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::meta::{blame, label_faults};
use crate::error::Cause;
use crate::json;
use crate::store::Obj;

/// `SetDefaults_PodSpec` and what belongs to it; `pod` adds what only pods get, not templates.
pub(crate) fn default(spec: &mut Obj, pod: bool) {
    json::default(spec, "restartPolicy", "Always");
    json::default(spec, "terminationGracePeriodSeconds", 30);
    json::default(spec, "dnsPolicy", "ClusterFirst");
    json::default(spec, "securityContext", json!({}));
    json::default(spec, "schedulerName", "default-scheduler");
    if pod {
        json::default(spec, "enableServiceLinks", true);
    }
    for (from, to) in [("serviceAccountName", "serviceAccount"), ("serviceAccount", "serviceAccountName")] {
        if let Some(name) = spec.get(from).cloned() {
            json::default(spec, to, name);
        }
    }
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in json::items_mut(spec, &[list]) {
            default_container(container, pod, host_network);
        }
    }
    for volume in json::items_mut(spec, &["volumes"]) {
        default_volume(volume);
    }
}

fn default_container(container: &mut Obj, pod: bool, host_network: bool) {
    json::default(container, "terminationMessagePath", "/dev/termination-log");
    json::default(container, "terminationMessagePolicy", "File");
    let image = json::text(container, &["image"]);
    let tag = image.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let latest = !image.contains('@') && tag.is_none_or(|t| t == "latest");
    json::default(container, "imagePullPolicy", if latest { "Always" } else { "IfNotPresent" });
    json::default(container, "resources", json!({}));
    for port in json::items_mut(container, &["ports"]) {
        json::default(port, "protocol", "TCP");
        if host_network && let Some(p) = port.get("containerPort").cloned() {
            json::default(port, "hostPort", p);
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(Value::Object(probe)) = container.get_mut(probe) {
            for (key, n) in
                [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
            {
                json::default(probe, key, n);
            }
            default_handler(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(Value::Object(hook)) = container.get_mut("lifecycle").and_then(|l| l.get_mut(hook)) {
            default_handler(hook);
        }
    }
    for env in json::items_mut(container, &["env"]) {
        if let Some(Value::Object(field)) = env.get_mut("valueFrom").and_then(|v| v.get_mut("fieldRef")) {
            json::default(field, "apiVersion", "v1");
        }
    }
    // A limit is the request that was not given (pods only).
    if pod && let Some(limits) = json::map(container, &["resources", "limits"]).cloned() {
        let requests = json::map_mut(container, &["resources", "requests"]);
        for (name, quantity) in limits {
            json::default(requests, &name, quantity);
        }
    }
}

fn default_handler(handler: &mut Obj) {
    if let Some(Value::Object(get)) = handler.get_mut("httpGet") {
        json::default(get, "path", "/");
        json::default(get, "scheme", "HTTP");
    }
    if let Some(Value::Object(grpc)) = handler.get_mut("grpc") {
        json::default(grpc, "service", "");
    }
}

fn default_volume(volume: &mut Obj) {
    if volume.len() <= 1 {
        volume.insert("emptyDir".into(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(Value::Object(source)) = volume.get_mut(source) {
            json::default(source, "defaultMode", 420);
            for item in json::items_mut(source, &["items"]) {
                if let Some(Value::Object(field)) = item.get_mut("fieldRef") {
                    json::default(field, "apiVersion", "v1");
                }
            }
            for projection in json::items_mut(source, &["sources"]) {
                if let Some(Value::Object(token)) = projection.get_mut("serviceAccountToken") {
                    json::default(token, "expirationSeconds", 3600);
                }
                if let Some(Value::Object(downward)) = projection.get_mut("downwardAPI") {
                    for item in json::items_mut(downward, &["items"]) {
                        if let Some(Value::Object(field)) = item.get_mut("fieldRef") {
                            json::default(field, "apiVersion", "v1");
                        }
                    }
                }
            }
        }
    }
    if let Some(Value::Object(host)) = volume.get_mut("hostPath") {
        json::default(host, "type", "");
    }
}

/// The part of `ValidatePodSpec` that decides whether a pod could run at all.
pub(crate) fn validate(spec: &Obj, field: &str, causes: &mut Vec<Cause>) {
    let volumes = validate_volumes(spec, field, causes);
    let containers = json::list(spec, &["containers"]);
    if containers.is_empty() {
        causes.push(Cause::required(format!("{field}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        for (i, container) in json::list(spec, &[list]).iter().filter_map(Value::as_object).enumerate() {
            let field = format!("{field}.{list}[{i}]");
            validate_container(container, &field, &mut names, &volumes, causes);
        }
    }
    supported(spec, "restartPolicy", field, &["Always", "OnFailure", "Never"], causes);
    supported(spec, "dnsPolicy", field, &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], causes);
    for (key, least) in [("terminationGracePeriodSeconds", 0), ("activeDeadlineSeconds", 1)] {
        if let Some(n) = json::int(spec, &[key])
            && n < least
        {
            let detail = if least == 0 {
                "must be greater than or equal to 0"
            } else {
                "must be between 1 and 2147483647, inclusive"
            };
            causes.push(Cause::invalid(format!("{field}.{key}"), &n.into(), detail));
        }
    }
    for key in ["nodeName", "serviceAccountName"] {
        let name = json::text(spec, &[key]);
        if !name.is_empty() {
            blame(&format!("{field}.{key}"), name, super::meta::subdomain_faults(name), causes);
        }
    }
    for key in ["hostname", "subdomain"] {
        let name = json::text(spec, &[key]);
        if !name.is_empty() {
            blame(&format!("{field}.{key}"), name, label_faults(name), causes);
        }
    }
    super::meta::validate_labels(json::map(spec, &["nodeSelector"]), &format!("{field}.nodeSelector"), causes);
}

fn supported(obj: &Obj, key: &str, field: &str, values: &[&str], causes: &mut Vec<Cause>) {
    let value = json::text(obj, &[key]);
    if value.is_empty() {
        causes.push(Cause::required(format!("{field}.{key}"), ""));
    } else if !values.contains(&value) {
        causes.push(Cause::not_supported(format!("{field}.{key}"), value, values));
    }
}

fn validate_volumes<'a>(spec: &'a Obj, field: &str, causes: &mut Vec<Cause>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (i, volume) in json::list(spec, &["volumes"]).iter().filter_map(Value::as_object).enumerate() {
        let field = format!("{field}.volumes[{i}].name");
        let name = json::text(volume, &["name"]);
        if name.is_empty() {
            causes.push(Cause::required(field, ""));
        } else {
            blame(&field, name, label_faults(name), causes);
            if !names.insert(name) {
                causes.push(Cause::duplicate(field, &name.into()));
            }
        }
    }
    names
}

fn validate_container<'a>(
    container: &'a Obj,
    field: &str,
    names: &mut BTreeSet<&'a str>,
    volumes: &BTreeSet<&str>,
    causes: &mut Vec<Cause>,
) {
    let name = json::text(container, &["name"]);
    let name_field = format!("{field}.name");
    if name.is_empty() {
        causes.push(Cause::required(name_field, ""));
    } else {
        blame(&name_field, name, label_faults(name), causes);
        if !names.insert(name) {
            causes.push(Cause::duplicate(name_field, &name.into()));
        }
    }
    let image = json::text(container, &["image"]);
    if image.is_empty() {
        causes.push(Cause::required(format!("{field}.image"), ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        causes.push(Cause::invalid(format!("{field}.image"), &image.into(), detail));
    }
    supported(container, "terminationMessagePolicy", field, &["File", "FallbackToLogsOnError"], causes);
    for (i, port) in json::list(container, &["ports"]).iter().filter_map(Value::as_object).enumerate() {
        let field = format!("{field}.ports[{i}]");
        match json::int(port, &["containerPort"]) {
            None | Some(0) => causes.push(Cause::required(format!("{field}.containerPort"), "")),
            Some(n) if !(1..=65535).contains(&n) => {
                let detail = "must be between 1 and 65535, inclusive";
                causes.push(Cause::invalid(format!("{field}.containerPort"), &n.into(), detail));
            }
            Some(_) => {}
        }
        supported(port, "protocol", &field, &["SCTP", "TCP", "UDP"], causes);
    }
    for (i, env) in json::list(container, &["env"]).iter().filter_map(Value::as_object).enumerate() {
        if json::text(env, &["name"]).is_empty() {
            causes.push(Cause::required(format!("{field}.env[{i}].name"), ""));
        }
    }
    for (i, mount) in json::list(container, &["volumeMounts"]).iter().filter_map(Value::as_object).enumerate() {
        let field = format!("{field}.volumeMounts[{i}]");
        let name = json::text(mount, &["name"]);
        if name.is_empty() {
            causes.push(Cause::required(format!("{field}.name"), ""));
        } else if !volumes.contains(name) {
            let field = format!("{field}.name");
            causes.push(Cause::not_found(field, &name.into()));
        }
        if json::text(mount, &["mountPath"]).is_empty() {
            causes.push(Cause::required(format!("{field}.mountPath"), ""));
        }
    }
    supported(container, "imagePullPolicy", field, &["Always", "IfNotPresent", "Never"], causes);
    for which in ["limits", "requests"] {
        for (resource, quantity) in json::map(container, &["resources", which]).into_iter().flatten() {
            if quantity.as_str().is_some_and(|q| q.starts_with('-')) {
                let field = format!("{field}.resources.{which}[{resource}]");
                causes.push(Cause::invalid(field, quantity, "must be greater than or equal to 0"));
            }
        }
    }
}
