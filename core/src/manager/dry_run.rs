//! The dry run: what would be written is said instead, and taken as done.

use alloc::borrow::Cow;

use serde_json::Value;

use crate::request::{Head, Method, Outcome, Request, Response};

/// Says what a write would do, and what it would be answered as far as a sync cares.
///
/// Nothing that was created ever shows up, so a set whose pods would be created waits for them as it does for real ones, and says so again
/// after the five minutes of its expectations.
pub(super) fn pretend(request: &Request) -> Outcome {
    if !is_event(request) {
        log::info!("dry run: would {}", describe(request));
    }
    let (status, body) = match request.method {
        Method::Post => (201, request.body.clone()),
        Method::Put => (200, request.body.clone()),
        Method::Delete | Method::Get | Method::Patch => (200, b"{}".to_vec()),
    };
    Outcome::Response(Response { head: Head::new(status), body })
}

fn is_event(request: &Request) -> bool {
    request.path.contains("/events")
}

/// A write in words.
fn describe(request: &Request) -> Cow<'static, str> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let path = request.path.split('?').next().unwrap_or_default();
    // `…/namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]`
    let mut place = path.split("/namespaces/").nth(1).unwrap_or_default().split('/');
    let mut next = || place.next().unwrap_or_default();
    let (namespace, resource, name, subresource) = (next(), next(), next(), next());
    let what = resource.strip_suffix('s').unwrap_or(resource);
    match request.method {
        Method::Post => {
            let prefix = text("/metadata/generateName");
            alloc::format!("create a {what} {prefix}… in {namespace}").into()
        }
        Method::Delete => alloc::format!("delete {what} {namespace}/{name}").into(),
        Method::Put => alloc::format!(
            "set the {subresource} of {what} {namespace}/{name} to {}",
            body.get(subresource).unwrap_or(&Value::Null)
        )
        .into(),
        Method::Get | Method::Patch => alloc::format!("patch {what} {namespace}/{name}: {body}").into(),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn said(method: Method, path: &str, body: &str) -> Cow<'static, str> {
        describe(&Request { method, path: path.into(), content_type: "", body: Vec::from(body) })
    }

    #[test]
    fn writes_are_told_in_words() {
        let (pods, sets) = ("/api/v1/namespaces/shop/pods", "/apis/apps/v1/namespaces/shop/replicasets");
        let pod = alloc::format!("{pods}/web-1");
        assert_eq!(said(Method::Post, pods, r#"{"metadata":{"generateName":"web-"}}"#), "create a pod web-… in shop");
        assert_eq!(said(Method::Delete, &pod, ""), "delete pod shop/web-1");
        assert_eq!(
            said(Method::Patch, &pod, r#"{"metadata":{"uid":"u"}}"#),
            r#"patch pod shop/web-1: {"metadata":{"uid":"u"}}"#
        );
        assert_eq!(
            said(Method::Put, &alloc::format!("{sets}/web/status"), r#"{"status":{"replicas":2}}"#),
            r#"set the status of replicaset shop/web to {"replicas":2}"#
        );
    }
}
