//! The recorded vectors, as tests.

use std::path::Path;

use sanskube_conformance::vectors::{run_directory, run_file};

/// One test a file of vectors.
macro_rules! vectors {
    ($($directory:ident / $file:ident),* $(,)?) => {
        $(
            #[test]
            fn $file() {
                let file = format!("vectors/{}/{}.jsonl.gz", stringify!($directory), stringify!($file));
                assert!(run_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file)), "see the differences above");
            }
        )*
    };
}

vectors! {
    clientgo / backoff,
    clientgo / delta_fifo,
    clientgo / indexer,
    clientgo / informer,
    clientgo / keys,
    clientgo / label_selector,
    clientgo / rate_limiter,
    clientgo / real_fifo,
    clientgo / reflector,
    clientgo / workqueue,
    replicaset / claim,
    replicaset / deletion_order,
    replicaset / event_routing,
    replicaset / expectations,
    replicaset / manage_sync,
    replicaset / pod_from_template,
    replicaset / pod_predicates,
    replicaset / slow_start,
    replicaset / stale_guard,
    replicaset / status,
}

#[test]
fn a_file_that_nothing_replays_fails_its_directory() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vectors");
    std::fs::create_dir_all(&directory).expect("there is room for a folder");
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/clientgo/keys.jsonl.gz");
    std::fs::copy(keys, directory.join("keys.jsonl.gz")).expect("the file can be copied");
    std::fs::write(directory.join("FORMAT.md"), "# To be read").expect("the file can be written");
    assert!(run_directory(&directory));
    for unknown in ["keys.json", "other.jsonl"] {
        let path = directory.join(unknown);
        std::fs::write(&path, "{}\n").expect("the file can be written");
        assert!(!run_directory(&directory), "{unknown}");
        std::fs::remove_file(&path).expect("the file can be removed");
    }
}
