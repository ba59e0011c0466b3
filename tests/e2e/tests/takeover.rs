//! A controller that takes over from one that was killed.

use sanskube_apiserver::faults::{Failure, Rule};
use sanskube_e2e::cluster::Cluster;
use sanskube_e2e::process::{Process, wait_until};

const SANSKUBE: &str = env!("CARGO_BIN_EXE_sanskube-under-test");

/// Kills a controller while it creates 200 pods, once 100 are there, and lets another one end the work.
///
/// So that the kill comes half-way on any machine, each creation after the hundredth gets no answer: it has not happened, or it has happened and
/// nobody knows, as `after_effect` says.
fn take_over(after_effect: bool) {
    let cluster = Cluster::start();
    let url = cluster.server.url();
    let since = cluster.version();
    let rule = |skip, times, after_effect| Rule {
        agent: String::new(),
        method: "POST".into(),
        target: "/pods".into(),
        skip,
        times,
        after_effect,
        failure: Failure::Hangup,
    };
    // Bindings are posted below pods, too: they wait until the creations are counted.
    cluster.server.with_kubelet(|kubelet, _, _| kubelet.set_paused(true));
    cluster.server.with_api(|api, _| {
        if after_effect {
            api.faults_mut().add_rule(rule(99, 1, true));
        }
        api.faults_mut().add_rule(rule(100 - u32::from(after_effect), u32::MAX, false));
    });
    cluster.create_set("web", 200);
    let first = Process::start(SANSKUBE, &["run", "--server", &url]);
    let half = wait_until("half of the pods", || {
        let uids = cluster.pod_uids();
        (uids.len() >= 100).then_some(uids)
    });
    first.signal("KILL");
    let (status, said) = first.finish();
    assert!(!status.success(), "{said:#?}");
    assert!(half.len() < 200, "the controller was killed half-way, not with {} pods", half.len());
    cluster.server.with_api(|api, _| api.faults_mut().clear_rules());
    cluster.server.with_kubelet(|kubelet, _, _| kubelet.set_paused(false));

    let _second = Process::start(SANSKUBE, &["run", "--server", &url]);
    wait_until("200 available pods", || (cluster.available("web") == 200).then_some(()));
    let events = cluster.pod_events(since);
    let count = |kind| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("ADDED"), count("DELETED")), (200, 0));
    let terminating = events.iter().filter(|event| event["object"]["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(terminating.count(), 0);
    assert_eq!(cluster.pod_uids().len(), 200);
}

#[test]
fn a_killed_controller_leaves_half_the_pods_and_the_next_one_makes_exactly_the_rest() {
    take_over(false);
}

#[test]
fn a_pod_whose_creation_was_never_answered_is_counted_by_the_next_controller() {
    take_over(true);
}
