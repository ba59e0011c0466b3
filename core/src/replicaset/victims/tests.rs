use alloc::string::String;

use serde_json::json;

use super::*;
use crate::object::Object;
use crate::replicaset::testing::{now, pod, set, set_json};
use crate::testing::Random;

fn on(name: &str, node: &str) -> Arc<Pod> {
    Arc::new(pod(name, json!({"spec": {"nodeName": node}})))
}

fn nodes_of(recount: bool, pods: &[Arc<Pod>], count: usize) -> Vec<String> {
    let set = set(&set_json(0, json!({})));
    let scale_down = ScaleDown { set: &set, pods, related: pods, count, now: now().wall };
    let choice = InDeletionOrder { recount }.choose(&scale_down);
    let mut nodes: Vec<String> = choice.iter().map(|&victim| pods[victim].node().into()).collect();
    nodes.sort();
    nodes
}

#[test]
fn the_fuller_node_is_emptied_unless_related_pods_are_counted_anew() {
    let pods = [on("a", "n1"), on("b", "n1"), on("c", "n1"), on("d", "n2"), on("e", "n2")];
    assert_eq!(nodes_of(false, &pods, 3), ["n1", "n1", "n1"], "as upstream, the default");
    assert_eq!(nodes_of(true, &pods, 3), ["n1", "n1", "n2"]);
    assert_eq!(InDeletionOrder::default(), InDeletionOrder { recount: false });
}

#[test]
fn counting_anew_keeps_the_levels_before_it_and_spreads_what_is_left() {
    let mut random = Random::new(11);
    for _ in 0..200 {
        let pods: Vec<Arc<Pod>> = (0..random.below(30))
            .map(|number| {
                let node = *random.pick(&["", "n1", "n2", "n3"]);
                let phase = *random.pick(&["Pending", "Running", "Running", "Running"]);
                let more = json!({"spec": {"nodeName": node}, "status": {"phase": phase}});
                Arc::new(pod(&alloc::format!("p{number}"), more))
            })
            .collect();
        let count = random.below(pods.len() as u64 + 1) as usize;
        let set = set(&set_json(0, json!({})));
        let scale_down = ScaleDown { set: &set, pods: &pods, related: &pods, count, now: now().wall };
        let choose = |recount| checked(&scale_down, InDeletionOrder { recount }.choose(&scale_down));
        let (plain, anew) = (choose(false), choose(true));
        assert_eq!((plain.len(), anew.len()), (count, count));
        // As many of each of the kinds that differ in the levels before the rank.
        let kinds = |victims: &[Arc<Pod>]| {
            let mut kinds: Vec<_> = victims.iter().map(|pod| (pod.node().is_empty(), pod.phase() as u8)).collect();
            kinds.sort_unstable();
            kinds
        };
        assert_eq!(kinds(&plain), kinds(&anew));
    }
}

#[test]
fn a_choice_is_cut_to_pods_that_exist_each_once_and_no_more_than_wanted() {
    let pods = [on("a", "n1"), on("b", "n1"), on("c", "n1")];
    let set = set(&set_json(0, json!({})));
    let scale_down = ScaleDown { set: &set, pods: &pods, related: &[], count: 2, now: now().wall };
    let names = |choice| checked(&scale_down, choice).iter().map(|pod| pod.name().into()).collect::<Vec<String>>();
    assert_eq!(names(alloc::vec![2, 2, 7, usize::MAX, 0, 1]), ["c", "a"]);
    assert!(names(alloc::vec![]).is_empty());
}
