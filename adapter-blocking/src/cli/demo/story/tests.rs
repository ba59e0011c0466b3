use super::super::view::read_set;
use super::*;

/// What there is when a set of `count` has so many pods that have been ready for so many seconds each.
fn view(set: Value, ages: &[i64]) -> View {
    let pods = ages.iter().enumerate().map(|(n, age)| Pod {
        name: format!("web-{n}"),
        uid: n.to_string(),
        phase: "Running".into(),
        ready_since: Some(Timestamp::from_seconds(100 - age)),
        owner: Some("set".into()),
        ..Pod::default()
    });
    View { pods: pods.collect(), sets: vec![read_set(&set).unwrap()] }
}

fn set(count: u64) -> Value {
    json!({
        "metadata": {"name": "web", "uid": "set", "generation": 2},
        "spec": {"replicas": count},
        "status": {"replicas": count, "readyReplicas": count, "availableReplicas": count, "observedGeneration": 2},
    })
}

/// The same set, but for what one path points to.
fn but(mut set: Value, path: &str, number: u64) -> Value {
    *set.pointer_mut(path).unwrap() = number.into();
    set
}

fn scene<'a>(view: &'a View, subject: &'a str) -> Scene<'a> {
    Scene { view, subject, now: Timestamp::from_seconds(100) }
}

fn step(name: &str) -> &'static Step {
    STORY.iter().find(|step| step.name == name).unwrap()
}

#[test]
fn a_set_is_settled_when_its_status_and_its_pods_agree() {
    let settled = |view: &View| scene(view, "").is_settled("web", 2);
    assert_eq!(settled(&view(set(2), &[5, 5])), Verdict::Yes);
    assert_eq!(settled(&view(set(2), &[5])), Verdict::NotYet);
    for (path, number) in [
        ("/status/availableReplicas", 1),
        ("/status/readyReplicas", 1),
        ("/status/replicas", 3),
        ("/status/observedGeneration", 1),
        ("/spec/replicas", 3),
    ] {
        assert_eq!(settled(&view(but(set(2), path, number), &[5, 5])), Verdict::NotYet, "{path}");
    }
    assert_eq!(settled(&View::default()), Verdict::NotYet);
    for change in [
        |pod: &mut Pod| pod.terminating = true,
        |pod: &mut Pod| pod.ready_since = None,
        |pod: &mut Pod| pod.phase = "Failed".into(),
        |pod: &mut Pod| pod.owner = None,
    ] {
        let mut view = view(set(2), &[5, 5]);
        change(&mut view.pods[0]);
        assert_eq!(settled(&view), Verdict::NotYet, "{view:?}");
    }
}

#[test]
fn a_killed_pod_must_be_gone_and_a_failed_one_must_not() {
    let (killed, failed) = (step("a pod is killed").check, step("a pod fails").check);
    let mut view = view(set(2), &[5, 5, 5]);
    view.pods[2].phase = "Failed".into();
    assert_eq!(killed(&scene(&view, "7")), Verdict::Yes);
    assert_eq!(killed(&scene(&view, "2")), Verdict::NotYet);
    assert_eq!(failed(&scene(&view, "2")), Verdict::Yes);
    assert_eq!(failed(&scene(&view, "7")), Verdict::NotYet);
}

#[test]
fn pods_that_are_called_available_too_soon_are_wrong() {
    let check = step("the set asks for minReadySeconds of 3 and is scaled from 2 to 4").check;
    let asking = |available: u64| {
        let mut set = but(set(4), "/status/availableReplicas", available);
        set["spec"]["minReadySeconds"] = 3.into();
        set
    };
    assert_eq!(check(&scene(&view(asking(2), &[9, 3, 2, 0]), "")), Verdict::NotYet);
    assert_eq!(check(&scene(&view(asking(4), &[9, 3, 3, 3]), "")), Verdict::Yes);
    let wrong = "3 pods are called available, but only 2 have been ready for 3 s";
    assert_eq!(check(&scene(&view(asking(3), &[9, 3, 2, 0]), "")), Verdict::Wrong(wrong.into()));
    // A status that is still about the spec before says nothing of it.
    let before = but(asking(3), "/status/observedGeneration", 1);
    assert_eq!(check(&scene(&view(before, &[9, 3, 2, 0]), "")), Verdict::NotYet);
}

#[test]
fn the_end_is_one_pod_of_nobody() {
    let check = step("both sets are deleted").check;
    let mut view = view(set(1), &[5]);
    assert_eq!(check(&scene(&view, "")), Verdict::NotYet);
    view.sets.clear();
    assert_eq!(check(&scene(&view, "")), Verdict::NotYet);
    view.pods[0].owner = None;
    assert_eq!(check(&scene(&view, "")), Verdict::Yes);
}
