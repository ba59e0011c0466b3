//! The recorded scenarios, as tests: each played in a world with virtual time.

use std::path::{Path, PathBuf};

use sanskube_conformance::scenarios::{Place, run_file};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/scenarios").join(format!("{name}.json.gz"))
}

/// One test a scenario.
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                assert!(run_file(&path(stringify!($name)), &Place::World { seed: 1 }), "see the differences above");
            }
        )*

        const NAMES: &[&str] = &[$(stringify!($name)),*];

        #[test]
        fn every_scenario_is_a_test() {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/scenarios");
            let mut files: Vec<String> = std::fs::read_dir(directory)
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap().replace(".json.gz", ""))
                .collect();
            files.sort();
            assert_eq!(files, NAMES);
        }
    };
}

scenarios! {
    adoption_by_match_expressions,
    apiserver_down_while_idle,
    apiserver_killed_mid_scale,
    burst_1000_default_client_limits,
    burst_700_quota_450,
    controller_killed_mid_scale,
    create_one_default,
    delete_background,
    delete_foreground,
    delete_order_age,
    delete_order_colocation,
    delete_order_cost,
    delete_order_cost_after_readiness,
    delete_order_readiness,
    fully_labeled_replicas,
    gc_background,
    gc_foreground,
    gc_orphan,
    label_change_and_back,
    labels_only_change,
    min_ready_seconds,
    min_ready_seconds_old_pods,
    namespace_terminating,
    orphans_adopted_exact,
    orphans_adopted_too_many,
    orphans_not_adoptable,
    owner_reference_removed,
    owner_reference_replaced,
    pod_failed_evicted_is_replaced,
    pod_succeeded_is_replaced,
    pod_with_finalizer_terminates,
    quota_none_of_ten,
    quota_two_of_five,
    rc_pods_become_ready_and_deleted,
    rc_quota_two_of_five,
    rc_scale_up_and_down,
    ready_pods_all_at_once,
    same_labels_two_sets,
    scale_up_and_down,
    scale_up_while_pods_terminate,
    spec_changes_in_quick_succession,
    startup_nothing_to_do,
    template_change_only,
    template_needs_absent_priority_class,
    three_pods_become_ready,
    user_deletes_running_pod,
    user_deletes_unscheduled_pod,
}

/// Plays a scenario with `sanskube run`: processes, sockets and the clock on the wall.
fn play_over_http(name: &str) -> bool {
    let controller = PathBuf::from(env!("CARGO_BIN_EXE_sanskube-conformance"));
    run_file(&path(name), &Place::Http { controller, remote: None })
}

/// One test a scenario that is played over HTTP too.
macro_rules! over_http {
    ($($test:ident: $name:literal),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                assert!(play_over_http($name), "see the differences above");
            }
        )*
    };
}

over_http! {
    a_controller_killed_over_http: "controller_killed_mid_scale",
    a_server_killed_over_http: "apiserver_killed_mid_scale",
    a_server_that_was_down_over_http: "apiserver_down_while_idle",
    adoption_over_http: "orphans_adopted_too_many",
    garbage_collected_over_http: "gc_foreground",
    replication_controllers_over_http: "rc_scale_up_and_down",
    scaling_over_http: "create_one_default",
}

#[test]
#[ignore = "takes minutes of real time"]
fn every_scenario_over_http() {
    let wrong: Vec<&&str> = NAMES.iter().filter(|name| !play_over_http(name)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
