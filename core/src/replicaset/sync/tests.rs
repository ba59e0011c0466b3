use alloc::format;

use serde_json::{Value, json};

use super::*;
use crate::replicaset::testing::*;
use crate::request::{Failure, Head, Method, Response};
use crate::testing::Random;

#[test]
fn a_set_scales_up_and_down() {
    let mut cluster = Cluster::new(set_json(12, json!({})));
    let up = cluster.sync();
    assert_eq!(up.rounds, [1, 2, 4, 5, 1], "a slow start, then the status");
    assert_eq!(up.finish.result, Ok(()));
    assert_eq!(up.events.len(), 12);
    assert_eq!(words(&up.events)[0], "SuccessfulCreate: Created pod: web-00001");
    assert_eq!(up.status().unwrap(), json!({"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 1}));
    cluster.catch_up();
    let seen = cluster.sync();
    assert_eq!(seen.rounds, [1], "only the status");
    assert_eq!(seen.status().unwrap()["replicas"], 12);
    cluster.catch_up();
    assert!(cluster.sync().rounds.is_empty());

    cluster.change_set(json!({"spec": {"replicas": 4}, "metadata": {"generation": 2}}));
    cluster.catch_up();
    let down = cluster.sync();
    assert_eq!(down.rounds, [8, 1], "all deletions at once, then the status");
    assert_eq!(down.count(Method::Delete), 8);
    assert!(words(&down.events)[0].starts_with("SuccessfulDelete: Deleted pod: web-"));
    cluster.catch_up();
    cluster.sync();
    assert_eq!(cluster.server.set.as_ref().unwrap()["status"]["replicas"], 4);
    assert_eq!(cluster.server.pods.len(), 4);
}

#[test]
fn outcomes_that_nobody_waits_for_are_ignored() {
    let mut cluster = Cluster::new(set_json(1, json!({})));
    let caches = Caches { pods: &cluster.pods, sets: &cluster.sets };
    let mut sync = cluster.controller.begin_sync(&Key::new("shop", "web"), caches, cluster.now);
    let (ticket, _) = sync.poll_request().unwrap();
    for ticket in [Ticket(7), ticket, ticket, Ticket(u32::MAX)] {
        sync.handle_outcome(&mut cluster.controller, caches, ticket, Outcome::Failed(Failure::Cut), cluster.now);
    }
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 0);
    assert!(sync.finish().is_none(), "the status is left");
    assert_eq!(sync.poll_request().unwrap().1.method, Method::Put);
}

#[test]
fn an_answer_without_a_readable_pod_counts_as_created() {
    let mut cluster = Cluster::new(set_json(1, json!({})));
    let caches = Caches { pods: &cluster.pods, sets: &cluster.sets };
    let mut sync = cluster.controller.begin_sync(&Key::new("shop", "web"), caches, cluster.now);
    let (ticket, _) = sync.poll_request().unwrap();
    sync.handle_outcome(&mut cluster.controller, caches, ticket, answer(201, &json!([])), cluster.now);
    assert_eq!(cluster.controller.expectations().get(&"uid-web".into()).unwrap().creations, 1);
    assert_eq!(sync.poll_event().unwrap().message, "Created pod: (name unknown)");
}

#[test]
fn a_status_failure_counts_before_a_failed_creation() {
    let mut cluster = Cluster::new(set_json(1, json!({})));
    let refusal = json!({"kind": "Status", "code": 500, "reason": "InternalError", "message": "broken"});
    cluster.server.refuse(Method::Post, "/pods", 500, refusal.clone());
    cluster.server.refuse(Method::Put, "/status", 500, refusal);
    assert!(matches!(cluster.sync().finish.result, Err(SyncFailure::Status(_))));
}

#[test]
fn nothing_is_kept_of_a_set_that_goes_while_it_is_synced() {
    let mut cluster = Cluster::new(set_json(1, json!({})));
    let mut sync = {
        let caches = Caches { pods: &cluster.pods, sets: &cluster.sets };
        cluster.controller.begin_sync(&Key::new("shop", "web"), caches, cluster.now)
    };
    let (ticket, _) = sync.poll_request().unwrap();
    let deleted = set(&set_json(1, json!({})));
    let _ = cluster.controller.handle_set_deleted(&deleted);
    let _ = cluster.sets.delete(&deleted).unwrap();
    let caches = Caches { pods: &cluster.pods, sets: &cluster.sets };
    let created = answer(201, &pod_json("web-00001", owned()));
    sync.handle_outcome(&mut cluster.controller, caches, ticket, created, cluster.now);
    // The status finds no set, which would slow it down.
    let gone = json!({"kind": "Status", "code": 404, "reason": "NotFound"});
    while let Some((ticket, _)) = sync.poll_request() {
        sync.handle_outcome(&mut cluster.controller, caches, ticket, answer(404, &gone), cluster.now);
    }
    assert!(matches!(sync.finish().unwrap().result, Err(SyncFailure::Status(_))));
    assert!(cluster.controller.rejections().is_empty() && cluster.controller.expectations().is_empty());
    assert_eq!(cluster.controller.guard().get(&Key::new("shop", "web")), None);
}

/// An answer of any kind to a request.
fn random_answer(random: &mut Random, server: &mut Server, request: Request) -> Outcome {
    let code = *random.pick(&[200, 201, 204, 302, 400, 403, 404, 409, 410, 422, 429, 500, 503, 504]);
    match random.below(10) {
        0 => Outcome::Failed(*random.pick(&[Failure::Cut, Failure::Refused, Failure::TimedOut, Failure::TooLarge])),
        1 => {
            let reason = *random.pick(&["", "NotFound", "Conflict", "Invalid", "Forbidden", "Odd"]);
            let causes = json!([{"reason": *random.pick(&["NamespaceTerminating", "Other"])}]);
            answer(code, &json!({"kind": "Status", "code": code, "reason": reason, "details": {"causes": causes}}))
        }
        2 => answer(code, &json!({"metadata": {"name": "x", "uid": "y", "resourceVersion": "not a number"}})),
        3 => {
            let body = random.text(&["{", "}", "[", "\"metadata\"", ":", "null", ",", "\"", "\u{e9}", "9e999"], 12);
            Outcome::Response(Response { head: Head::new(code), body: body.into_bytes() })
        }
        _ => server.handle(request),
    }
}

#[test]
fn whatever_the_answers_a_sync_ends_and_expects_what_was_done() {
    let mut random = Random::new(5);
    for _ in 0..300 {
        let replicas = random.below(8) as usize;
        let pods: Vec<Value> = (0..random.below(8))
            .map(|i| pod_json(&format!("p{i}"), if random.below(3) == 0 { json!({}) } else { owned() }))
            .collect();
        let mut cluster = Cluster::new(set_json(replicas, json!({}))).with_pods(pods);
        let caches = Caches { pods: &cluster.pods, sets: &cluster.sets };
        let mut sync = cluster.controller.begin_sync(&Key::new("shop", "web"), caches, cluster.now);
        let mut in_flight = Vec::new();
        let (mut created, mut deleted) = (0, 0);
        for step in 0.. {
            assert!(step < 200, "it does not end");
            // Requests go out and outcomes come in in any order.
            if random.below(2) == 0
                && let Some(call) = sync.poll_request()
            {
                in_flight.push(call);
                continue;
            }
            if in_flight.is_empty() {
                match sync.poll_request() {
                    Some(call) => in_flight.push(call),
                    None => break,
                }
            }
            let (ticket, request) = in_flight.swap_remove(random.below(in_flight.len() as u64) as usize);
            let method = request.method;
            let outcome = random_answer(&mut random, &mut cluster.server, request);
            let success = matches!(&outcome, Outcome::Response(answer) if (200..300).contains(&answer.head.status));
            created += i64::from(success && method == Method::Post);
            deleted += i64::from(success && method == Method::Delete);
            sync.handle_outcome(&mut cluster.controller, caches, ticket, outcome, cluster.now);
        }
        assert!(sync.finish().is_some(), "nothing is in flight, so it has ended");
        if let Some(expectation) = cluster.controller.expectations().get(&"uid-web".into()) {
            assert_eq!((expectation.creations, expectation.deletions), (created, deleted));
        }
    }
}
