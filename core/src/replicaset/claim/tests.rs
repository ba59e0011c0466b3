use serde_json::{Value, json};

use super::*;
use crate::replicaset::testing::{answer, owned, pod, pod_json, set, set_json};
use crate::request::{Failure, Head, Response};

fn claim(pods: Vec<Pod>) -> Claim {
    let set = Arc::new(set(&set_json(1, json!({}))));
    let selector = set.selector().unwrap().clone();
    Claim::new(set, selector, pods.into_iter().map(Arc::new).collect())
}

fn text(request: &Request) -> &str {
    core::str::from_utf8(&request.body).unwrap()
}

#[test]
fn patches_name_the_uid_of_the_pod() {
    let mut claim = claim(alloc::vec![
        pod("orphan", json!({})),
        pod("stray", {
            let mut stray = owned();
            stray["metadata"]["labels"] = json!({"app": "db"});
            stray
        }),
    ]);
    let get = claim.poll_request().unwrap();
    assert_eq!(get, Request::get("/apis/apps/v1/namespaces/shop/replicasets/web".into()));
    assert!(claim.poll_request().is_none(), "one after the other");
    claim.handle_outcome(answer(200, &set_json(1, json!({}))));
    let adopt = claim.poll_request().unwrap();
    assert_eq!(adopt.path, "/api/v1/namespaces/shop/pods/orphan");
    assert_eq!(
        text(&adopt),
        concat!(
            r#"{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"uid-web","#,
            r#""controller":true,"blockOwnerDeletion":true}],"uid":"uid-orphan"}}"#
        )
    );
    let adopted = claim.handle_outcome(answer(200, &json!({"metadata": {"name": "orphan", "resourceVersion": "7"}})));
    assert_eq!(adopted.map(|(_, version)| version), Some(ResourceVersion::new("7")));
    let release = claim.poll_request().unwrap();
    assert_eq!(
        text(&release),
        r#"{"metadata":{"uid":"uid-stray","ownerReferences":[{"$patch":"delete","uid":"uid-web"}]}}"#
    );
    assert_eq!(claim.handle_outcome(answer(200, &json!({}))), None);
    assert!(claim.is_done());
    let (claimed, failures) = claim.take();
    assert_eq!((claimed.len(), failures.len()), (1, 0));
}

#[test]
fn answers_that_cannot_be_read_and_lost_connections_fail_the_claim() {
    for outcome in [
        Outcome::Failed(Failure::Cut),
        Outcome::Response(Response { head: Head::new(200), body: b"{".to_vec() }),
        answer(200, &Value::Null),
        answer(200, &json!({"metadata": []})),
        answer(500, &json!("no status")),
    ] {
        let mut claim = claim(alloc::vec![pod("orphan", json!({}))]);
        claim.poll_request().unwrap();
        claim.handle_outcome(outcome.clone());
        assert!(claim.is_done(), "{outcome:?}");
        let (claimed, failures) = claim.take();
        assert_eq!((claimed.len(), failures.len()), (0, 1), "{outcome:?}");
    }
}

#[test]
fn an_adopted_pod_that_the_answer_shows_to_have_ended_or_changed_does_not_count() {
    for (change, count) in [
        (json!({}), 1),
        (json!({"status": {"phase": "Failed"}}), 0),
        (json!({"metadata": {"deletionTimestamp": "2026-03-14T09:00:00Z"}}), 0),
        (json!({"metadata": {"labels": {"app": "db"}}}), 0),
    ] {
        let mut claim = claim(alloc::vec![pod("orphan", json!({}))]);
        claim.poll_request().unwrap();
        claim.handle_outcome(answer(200, &set_json(1, json!({}))));
        claim.poll_request().unwrap();
        let adopted = claim.handle_outcome(answer(200, &pod_json("orphan", change.clone())));
        assert_eq!(adopted.unwrap().1, ResourceVersion::new("500"), "it is written all the same");
        let (claimed, failures) = claim.take();
        assert_eq!((claimed.len(), failures.len()), (count, 0), "{change}");
    }
}
