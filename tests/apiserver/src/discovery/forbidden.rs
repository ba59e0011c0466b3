//! The words of refusals by authorization.

use crate::error::{ApiError, Subject};
use crate::kind::Kinds;
use crate::request::{Query, Request, Route};

/// The refusal of a user who may nothing (`pkg/endpoints/handlers/responsewriters/errors.go`).
pub(crate) fn forbidden(kinds: &Kinds, user: &str, request: &Request, path: &str) -> ApiError {
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').skip(1).collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
        ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
        _ => {
            let verb = request.method.to_lowercase();
            return ApiError::path_forbidden(&format!("forbidden: User \"{user}\" cannot {verb} path \"{path}\""));
        }
    };
    let (namespace, resource, name, sub) = match kinds.route(path) {
        Route::Resource(p) => {
            (p.namespace, p.kind.resource.clone(), p.name, p.sub.map(|s| s.name().to_owned()).unwrap_or_default())
        }
        _ => match rest {
            ["namespaces", ns, resource, rest @ ..] => split(ns, resource, rest),
            [resource, rest @ ..] => split("", resource, rest),
            [] => split("", "", &[]),
        },
    };
    let query = Query::parse(&request.target);
    let verb = match (request.method.as_str(), name.is_empty()) {
        ("GET", _) if query.flag("watch") => "watch",
        ("GET", true) => "list",
        ("GET", false) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "",
    };
    let full = if sub.is_empty() { resource.clone() } else { format!("{resource}/{sub}") };
    let scope = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{namespace}\"")
    };
    let why = format!("User \"{user}\" cannot {verb} resource \"{full}\" in API group \"{group}\" {scope}");
    ApiError::forbidden(Subject { group, resource: &resource }, &name, &why)
}

fn split(namespace: &str, resource: &str, rest: &[&str]) -> (String, String, String, String) {
    let at = |i: usize| rest.get(i).copied().unwrap_or_default().to_owned();
    (namespace.to_owned(), resource.to_owned(), at(0), at(1))
}
