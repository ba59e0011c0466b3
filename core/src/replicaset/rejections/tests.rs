use serde_json::json;

use super::*;
use crate::replicaset::testing::{merge, now, owned, pod, ready};

fn fail(rejections: &mut Rejections, name: &str, creation: &str, now: Now) {
    let mut json = owned();
    merge(&mut json, json!({"metadata": {"creationTimestamp": creation}}));
    let old = pod(name, json.clone());
    merge(&mut json, json!({"status": {"phase": "Failed"}}));
    rejections.handle_pod(&"u".into(), Some(&old), &pod(name, json), now);
}

fn pause(rejections: &Rejections, now: Now) -> Option<u64> {
    rejections.pause(&"u".into(), now.instant).map(|pause| pause.as_secs())
}

#[test]
fn the_first_round_is_free_and_each_further_one_doubles_the_pause() {
    let mut rejections = Rejections::default();
    let mut pauses = alloc::vec::Vec::new();
    for round in 0..14 {
        // However many pods of a round fail, it is one round.
        for name in ["a", "b", "c"] {
            fail(&mut rejections, name, "2026-03-14T09:26:53Z", now());
        }
        pauses.push(pause(&rejections, now()).unwrap_or(0));
        rejections.handle_creation(&"u".into());
        assert!(round < 2 || pause(&rejections, now()).is_some());
    }
    assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
    assert_eq!(pause(&rejections, now().after(Duration::from_secs(301))), None);
}

#[test]
fn pods_that_were_given_a_chance_do_not_count() {
    let mut rejections = Rejections::default();
    for _ in 0..5 {
        fail(&mut rejections, "old", "2026-03-14T09:26:00Z", now());
        rejections.handle_creation(&"u".into());
        // Ready before it failed.
        let old = pod("ready", ready("2026-03-14T09:26:53Z"));
        let failed = json!({"metadata": {"creationTimestamp": "2026-03-14T09:26:50Z"}, "status": {"phase": "Failed"}});
        rejections.handle_pod(&"u".into(), Some(&old), &pod("ready", failed), now());
    }
    assert_eq!(pause(&rejections, now()), None);
}

#[test]
fn a_ready_pod_or_the_end_of_the_set_forgets_them() {
    for end in ["ready", "deleted"] {
        let mut rejections = Rejections::default();
        for _ in 0..5 {
            fail(&mut rejections, "a", "2026-03-14T09:26:53Z", now());
            rejections.handle_creation(&"u".into());
        }
        assert!(pause(&rejections, now()).is_some());
        if end == "ready" {
            rejections.handle_pod(&"u".into(), None, &pod("b", ready("2026-03-14T09:26:53Z")), now());
        } else {
            rejections.delete(&"u".into());
        }
        assert_eq!(pause(&rejections, now()), None);
    }
}
