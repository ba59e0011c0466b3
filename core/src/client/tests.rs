use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use super::*;
use crate::limits::Limits;
use crate::request::{Failure, Head, Outcome, Response};
use crate::time::Instant;

fn map(json: Value) -> ConfigMap {
    serde_json::from_value(json).unwrap()
}

fn answer(status: u16, body: &str) -> Outcome {
    Outcome::Response(Response { head: Head::new(status), body: body.into() })
}

fn sent<A>(operation: &Operation<A>) -> (String, &'static str, Value) {
    let request = operation.request().unwrap();
    let body = if request.body.is_empty() { Value::Null } else { serde_json::from_slice(&request.body).unwrap() };
    (alloc::format!("{request:?}"), request.content_type, body)
}

#[test]
fn operations_are_the_requests_of_the_api() {
    let maps = Api::<ConfigMap>::in_namespace("shop").with_field_manager("me");
    let path = "/api/v1/namespaces/shop/configmaps";
    let one = map(json!({"metadata": {"name": "a"}, "data": {"k": "v"}}));
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let line = |method: &str, rest: &str| alloc::format!("{method} {path}{rest}");

    assert_eq!(sent(&maps.get("a")), (line("GET", "/a"), "", Value::Null));
    assert_eq!(sent(&maps.create(&one)), (line("POST", "?fieldManager=me"), "application/json", body.clone()));
    assert_eq!(sent(&maps.replace(&one).dry_run()).0, line("PUT", "/a?fieldManager=me&dryRun=All"));
    assert_eq!(
        sent(&maps.apply(&one, true)),
        (line("PATCH", "/a?fieldManager=me&force=true"), "application/apply-patch+yaml", body)
    );
    for (patch, content_type) in [
        (Patch::Json(json!([])), "application/json-patch+json"),
        (Patch::Merge(json!({})), "application/merge-patch+json"),
        (Patch::Strategic(json!({})), "application/strategic-merge-patch+json"),
        (Patch::Apply { object: json!({}), force: false }, "application/apply-patch+yaml"),
    ] {
        let (request, sent_type, _) = sent(&maps.patch("a", &patch));
        assert_eq!((request, sent_type), (line("PATCH", "/a?fieldManager=me"), content_type));
    }
    let options = ListOptions {
        label_selector: "app=web".into(),
        limit: 10,
        continue_token: "next".into(),
        ..ListOptions::default()
    };
    assert_eq!(sent(&maps.list(&options)).0, line("GET", "?labelSelector=app%3Dweb&continue=next&limit=10"));
}

#[test]
fn an_object_that_names_its_namespace_goes_there() {
    let all = Api::<ConfigMap>::all();
    let one = map(json!({"metadata": {"namespace": "shop", "name": "a"}}));
    assert_eq!(sent(&all.create(&one)).0, "POST /api/v1/namespaces/shop/configmaps");
    assert_eq!(sent(&all.replace(&one)).0, "PUT /api/v1/namespaces/shop/configmaps/a");
    assert_eq!(sent(&all.apply(&one, false)).0, "PATCH /api/v1/namespaces/shop/configmaps/a");
}

#[test]
fn subresources_have_paths_of_their_own() {
    let sets = Api::<ReplicaSet>::in_namespace("shop");
    let path = "/apis/apps/v1/namespaces/shop/replicasets/web";
    assert_eq!(sent(&sets.get_scale("web")).0, alloc::format!("GET {path}/scale"));
    let (request, _, body) = sent(&sets.set_scale("web", 3));
    assert_eq!((request, body), (alloc::format!("PATCH {path}/scale"), json!({"spec": {"replicas": 3}})));
    let set: ReplicaSet = serde_json::from_value(json!({"metadata": {"name": "web"}})).unwrap();
    assert_eq!(sent(&sets.replace_status(&set)).0, alloc::format!("PUT {path}/status"));
    let scale = answer(200, r#"{"kind":"Scale","spec":{"replicas":3},"status":{"replicas":2,"selector":"app=web"}}"#);
    let scale = sets.get_scale("web").read(&scale).unwrap();
    assert_eq!(scale, Scale { wanted: 3, actual: 2, selector: "app=web".into() });
}

#[test]
fn a_scale_is_an_object_in_which_null_says_nothing() {
    let operation = Api::<ReplicaSet>::in_namespace("shop").get_scale("web");
    let scale = answer(200, r#"{"spec":{"replicas":null},"status":{"replicas":1,"selector":null}}"#);
    assert_eq!(operation.read(&scale).unwrap(), Scale { actual: 1, ..Scale::default() });
    for wrong in ["null", "[]", r#"[[3],[2,"a"]]"#, r#"{"spec":[3]}"#, r#"{"spec":{"replicas":"3"}}"#] {
        assert!(operation.read(&answer(200, wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn a_deletion_carries_its_conditions() {
    let options = DeleteOptions {
        grace_period_seconds: Some(0),
        propagation: Some(Propagation::Foreground),
        uid: Some("u".into()),
        resource_version: Some("7".into()),
    };
    let operation = Api::<ConfigMap>::in_namespace("shop").delete("a", &options);
    assert_eq!(
        sent(&operation).2,
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Foreground",
            "preconditions": {"uid": "u", "resourceVersion": "7"}})
    );
    assert_eq!(operation.read(&answer(200, r#"{"kind":"Status","status":"Success"}"#)), Ok(Deleted::Done));
    let object = operation.read(&answer(202, r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}"#));
    assert!(matches!(object, Ok(Deleted::Object(_))));
}

#[test]
fn an_object_without_a_name_never_stands_for_its_collection() {
    let maps = Api::<ConfigMap>::in_namespace("shop");
    let unnamed = ConfigMap::default();
    assert!(matches!(maps.delete("", &DeleteOptions::default()).request(), Err(Error::Unwritable(_))));
    assert!(matches!(maps.get("").request(), Err(Error::Unwritable(_))));
    assert!(matches!(maps.replace(&unnamed).request(), Err(Error::Unwritable(_))));
    assert!(maps.create(&unnamed).request().is_ok(), "the server may generate a name");
    let mut attempts = maps.get("").attempts(Limits::default());
    assert!(matches!(attempts.poll(Instant::ZERO), Step::Done(Err(Error::Unwritable(_)))));
}

#[test]
fn an_answer_is_an_object_or_an_error_by_blame() {
    let get = Api::<ConfigMap>::in_namespace("shop").get("a");
    let object = get.read(&answer(200, r#"{"metadata":{"name":"a"}}"#)).unwrap();
    assert_eq!(object.metadata.name.as_deref(), Some("a"));
    let missing = r#"{"kind":"Status","code":404,"reason":"NotFound","message":"configmaps \"a\" not found"}"#;
    let error = get.read(&answer(404, missing)).unwrap_err();
    assert!(error.is_not_found() && !error.is_conflict());
    assert_eq!(alloc::format!("{error}"), "404 NotFound: configmaps \"a\" not found");
    let exists = get.read(&answer(409, r#"{"kind":"Status","code":409,"reason":"AlreadyExists"}"#)).unwrap_err();
    assert!(exists.is_already_exists() && !exists.is_conflict());
    assert!(get.read(&answer(409, "<html>")).unwrap_err().is_conflict());
    assert!(matches!(get.read(&answer(200, "<html>")), Err(Error::Malformed(_))));
    assert_eq!(get.read(&Outcome::Failed(Failure::Cut)), Err(Error::Failed(Failure::Cut)));
}

#[test]
fn a_list_says_where_it_ends() {
    let list = Api::<ConfigMap>::all().list(&ListOptions::default());
    let body = r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"7","continue":"next"},"items":[{"metadata":{"name":"a"}}]}"#;
    let page = list.read(&answer(200, body)).unwrap();
    assert_eq!((page.items.len(), &*page.continue_token, page.resource_version), (1, "next", "7".into()));
    let empty = list.read(&answer(200, r#"{"metadata":{},"items":null}"#)).unwrap();
    assert!(empty.items.is_empty() && empty.continue_token.is_empty());
    assert!(matches!(list.read(&answer(200, r#"{"items":[{"metadata":5}]}"#)), Err(Error::Malformed(_))));
}

fn send<A: core::fmt::Debug>(attempts: &mut Attempts<A>, now: Instant) -> crate::request::Call {
    match attempts.poll(now) {
        Step::Send(call) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_busy_server_is_asked_again_and_a_read_survives_a_cut() {
    let mut attempts = Api::<ConfigMap>::in_namespace("shop").get("a").attempts(Limits::default());
    let mut now = Instant::ZERO;
    let call = send(&mut attempts, now);
    assert_eq!(call.deadline, now + Limits::default().call_timeout);
    assert!(matches!(attempts.poll(now), Step::Wait { until: None }));
    let busy = Head { retry_after: Some(Duration::from_secs(7)), ..Head::new(429) };
    attempts.handle_outcome(now, &Outcome::Response(Response { head: busy, body: Vec::new() }));
    let later = now + Duration::from_secs(7);
    assert!(matches!(attempts.poll(now), Step::Wait { until: Some(until) } if until == later));
    now = later;
    assert_eq!(send(&mut attempts, now).request, call.request);
    attempts.handle_outcome(now, &Outcome::Failed(Failure::Cut));
    now += Duration::from_secs(1);
    let _ = send(&mut attempts, now);
    attempts.handle_outcome(now, &answer(200, r#"{"metadata":{"name":"a"}}"#));
    assert!(matches!(attempts.poll(now), Step::Done(Ok(_))));
    assert!(matches!(attempts.poll(now), Step::Wait { until: None }));
}

#[test]
fn a_write_that_was_cut_is_not_repeated_and_attempts_are_counted() {
    let maps = Api::<ConfigMap>::in_namespace("shop");
    let mut write = maps.patch("a", &Patch::Merge(json!({}))).attempts(Limits::default());
    let _ = send(&mut write, Instant::ZERO);
    write.handle_outcome(Instant::ZERO, &Outcome::Failed(Failure::Cut));
    assert!(matches!(write.poll(Instant::ZERO), Step::Done(Err(Error::Failed(Failure::Cut)))));

    let mut read = maps.get("a").attempts(Limits::default());
    let mut now = Instant::ZERO;
    for _ in 0..11 {
        let _ = send(&mut read, now);
        read.handle_outcome(now, &answer(429, ""));
        now += Duration::from_secs(1);
    }
    assert!(matches!(read.poll(now), Step::Done(Err(Error::Status(status))) if status.code == 429));
}

#[test]
fn a_watch_is_read_line_by_line_however_it_is_cut() {
    let watch = || Api::<ConfigMap>::all().watch(&ListOptions { resource_version: "7".into(), ..Default::default() });
    let (call, _) = watch().open(Instant::ZERO, Limits::default());
    assert!(call.watch && call.request.path.contains("resourceVersion=7") && call.request.path.contains("watch=true"));
    let body = concat!(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
        "\n",
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"9"}}}"#,
        "\n",
        r#"{"type":"DELETED","object":{"metadata":{"name":"a"}}}"#,
    );
    for size in [1, 7, 1000] {
        let (_, mut events) = watch().open(Instant::ZERO, Limits::default());
        events.handle_head(Head::new(200));
        body.as_bytes().chunks(size).for_each(|piece| events.handle_body(piece));
        events.handle_end();
        let seen: Vec<String> =
            core::iter::from_fn(|| events.poll_event()).map(|event| alloc::format!("{:?}", event.unwrap())).collect();
        assert_eq!(seen, ["Added", "Bookmark(9)", "Deleted"]);
        assert!(events.has_ended());
    }
}

#[test]
fn a_watch_ends_with_what_went_wrong() {
    let open = || Api::<ConfigMap>::all().watch(&ListOptions::default()).open(Instant::ZERO, Limits::default()).1;
    let last = |events: &mut Events<ConfigMap>| events.poll_event().unwrap().unwrap_err();

    let mut events = open();
    events.handle_head(Head::new(403));
    events.handle_body(br#"{"kind":"Status","code":403,"reason":"Forbidden"}"#);
    events.handle_end();
    assert_eq!(last(&mut events).status().unwrap().reason, "Forbidden");

    let mut events = open();
    events.handle_head(Head::new(200));
    events.handle_body(
        b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n{}\n",
    );
    assert!(last(&mut events).is_expired() && events.has_ended() && events.poll_event().is_none());

    let mut events = open();
    events.handle_head(Head::new(200));
    events.handle_body(b"nonsense\n");
    assert!(matches!(last(&mut events), Error::Malformed(_)));

    let mut events = open();
    events.handle_failure(Failure::Refused);
    assert_eq!(last(&mut events), Error::Failed(Failure::Refused));
}
