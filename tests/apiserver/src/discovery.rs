//! Paths that name no object: health, version, discovery; and the words of refusals by authorization.

mod forbidden;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::context::refusal;
use crate::error::ApiError;
use crate::kind::{Kind, Kinds, Sub};
use crate::media::{self, Media};
use crate::render;
use crate::request::{Query, Request, Response};

pub(crate) use self::forbidden::forbidden;

fn text(status: u16, body: &str) -> Response {
    Response {
        status,
        headers: vec![("content-type", "text/plain; charset=utf-8".to_owned())],
        body: body.as_bytes().to_vec(),
    }
}

/// Answers a path that names no object.
pub(crate) fn answer(kinds: &Kinds, request: &Request, query: &Query, path: &str, known_group: bool) -> Response {
    let error = |e: &ApiError| refusal(e, Media::JSON, &[]);
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').skip(1).collect();
    let health = matches!(parts.first(), Some(&("healthz" | "livez" | "readyz")));
    if health && request.method == "GET" {
        return text(200, "ok");
    }
    if let ["api", "v1", "namespaces", _, "pods", _, what @ ("attach" | "exec" | "portforward" | "proxy")] = *parts {
        return error(&ApiError::internal(format!("{what} needs a kubelet, and this API server has none")));
    }
    if matches!(*parts, [] | [""] | ["index.html"]) {
        return index(kinds);
    }
    let body = match parts.as_slice() {
        ["version"] => Some(version()),
        ["api"] if wants_aggregated(request) => return aggregated(kinds, &[""]),
        ["apis"] if wants_aggregated(request) => return aggregated(kinds, &kinds.groups()),
        ["api"] => Some(json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1" }],
        })),
        ["apis"] => Some(
            json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": kinds.groups().into_iter().map(|name| group(kinds, name)).collect::<Vec<_>>() }),
        ),
        ["apis", name] if kinds.groups().contains(name) => {
            let mut g = group(kinds, name);
            g["kind"] = "APIGroup".into();
            g["apiVersion"] = "v1".into();
            Some(g)
        }
        ["api", version] => resources(kinds, "", version),
        ["apis", group, version] => resources(kinds, group, version),
        ["openapi", "v3"] => Some(crate::openapi::index(kinds)),
        ["openapi", "v3", rest @ ..] => crate::openapi::document(kinds, &rest.join("/")),
        _ => None,
    };
    match body {
        Some(_) if request.method != "GET" => error(&ApiError::method_not_allowed()),
        Some(body) => match media::negotiate(request, query, media::TYPES) {
            Ok(media) => {
                let media = Media { encoding: media::Encoding::Json, ..media };
                render::finish(200, body.to_string().into_bytes(), media)
            }
            Err(e) => error(&e),
        },
        None if known_group || parts.first() == Some(&"api") => error(&ApiError::no_such_resource()),
        None => text(404, "404 page not found\n"),
    }
}

/// The paths there are (apiserver `pkg/server/routes/index.go`).
fn index(kinds: &Kinds) -> Response {
    let mut paths: Vec<String> = [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/healthz",
        "/livez",
        "/openapi/v3",
        "/openapi/v3/",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .into();
    for group in kinds.groups() {
        paths.push(format!("/apis/{group}"));
        paths.extend(kinds.versions(group).iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.sort();
    let body = serde_json::to_vec_pretty(&json!({ "paths": paths })).unwrap_or_default();
    render::finish(200, body, Media::JSON)
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.2+sanskube", "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none", "compiler": "gc", "platform": "linux/amd64",
    })
}

fn group(kinds: &Kinds, name: &str) -> Value {
    let version = |v: &&str| json!({ "groupVersion": format!("{name}/{v}"), "version": v });
    let versions: Vec<Value> = kinds.versions(name).iter().map(version).collect();
    json!({ "name": name, "preferredVersion": versions.first(), "versions": versions })
}

fn verbs(kind: &Kind) -> Vec<&'static str> {
    let mut verbs = vec!["create", "delete"];
    if kind.traits.delete_collection {
        verbs.push("deletecollection");
    }
    verbs.extend(["get", "list", "patch", "update", "watch"]);
    verbs
}

fn sub_verbs(sub: Sub) -> &'static [&'static str] {
    match sub {
        Sub::Binding | Sub::Eviction => &["create"],
        Sub::Finalize => &["update"],
        Sub::Log => &["get"],
        Sub::Scale | Sub::Status => &["get", "patch", "update"],
    }
}

/// Group, version and kind that a subresource speaks, where they are not its resource's.
fn sub_kind(kind: &Kind, sub: Sub) -> (&str, &str, &str) {
    match sub {
        Sub::Binding => ("", "v1", "Binding"),
        Sub::Eviction => ("policy", "v1", "Eviction"),
        Sub::Scale => ("autoscaling", "v1", "Scale"),
        Sub::Finalize | Sub::Log | Sub::Status => (&kind.group, &kind.version, &kind.kind),
    }
}

fn resources(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let kinds = of_version(kinds, group, version);
    if kinds.is_empty() {
        return None;
    }
    let mut list = Vec::new();
    for kind in &kinds {
        let mut entry = json!({
            "name": kind.resource, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": verbs(kind),
        });
        if !kind.short_names.is_empty() {
            entry["shortNames"] = json!(kind.short_names);
        }
        if !kind.categories.is_empty() {
            entry["categories"] = json!(kind.categories);
        }
        if !kind.storage_hash.is_empty() {
            entry["storageVersionHash"] = kind.storage_hash.into();
        }
        list.push(entry);
        for sub in &kind.subresources {
            let (g, v, k) = sub_kind(kind, *sub);
            let mut entry = json!({
                "name": format!("{}/{}", kind.resource, sub.name()), "singularName": "", "namespaced": kind.namespaced,
                "kind": k, "verbs": sub_verbs(*sub),
            });
            if g != kind.group {
                entry["group"] = g.into();
                entry["version"] = v.into();
            }
            list.push(entry);
        }
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut body = json!({ "kind": "APIResourceList", "groupVersion": group_version, "resources": list });
    if !group.is_empty() {
        body["apiVersion"] = "v1".into();
    }
    Some(body)
}

/// The kinds of one group and version, by their resources.
fn of_version(kinds: &Kinds, group: &str, version: &str) -> Vec<Arc<Kind>> {
    let mut kinds: Vec<Arc<Kind>> =
        kinds.iter().filter(|k| k.group == group && k.version == version).cloned().collect();
    kinds.sort_by(|a, b| a.resource.cmp(&b.resource));
    kinds
}

fn wants_aggregated(request: &Request) -> bool {
    let accept = request.header("accept").unwrap_or_default();
    media::clauses(accept).first().is_some_and(|(t, p)| {
        let has = |k: &str, v: &str| p.iter().any(|(a, b)| a == k && b == v);
        t == "application/json" && has("as", "APIGroupDiscoveryList") && has("v", "v2")
    })
}

/// `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.
fn aggregated(kinds: &Kinds, groups: &[&str]) -> Response {
    let mut items: Vec<Value> = Vec::new();
    for name in groups {
        let version = |version: &&str| {
            let resources: Vec<Value> =
                of_version(kinds, name, version).iter().map(|k| aggregated_resource(k)).collect();
            json!({ "version": version, "resources": resources, "freshness": "Current" })
        };
        let versions: Vec<Value> = kinds.versions(name).iter().map(version).collect();
        let mut item = json!({ "metadata": {}, "versions": versions });
        if !name.is_empty() {
            item["metadata"]["name"] = (*name).into();
        }
        items.push(item);
    }
    let body = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let mut response = render::finish(200, body.to_string().into_bytes(), Media::JSON);
    let content = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let etag = format!(
        "\"{:016X}\"",
        response
            .body
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| { (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3) })
    );
    response.headers = vec![("content-type", content.to_owned()), ("vary", "Accept".to_owned()), ("etag", etag)];
    response
}

fn aggregated_resource(kind: &Kind) -> Value {
    let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
    let mut entry = json!({
        "resource": kind.resource, "singularResource": kind.singular, "scope": scope, "verbs": verbs(kind),
        "responseKind": { "group": "", "version": "", "kind": kind.kind },
    });
    if !kind.short_names.is_empty() {
        entry["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        entry["categories"] = json!(kind.categories);
    }
    let subs: Vec<Value> = kind
        .subresources
        .iter()
        .map(|sub| {
            let (group, version, name) = sub_kind(kind, *sub);
            let (group, version) = if name == kind.kind { ("", "") } else { (group, version) };
            json!({
                "subresource": sub.name(), "verbs": sub_verbs(*sub),
                "responseKind": { "group": group, "version": version, "kind": name },
            })
        })
        .collect();
    if !subs.is_empty() {
        entry["subresources"] = subs.into();
    }
    entry
}
